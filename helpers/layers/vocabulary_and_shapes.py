"""Byte-level BPE and, beside it, a word-level tokenizer (notebook 01).

A tokenizer is a plain dict. ``vocab`` is a list of byte strings whose index is
the id. ``merges`` is a dict from a pair of ids to the id of the token that
they form, in the order in which the merges were learned. ``specials`` is a
dict from name to id. Nothing here changes a tokenizer after training.

Merges and ids equal those of the ``tokenizers`` library (``models.BPE``,
``pre_tokenizers.ByteLevel`` without prefix space, ``BpeTrainer`` with the byte
alphabet and ``min_frequency=2``) on the same text. Its rules, which are ours:

- Ids: special tokens first, then the 256 bytes in GPT-2's order (``BYTES``),
  then one new token for each merge. So the lowest id is the earliest merge.
- The text is cut into pieces first (``pieces``); a pair never spans two.
- Each step merges the pair with the highest count. Of pairs with equal counts
  it takes the one with the smaller first id, then the smaller second id.
- Training stops when no pair occurs twice.

Source: document section 1; Sennrich, Haddow and Birch 2016, section 3.2, for
BPE; Radford et al. 2019, section 2.2, for BPE on bytes.
"""

import heapq
import re
import unicodedata
from collections import Counter, defaultdict
from itertools import pairwise

# GPT-2 numbers the bytes that print as a visible character first, then the others
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTES = [bytes([byte]) for byte in _VISIBLE + sorted(set(range(256)) - set(_VISIBLE))]
_PLACES = bytes(BYTES.index(bytes([byte])) for byte in range(256))


class _Kinds(dict):
    """Code point -> one letter for the kind of the character, found once and kept."""

    def __missing__(self, code):
        character = chr(code)
        category = unicodedata.category(character)[0]
        if category in "LN":
            kind = category
        elif character.isspace() and character not in "\x1c\x1d\x1e\x1f":
            kind = "S"
        else:
            kind = "O"
        self[code] = kind
        return kind


# the space, the apostrophe and the letters of 's 't 're 've 'm 'll 'd stand for themselves
_KINDS = _Kinds({ord(character): character for character in " 'delmrstv"})
_PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[Ldelmrstv]+| ?N+| ?[O']+|[ S]+(?![^ S])|[ S]+")


def pieces(text):
    """Cut a text (str or bytes) into strings that BPE never merges across; joined they are the text.

    A piece is a run of letters, of digits or of other signs, each with one
    space before it if there is one, or a run of white space; 's, 't, 're, 've,
    'm, 'll, 'd are pieces of their own. This is GPT-2's pattern. Python's
    ``re`` has no class for "any letter", so each character is first replaced
    by one letter for its kind. A character that Python's Unicode tables do not
    know yet counts as a sign. Bytes that are not UTF-8 stand in the strings as
    lone surrogates, as Python's "surrogateescape" puts them.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    kinds = text.translate(_KINDS)
    return [text[match.start() : match.end()] for match in _PIECE.finditer(kinds)]


def byte_ids(piece, specials):
    """Ids of the bytes of one piece: where they stand in BYTES, after the special tokens."""
    return [len(specials) + place for place in piece.encode("utf-8", "surrogateescape").translate(_PLACES)]


def merge_pair(ids, pair, new):
    """The list ids with every occurrence of the pair, taken from the left, replaced by new."""
    merged = []
    for i in ids:
        if merged and (merged[-1], i) == pair:
            merged[-1] = new
        else:
            merged.append(i)
    return merged


def train_bpe(text, merges, specials=()):
    """Learn at most ``merges`` merges from a text (str or bytes); returns the tokenizer.

    ``specials`` are names of tokens that stand for no text, such as "<start>".
    A merge changes only the words that hold its pair: the counts are kept from
    step to step, and only those words are counted again.

    Raises ValueError for a negative number of merges or a name given twice.
    """
    if merges < 0 or len(set(specials)) < len(specials):
        raise ValueError(f"train_bpe: merges = {merges} must be 0 or more, specials {specials} distinct")
    repeats = Counter(pieces(text))
    words = [byte_ids(piece, specials) for piece in repeats]
    times = list(repeats.values())
    counts, holders = Counter(), defaultdict(set)  # of each pair: how often, and words that hold or held it

    def add(word, sign):
        for pair in pairwise(words[word]):
            counts[pair] += sign * times[word]
            holders[pair].add(word)

    for word in range(len(words)):
        add(word, +1)
    vocab, learned = [b""] * len(specials) + BYTES, {}
    while len(learned) < merges:
        top = max(counts.values(), default=0)
        if top < 2:
            break
        best = min(pair for pair in counts if counts[pair] == top)
        learned[best] = len(vocab)
        vocab.append(vocab[best[0]] + vocab[best[1]])
        for word in list(holders[best]):
            add(word, -1)
            words[word] = merge_pair(words[word], best, learned[best])
            add(word, +1)
    return {"vocab": vocab, "merges": learned, "specials": {name: i for i, name in enumerate(specials)}}


def first_merges(tokenizer, merges):
    """The tokenizer that training with fewer merges gives: the first ``merges`` of them."""
    base = len(tokenizer["vocab"]) - len(tokenizer["merges"])
    kept = dict(list(tokenizer["merges"].items())[:merges])
    return {**tokenizer, "vocab": tokenizer["vocab"][: base + len(kept)], "merges": kept}


def encode(tokenizer, text):
    """Ids of a text (str or bytes), a list of S integers.

    Text never turns into a special token: put those around the ids yourself.
    """
    known, ids = {}, []  # a piece that comes again is not merged again
    for piece in pieces(text):
        if piece not in known:
            known[piece] = merge_all(byte_ids(piece, tokenizer["specials"]), tokenizer["merges"])
        ids += known[piece]
    return ids


def merge_all(ids, merges):
    """Apply every merge that fits to a list of ids, the earliest merge first, from the left.

    A heap holds the merges that are possible now, so that a piece of n bytes
    takes n log n steps and not n times the number of merges.
    """
    ids, end = list(ids), len(ids)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    heap = []

    def offer(left, right):
        if left >= 0 and right < end and (ids[left], ids[right]) in merges:
            heapq.heappush(heap, (merges[ids[left], ids[right]], left))

    for i in range(end - 1):
        offer(i, i + 1)
    while heap:
        new, left = heapq.heappop(heap)
        right = after[left]
        # an offer is stale when one of its halves has been merged meanwhile
        if right == end or merges.get((ids[left], ids[right])) != new:
            continue
        ids[left], ids[right] = new, None
        after[left] = after[right]
        if after[left] < end:
            before[after[left]] = left
        offer(before[left], left)
        offer(left, after[left])
    return [i for i in ids if i is not None]


def decode_bytes(tokenizer, ids):
    """Bytes of a sequence of ids; special tokens stand for none.

    Raises ValueError for an id outside the vocabulary.
    """
    vocab = tokenizer["vocab"]
    for position, i in enumerate(ids):
        if not 0 <= i < len(vocab):
            raise ValueError(f"decode: id {i} at position {position}; expected 0 <= id < N_vocab = {len(vocab)}")
    return b"".join(vocab[i] for i in ids)


def decode(tokenizer, ids):
    """Text (str) of a sequence of ids; bytes that are not UTF-8 become U+FFFD."""
    return decode_bytes(tokenizer, ids).decode("utf-8", "replace")


def spell(tokenizer, i):
    """One token for reading: a special's name, or its text with visible spaces.

    Bytes that are no whole character, and characters that could not be seen,
    stand there as Python writes bytes: \\xf0.
    """
    for name, special in tokenizer["specials"].items():
        if i == special:
            return name
    token = decode_bytes(tokenizer, [i])
    text = token.decode("utf-8", "backslashreplace").replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
    stands_alone = text.isprintable() and unicodedata.category(text[0])[0] != "M"
    return text if stands_alone else "".join(f"\\x{byte:02x}" for byte in token)


def check_context(ids, limit):
    """The ids themselves if there are at most ``limit``; the limit adds and removes nothing.

    Raises ValueError when there are more.
    """
    if len(ids) > limit:
        raise ValueError(f"S = {len(ids)} tokens, {len(ids) - limit} over the context limit of {limit}")
    return ids


def train_words(text, size, unknown="<unk>"):
    """Word-level tokenizer: the unknown token and the ``size`` most frequent words of a str.

    Words stand between white space. Of words with equal counts the one that
    sorts first comes first.
    """
    counts = Counter(text.split())
    words = sorted(counts, key=lambda word: (-counts[word], word))[:size]
    return {"vocab": [unknown, *words], "specials": {unknown: 0}}


def encode_words(tokenizer, text):
    """Ids of the words of a str; a word outside the vocabulary gets the unknown id."""
    ids = {word: i for i, word in enumerate(tokenizer["vocab"])}
    (unknown,) = tokenizer["specials"].values()
    return [ids.get(word, unknown) for word in text.split()]


def decode_words(tokenizer, ids):
    """The words joined by single spaces; what was unknown is lost."""
    return " ".join(tokenizer["vocab"][i] for i in ids)
