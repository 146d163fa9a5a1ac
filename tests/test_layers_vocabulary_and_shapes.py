"""Byte-level BPE against the ``tokenizers`` library, round trips, and the word-level tokenizer."""

import copy
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.corpus.story import story
from helpers.layers.vocabulary_and_shapes import (
    BYTES,
    check_context,
    decode,
    decode_bytes,
    decode_words,
    encode,
    encode_words,
    first_merges,
    merge_all,
    merge_pair,
    pieces,
    spell,
    train_bpe,
    train_words,
)
from helpers.reference import vocabulary_and_shapes as reference

SPECIALS = ("<pad>", "<start>", "<end>")
TEXT = story()
TRAINED = train_bpe(TEXT, 1000, SPECIALS)
LIBRARY = reference.train_bpe(TEXT, 1000, SPECIALS)

many = settings(max_examples=150, derandomize=True, deadline=None)
# assigned in this Python's Unicode tables: the library's may be newer
known = st.characters(exclude_categories=("Cs", "Cn"))
# few different characters, so that pairs repeat and counts are equal
repetitive = st.one_of(
    *(
        st.text(alphabet, max_size=120)
        for alphabet in ("a", "ab", "abc \n", "ab,1 ", "'sdlmtrev a", "é你🙂 ", " \t\n\u00a0\u3000\x1c\x85a")
    )
)
texts = st.one_of(st.text(known, max_size=80), repetitive, st.text(st.sampled_from(TEXT), max_size=80))
EDGES = {
    "empty": "",
    "one space": " ",
    "only spaces": " " * 17,
    "only white space": " \n\t\n  \u00a0 ",
    "emoji": "🙂👩‍👩‍👧🌧️🇩🇪🙂🙂",
    "Chinese": "没有人说话。海很安静",
    "Hebrew and Arabic": "שלום עולם, مرحبا بالعالم",
    "combining marks": "e\u0301a\u0308 नमस्ते",
    "numbers that are no digits": "½ ² Ⅷ 一 ௧٣",
    "contractions": "don't we'll I'd they've he's I'm you're 'sdfs x'LL ''s",
    "separators": "a\x1cb\x1fc\x85d\u2028e\u200bf\ufeffg",
    "null": "\x00\x00a",
    "one long word": "abcdefghij" * 1000,
}


def pieces_of_the_library(text):
    """The library's cut of a str, each piece written with one character a byte."""
    return [piece for piece, _ in LIBRARY.pre_tokenizer.pre_tokenize_str(text)]


def in_its_writing(piece):
    characters = {byte: character for character, byte in reference.BYTE_OF.items()}
    return "".join(characters[bytes([byte])] for byte in piece.encode())


# Equal to the library


def test_the_story_gives_the_same_tokenizer():
    assert reference.tokenizer_nest(LIBRARY) == TRAINED
    assert len(TRAINED["merges"]) == 1000
    ids = encode(TRAINED, TEXT)
    assert ids == reference.encode(LIBRARY, TEXT)
    assert decode(TRAINED, ids) == reference.decode(LIBRARY, ids) == TEXT


@many
@given(texts, st.integers(0, 60), st.sampled_from([(), SPECIALS]), texts)
def test_training_and_encoding_equal_the_library(text, merges, specials, other):
    ours, library = train_bpe(text, merges, specials), reference.train_bpe(text, merges, specials)
    assert reference.tokenizer_nest(library) == ours
    assert list(reference.tokenizer_nest(library)["merges"]) == list(ours["merges"])
    for some in (text, other):
        assert encode(ours, some) == reference.encode(library, some)


@many
@given(texts)
def test_pieces_and_ids_equal_the_library(text):
    assert [in_its_writing(piece) for piece in pieces(text)] == pieces_of_the_library(text)
    assert encode(TRAINED, text) == reference.encode(LIBRARY, text)


@pytest.mark.parametrize("text", EDGES.values(), ids=EDGES)
def test_edges(text):
    ids = encode(TRAINED, text)
    assert ids == reference.encode(LIBRARY, text)
    assert "".join(pieces(text)) == decode(TRAINED, ids) == text
    assert (ids == []) == (text == "")


def test_every_character_is_of_the_library_s_kind():
    characters = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) not in ("Cs", "Cn", "Co")
    ]
    assert len(characters) > 140_000
    for start in range(0, len(characters), 5000):
        # each stands between a letter and a digit: whether it joins the one, the other or neither shows its kind
        text = "".join(f"a{character}1 {character}." for character in characters[start : start + 5000])
        assert [in_its_writing(piece) for piece in pieces(text)] == pieces_of_the_library(text)


# Round trips


@many
@given(st.binary(max_size=200))
def test_any_bytes_come_back(data):
    ids = encode(TRAINED, data)
    assert decode_bytes(TRAINED, ids) == data
    assert all(i not in TRAINED["specials"].values() for i in ids)
    assert decode(TRAINED, ids) == data.decode("utf-8", "replace")


@many
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
def test_any_text_comes_back_and_is_encoded_as_its_bytes(text):
    ids = encode(TRAINED, text)
    assert decode(TRAINED, ids) == text
    assert encode(TRAINED, text.encode()) == ids


def test_all_bytes_alone_and_the_names_of_special_tokens():
    assert sorted(BYTES) == [bytes([byte]) for byte in range(256)]
    for byte in BYTES:
        assert decode_bytes(TRAINED, encode(TRAINED, byte)) == byte
    ids = encode(TRAINED, "<start> is a name")
    assert TRAINED["specials"]["<start>"] not in ids and decode(TRAINED, ids) == "<start> is a name"
    assert decode(TRAINED, [TRAINED["specials"]["<start>"], *ids, TRAINED["specials"]["<end>"]]) == "<start> is a name"


def test_nothing_changes_a_tokenizer():
    before = copy.deepcopy(TRAINED)
    encode(TRAINED, "something new: 𐍈 ꙮ")
    decode(TRAINED, [5, 900])
    first_merges(TRAINED, 10)
    assert TRAINED == before and list(TRAINED["merges"]) == list(before["merges"])


# Training


def count_all_again(text, merges):
    """Training as its definition says: count every pair again at every step."""
    order = {byte[0]: place for place, byte in enumerate(BYTES)}
    words = [[order[byte] for byte in piece.encode()] for piece in pieces(text)]
    learned = []
    while len(learned) < merges:
        counts = {}
        for word in words:
            for pair in zip(word, word[1:], strict=False):
                counts[pair] = counts.get(pair, 0) + 1
        if max(counts.values(), default=0) < 2:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        learned.append(best)
        words = [merge_pair(word, best, 255 + len(learned)) for word in words]
    return learned


@many
@given(repetitive, st.integers(0, 40))
def test_kept_counts_equal_counting_again(text, merges):
    assert list(train_bpe(text, merges)["merges"]) == count_all_again(text, merges)


@many
@given(repetitive, st.integers(0, 40), st.integers(0, 40))
def test_fewer_merges_are_the_first_of_more(text, few, more):
    assert first_merges(train_bpe(text, few + more, SPECIALS), few) == train_bpe(text, few, SPECIALS)


@many
@given(repetitive)
def test_every_token_spells_its_two_halves_and_is_new(text):
    tokenizer = train_bpe(text, 50)
    vocab = tokenizer["vocab"]
    assert len(set(vocab)) == len(vocab) == 256 + len(tokenizer["merges"])
    for (first, second), new in tokenizer["merges"].items():
        assert vocab[new] == vocab[first] + vocab[second] and new > max(first, second)


@many
@given(st.lists(st.integers(0, 2), max_size=40))
def test_merging_by_heap_equals_merging_one_pair_after_the_other(ids):
    merges = {(0, 0): 6, (0, 1): 7, (6, 0): 8, (2, 2): 9, (7, 7): 10, (9, 2): 11, (1, 10): 12, (8, 6): 13}
    slow = ids
    for pair, new in merges.items():
        slow = merge_pair(slow, pair, new)
    assert merge_all(ids, merges) == slow


def test_equal_counts_take_the_smallest_ids():
    # ab and cd both occur twice; then a repeated letter is merged from the left
    tokenizer = train_bpe("cd,ab,cd,ab", 2)
    assert tokenizer["vocab"][256:] == [b"ab", b"cd"]
    assert merge_pair([1, 1, 1], (1, 1), 2) == merge_all([1, 1, 1], {(1, 1): 2}) == [2, 1]


def test_training_stops_when_no_pair_occurs_twice():
    assert train_bpe("", 10)["merges"] == train_bpe("abcdef", 10)["merges"] == {}
    assert len(train_bpe("ab ab", 10)["merges"]) == 1


def test_training_on_bytes_that_are_no_text():
    tokenizer = train_bpe(b"\xff\xfe\xff\xfe\x80", 5)
    assert tokenizer["vocab"][256:] == [b"\xff\xfe"]
    assert decode_bytes(tokenizer, encode(tokenizer, b"\xfe\xff\xfe")) == b"\xfe\xff\xfe"


def test_speed():
    start = time.process_time()
    tokenizer = train_bpe(TEXT, 1000)
    assert time.process_time() - start < 2
    text = (TEXT * 2)[:10_000]
    seconds = []
    for _ in range(3):
        start = time.process_time()
        encode(tokenizer, text)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.05


# Errors, and reading tokens


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="merges = -1"):
        train_bpe("a", -1)
    with pytest.raises(ValueError, match="distinct"):
        train_bpe("a", 1, ("<a>", "<a>"))
    with pytest.raises(ValueError, match="id 1259 at position 1; expected 0 <= id < N_vocab = 1259"):
        decode(TRAINED, [0, 1259])
    with pytest.raises(ValueError, match="id -1 at position 0"):
        decode_bytes(TRAINED, [-1])
    with pytest.raises(ValueError, match="surrogates not allowed"):
        encode(TRAINED, "half \ud83d")


def test_spelling_of_tokens():
    plain = train_bpe("", 0, ("<start>",))
    (space,), (letter,), (newline,), (high,) = (encode(plain, one) for one in (" ", "a", "\n", b"\xe4"))
    assert [spell(plain, i) for i in (0, space, letter, newline, high)] == ["<start>", "␣", "a", "⏎", "\\xe4"]
    assert spell(plain, encode(plain, b"\x07")[0]) == "\\x07"
    assert all(spell(TRAINED, i).isprintable() and spell(TRAINED, i) for i in range(len(TRAINED["vocab"])))


def test_context_limit():
    ids = list(range(1000))
    assert check_context(ids, 1000) is ids and check_context(ids, 10**5) is ids and check_context([], 0) == []
    with pytest.raises(ValueError, match="S = 1000 tokens, 1 over the context limit of 999"):
        check_context(ids, 999)


# Word level


def test_words_are_numbered_by_count_then_alphabet():
    tokenizer = train_words("b a c a b d", 3)
    assert tokenizer == {"vocab": ["<unk>", "a", "b", "c"], "specials": {"<unk>": 0}}
    assert encode_words(tokenizer, " d  a\nb ") == [0, 1, 2]
    assert decode_words(tokenizer, [0, 1, 2]) == "<unk> a b"
    assert encode_words(tokenizer, "") == [] and train_words("", 5)["vocab"] == ["<unk>"]


@many
@given(st.text(st.sampled_from("ab \n你"), max_size=40), st.text(st.sampled_from("abc \n你"), max_size=40))
def test_words_come_back_only_when_all_are_known(text, other):
    tokenizer = train_words(text, 100)
    back = decode_words(tokenizer, encode_words(tokenizer, other))
    assert (back.split() == other.split()) == (set(other.split()) <= set(text.split()))


def test_shapes_of_torch():
    assert reference.shapes(30, 4, [1, 2, 2]) == {"E": (30, 4), "X": (3, 4), "W_vocab": (4, 30)}
    assert reference.shapes(30, 4, [])["X"] == (0, 4)
