"""Exercises of notebook 01."""

from collections import Counter
from itertools import pairwise

import numpy as np

from helpers.exercises.core import Exercise, Wrong, computes, expects
from helpers.layers.vocabulary_and_shapes import spell, train_bpe

three_sizes = Exercise(
    "1.1",
    "predict",
    "The sizes of a prompt in GPT-2",
    judge=expects(
        (50257, 300, 768),
        mistakes=[
            ((50257, 1024, 768), "1,024 is the most that fits. This prompt has 300 tokens, and so has X."),
            ((50257, 50257, 768), "Only the tokens of the prompt get a row in X, one for each place."),
            ((300, 300, 768), "E is a parameter: it keeps a row for every token, also for those that do not occur."),
            ((1024, 300, 768), "The rows of E are the vocabulary. 1,024 limits the positions."),
            (
                (50257, 120, 768),
                "A token that comes again gets a row in X each time: count places, not different tokens.",
            ),
            ((300, 50257, 768), "E and X are exchanged: E has a row for each token there is, X one for each place."),
            ((50257, 768, 300), "The second number is the rows of X, the third its columns."),
            ((50257, 300, 1024), "The columns of X are the width d. 1,024 limits the rows."),
        ],
        otherwise="Name each number first: N_vocab, d, the context limit, S. Which three does the question ask for?",
    ),
    right="E has N_vocab rows, X has S rows, both have d columns. Limit and different tokens play no part.",
    wrong=[
        ((50257, 1024, 768), "the most that fits"),
        ((50257, 50257, 768), "Only the tokens of the prompt"),
        ((300, 300, 768), "keeps a row"),
        ((1024, 300, 768), "limits the positions"),
        ((50257, 120, 768), "count places"),
        ((300, 50257, 768), "exchanged"),
        ((50257, 768, 300), "third its columns"),
        ((50257, 300, 1024), "limits the rows"),
        ((1, 2, 3), "Name each number"),
    ],
)


BANANA = train_bpe("banana bandana", 3)

three_merges = Exercise(
    "1.2",
    "predict",
    "The merges of «banana bandana»",
    judge=expects(
        tuple(spell(BANANA, new) for new in BANANA["merges"].values()),
        mistakes=[
            (("an", "ana", "ban"), "(b, an) and (an, a) both occur twice. The smaller first id wins: b or an?"),
            (("na", "ana", "ban"), "«na» occurs three times. Which pair occurs four times?"),
            (("ba", "na", "an"), "Take the most frequent pair, not the first one in the text."),
            (("an", "na", "ba"), "After the first merge count again: an «a» inside «an» is no longer free."),
            (("an", "anan", "ban"), "«an» stands beside «an» only once."),
            (("ana", "ban", "an"), "A merge joins two tokens, and at the start each is a single byte."),
        ],
        otherwise="List the pairs of «banana» and of «␣bandana» with their counts, merge, and list them again.",
    ),
    right="«an» four times; then (b, an) and (an, a) twice each, and the id of b is smaller than that of an.",
    wrong=[
        (("an", "ana", "ban"), "The smaller first id"),
        (("na", "ana", "ban"), "four times"),
        (("ba", "na", "an"), "not the first one"),
        (("an", "na", "ba"), "count again"),
        (("an", "anan", "ban"), "only once"),
        (("ana", "ban", "an"), "a single byte"),
        (("b", "a", "n"), "List the pairs"),
    ],
)


def pair_counts(words, times):
    counts = Counter()
    for word, repeats in zip(words, times, strict=True):
        for pair in pairwise(word):
            counts[pair] += repeats
    return counts


def smallest_of_the_best(counts):
    return min(counts, key=lambda pair: (-counts[pair], pair))


def most_frequent_pair(words, times):
    """The right answer to 1.3."""
    return smallest_of_the_best(pair_counts(words, times))


def without_times(words, times):
    return most_frequent_pair(words, [1] * len(words))


def once_a_word(words, times):
    return smallest_of_the_best(
        sum((Counter(dict.fromkeys(pairwise(w), n)) for w, n in zip(words, times, strict=True)), Counter())
    )


def largest_ids(words, times):
    counts = pair_counts(words, times)
    return max(counts, key=lambda pair: (counts[pair], pair))


def first_met(words, times):
    counts = pair_counts(words, times)
    return max(counts, key=counts.get)


def across_words(words, times):
    """The words in a row, as often as they occur, and pairs counted over their borders."""
    row = [i for word, repeats in zip(words, times, strict=True) for i in word * repeats]
    return smallest_of_the_best(pair_counts([row], [1]))


def rarest(words, times):
    counts = pair_counts(words, times)
    return min(counts, key=lambda pair: (counts[pair], pair))


def count_itself(words, times):
    return max(pair_counts(words, times).values())


def draw_words(rng):
    words = [rng.integers(2, size=rng.integers(3, 7)).tolist() for _ in range(3)]
    words += [rng.integers(5, size=rng.integers(1, 5)).tolist() for _ in range(4)]
    return words, rng.integers(1, 4, size=len(words)).tolist()


best_pair = Exercise(
    "1.3",
    "implement",
    "The pair to merge",
    judge=computes(
        most_frequent_pair,
        draw_words,
        mistakes=[
            (without_times, "A word that occurs three times counts three times: use `times`."),
            (once_a_word, "A pair that stands twice in a word counts twice there."),
            (largest_ids, "Of equally frequent pairs you take the one with the largest ids; the smallest is wanted."),
            (
                first_met,
                "Of equally frequent pairs you take the one met first; the one with the smallest ids is wanted.",
            ),
            (across_words, "You count pairs across the border of two words; a merge never crosses it."),
            (rarest, "This is the rarest pair."),
        ],
        what="The pair",
    ),
    right="Highest count first, smallest ids among equals: the whole of BPE training is this choice, repeated.",
    wrong=[
        (without_times, "use `times`"),
        (once_a_word, "counts twice there"),
        (largest_ids, "largest ids"),
        (first_met, "met first"),
        (across_words, "border of two words"),
        (rarest, "rarest"),
        (count_itself, "shapes differ"),
    ],
)


def text_of(tokens):
    return "".join(token.decode("utf-8", errors="replace") for token in tokens)


def joined_first(tokens):
    """The right answer to 1.4."""
    return b"".join(tokens).decode("utf-8", errors="replace")


def broken_bytes_dropped(tokens):
    return "".join(token.decode("utf-8", errors="ignore") for token in tokens)


def joined_and_dropped(tokens):
    return b"".join(tokens).decode("utf-8", errors="ignore")


def joined_and_strict(tokens):
    return b"".join(tokens).decode("utf-8")


def one_byte_one_character(tokens):
    return b"".join(tokens).decode("latin-1")


def written_as_escapes(tokens):
    return "".join(token.decode("utf-8", errors="backslashreplace") for token in tokens)


def joined_with_spaces(tokens):
    return b" ".join(tokens).decode("utf-8", errors="replace")


def draw_tokens(rng):
    """Bytes of a short text, cut at random places; every second text lacks its last bytes."""
    characters = rng.choice(list("abc ü没有🙂🐟"), size=8)
    data = "".join(["x", *characters, "🙂"]).encode()
    data = data[: len(data) - int(rng.choice([0, 2]))]
    cuts = sorted({0, len(data), *rng.integers(1, len(data), size=8).tolist()})
    return ([data[start:end] for start, end in pairwise(cuts)],)


def gives_the_text(attempt):
    """A judge for 1.4: strings, which ``computes`` does not compare."""
    rng = np.random.default_rng(0)
    cases = [draw_tokens(rng) for _ in range(8)]
    results = [attempt(*case) for case in cases]
    if any(not isinstance(result, str) for result in results):
        raise Wrong("The result should be a str: the bytes still have to be decoded.")
    if results == [joined_first(*case) for case in cases]:
        return
    for mistake, message in (
        (text_of, "Each token is still decoded on its own, and half a character alone is no character."),
        (broken_bytes_dropped, "Now the halves of characters vanish without a trace. They have to be put together."),
        (joined_and_dropped, "Whole characters are right; an incomplete one at the end must stay visible, as U+FFFD."),
        (one_byte_one_character, "latin-1 makes one character of every byte; 没 is one character of three bytes."),
        (written_as_escapes, "The halves are written out now, but not joined to a character."),
        (joined_with_spaces, "Nothing stands between two tokens: a space belongs to a token or is not there."),
    ):
        if results == [mistake(*case) for case in cases]:
            raise Wrong(message)
    case, result = next((c, r) for c, r in zip(cases, results, strict=True) if r != joined_first(*c))
    raise Wrong(f"For the tokens {case[0]} the text is {joined_first(*case)!r}; yours is {result!r}.")


split_characters = Exercise(
    "1.4",
    "repair",
    "Characters cut in two",
    judge=gives_the_text,
    right="Bytes first, characters afterwards: a token may end in the middle of a character, a text may not.",
    wrong=[
        (broken_bytes_dropped, "vanish without a trace"),
        (joined_and_dropped, "incomplete one at the end"),
        (joined_and_strict, "UnicodeDecodeError"),
        (one_byte_one_character, "three bytes"),
        (written_as_escapes, "written out"),
        (joined_with_spaces, "Nothing stands between"),
        (b"".join, "should be a str"),
        (lambda tokens: joined_first(tokens)[:-1], "yours is"),
    ],
    broken=text_of,
)
