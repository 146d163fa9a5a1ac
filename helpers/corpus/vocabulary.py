"""Words and ids, batches, and sentences that a person types.

English and German share one vocabulary, as in the paper, so that one table E
can serve the encoder, the decoder and the output. A word that both languages
spell alike («in», the names, punctuation) has one id.
"""

import difflib
import re
import textwrap
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "data"
SPLITS = ("train", "validation", "test", "longer", "combined")

PAD, START, END, UNKNOWN = SPECIALS = ("<pad>", "<start>", "<end>", "<unknown>")

CONTRACTED = {"can't": "cannot", "can not": "cannot", "won't": "will not", "n't": " not"}


@dataclass(frozen=True)
class Vocabulary:
    """The joint vocabulary. Ids are positions in ``words``; the special tokens come first.

    ``pad``, ``start``, ``end`` and ``unknown`` are the ids of the special
    tokens; ``source_words`` and ``target_words`` say which language uses a word.
    """

    words: tuple
    source_words: frozenset
    target_words: frozenset
    ids: dict = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "ids", {word: i for i, word in enumerate(self.words)})

    def __len__(self):
        return len(self.words)

    @property
    def pad(self):
        return self.ids[PAD]

    @property
    def start(self):
        return self.ids[START]

    @property
    def end(self):
        return self.ids[END]

    @property
    def unknown(self):
        return self.ids[UNKNOWN]

    def words_to_ids(self, words):
        """Ids of a list of words, shape (S,); a word that is not known becomes ``unknown``."""
        return np.array(self.look_up(words), dtype=np.int64)  # (S,)

    def look_up(self, words):
        """The same as a list."""
        ids, unknown = self.ids, self.unknown
        return [ids.get(word, unknown) for word in words]

    def ids_to_words(self, ids):
        """Words of a sequence of ids, special tokens included.

        Raises ValueError for an id outside 0 .. N_vocab - 1.
        """
        ids = np.asarray(ids, dtype=np.int64).reshape(-1)  # (S,)
        if ids.size and (ids.min() < 0 or ids.max() >= len(self)):
            raise ValueError(f"ids_to_words: ids must lie in 0..{len(self) - 1}, got {ids.tolist()}")
        return [self.words[i] for i in ids]

    def sentence(self, ids):
        """Words of a generated sequence: up to ``end``, without ``start`` and ``pad``."""
        words = self.ids_to_words(ids)
        words = words[: words.index(END)] if END in words else words
        return [word for word in words if word not in (START, PAD)]

    def as_text(self):
        """One line a word, in the order of the ids: word TAB who uses it."""
        return "".join(f"{word}\t{self.language(word)}\n" for word in self.words)

    def language(self, word):
        if word in SPECIALS:
            return "special"
        if word in self.source_words and word in self.target_words:
            return "both"
        return "English" if word in self.source_words else "German"


def build_vocabulary(pairs):
    """The vocabulary of a list of (source words, target words).

    Special tokens first, then what both languages share, then the source's
    words, then the target's, each part sorted.
    """
    source = frozenset(word for words, _ in pairs for word in words)
    target = frozenset(word for _, words in pairs for word in words)
    words = [*SPECIALS, *sorted(source & target), *sorted(source - target), *sorted(target - source)]
    return Vocabulary(tuple(words), source, target)


def open_data(name):
    path = DATA / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is missing from the folder data/; `make data` writes it")
    return path.read_text(encoding="utf-8")


@cache
def load_vocabulary():
    """The vocabulary of the course's corpus, from data/vocabulary.tsv."""
    rows = [line.split("\t") for line in open_data("vocabulary.tsv").splitlines()]
    source = frozenset(word for word, language in rows if language in ("English", "both"))
    target = frozenset(word for word, language in rows if language in ("German", "both"))
    return Vocabulary(tuple(word for word, _ in rows), source, target)


def load_pairs(split="train"):
    """The pairs of a split as a list of (source words, target words), in the order of the file.

    Splits: train, validation, test, longer, combined. Raises ValueError for
    another name.
    """
    if split not in SPLITS:
        raise ValueError(f"load_pairs: split is {split!r}; expected one of {', '.join(SPLITS)}")
    lines = open_data(f"{split}.tsv").splitlines()
    return [tuple(side.split(" ") for side in line.split("\t")) for line in lines]


# ---------------------------------------------------------------- batches


class Batch(NamedTuple):
    """Padded ids of B pairs, int64.

    The decoder reads ``tgt_in`` (the target after the start token) and is
    asked for ``tgt_out`` (the target before the end token), so
    S_tgt = longest target + 1. The source carries no start or end token.
    """

    src: np.ndarray  # (B, S_src)
    tgt_in: np.ndarray  # (B, S_tgt)
    tgt_out: np.ndarray  # (B, S_tgt)
    src_lengths: np.ndarray  # (B,)
    tgt_lengths: np.ndarray  # (B,), the start or end token counted


def encode_batch(pairs, vocabulary):
    """Padded ids and lengths of a list of (source words, target words): a ``Batch``.

    Raises ValueError for an empty list and for a pair with an empty side.
    """
    if not pairs:
        raise ValueError("encode_batch: pairs is empty; expected at least one (source words, target words)")
    for i, (source, target) in enumerate(pairs):
        if not source or not target:
            raise ValueError(f"encode_batch: pair {i} has an empty side: {source!r}, {target!r}")
    sources = [vocabulary.look_up(source) for source, _ in pairs]
    targets = [vocabulary.look_up(target) for _, target in pairs]
    src = padded(sources, vocabulary.pad)  # (B, S_src)
    tgt_in = padded([[vocabulary.start, *ids] for ids in targets], vocabulary.pad)  # (B, S_tgt)
    tgt_out = padded([[*ids, vocabulary.end] for ids in targets], vocabulary.pad)  # (B, S_tgt)
    src_lengths = np.array([len(ids) for ids in sources])  # (B,)
    tgt_lengths = np.array([len(ids) + 1 for ids in targets])  # (B,)
    return Batch(src, tgt_in, tgt_out, src_lengths, tgt_lengths)


def padded(rows, pad):
    """Lists of ids as one array, filled up with ``pad``."""
    longest = max(map(len, rows))
    return np.array([row + [pad] * (longest - len(row)) for row in rows], dtype=np.int64)  # (B, S)


def batches(pairs, size, rng=None):
    """Lists of ``size`` pairs, each pair once; in random order if an ``rng`` is given.

    The last list holds what is left. Raises ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"batches: size is {size}; expected at least 1")
    order = np.arange(len(pairs)) if rng is None else rng.permutation(len(pairs))  # (number of pairs,)
    for start in range(0, len(pairs), size):
        yield [pairs[i] for i in order[start : start + size]]


# ---------------------------------------------------------------- typed sentences


class UnknownWords(ValueError):
    """A typed sentence has words that the vocabulary lacks; ``words`` lists them."""

    def __init__(self, words, vocabulary):
        self.words = words
        known = sorted(vocabulary.source_words, key=lambda word: (word.lower(), word))
        close = {word: difflib.get_close_matches(word.lower(), known, n=3) for word in words}
        lines = [f"not in the vocabulary: {', '.join(words)}"]
        lines += [f"instead of {word}, perhaps: {', '.join(near)}" for word, near in close.items() if near]
        lines += textwrap.wrap(f"known words: {' '.join(known)}", width=100)
        super().__init__("\n".join(lines))


def split_words(text):
    """Words and punctuation marks of a text, as a list; nothing else is changed."""
    return re.findall(r"[^\s.,?!;:\"()]+|[.,?!;:\"()]", text)


def tokenize(text, vocabulary, longest=20):
    """The words of a typed English sentence, spelled as the corpus spells them.

    Punctuation becomes words of its own, capitals do not matter, «doesn't» is
    read as «does not», and a missing full stop is added.

    Raises ValueError for an empty text and for more than ``longest`` words,
    UnknownWords (a ValueError) for words outside the vocabulary; its message
    lists them, close matches, and all that is known.
    """
    text = " ".join(text.replace("’", "'").split())
    for short, full in CONTRACTED.items():
        text = re.sub(re.escape(short) + r"\b", full, text, flags=re.IGNORECASE)
    words = split_words(text)
    if not any(word.isalnum() for word in words):
        raise ValueError("tokenize: the sentence is empty; type some words, such as: the dog sees the cat .")
    if words[-1] not in (".", "?"):
        words.append(".")
    if len(words) > longest:
        raise ValueError(f"tokenize: the sentence has {len(words)} words and marks; at most {longest} are allowed")
    spelling = {word.lower(): word for word in vocabulary.source_words}
    unknown = [word for word in words if word.lower() not in spelling]
    if unknown:
        raise UnknownWords(list(dict.fromkeys(unknown)), vocabulary)
    return [spelling[word.lower()] for word in words]


def join_words(words):
    """A sentence for reading: first letter a capital, no space before punctuation."""
    text = re.sub(r" ([.,?!])", r"\1", " ".join(words))
    return text[:1].upper() + text[1:]
