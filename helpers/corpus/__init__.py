"""The course's English-German corpus: grammar, files, vocabulary, batches, own pairs.

    pairs = load_pairs("train")              # list of (source words, target words)
    vocabulary = load_vocabulary()           # joint; .pad .start .end .unknown are ids, len() is N_vocab
    vocabulary.words_to_ids(words)           # (S,) int64
    vocabulary.ids_to_words(ids)             # list of words, special tokens included
    vocabulary.sentence(ids)                 # list of words up to the end token, for generated ids
    vocabulary.source_words, .target_words   # what each language uses
    build_vocabulary(pairs)                  # the same for a learner's own pairs
    batch = encode_batch(pairs, vocabulary)  # Batch(src, tgt_in, tgt_out, src_lengths, tgt_lengths)
    batches(pairs, size, rng)                # lists of pairs, one pass in random order
    tokenize(text, vocabulary)               # words of a typed sentence, or UnknownWords
    join_words(words)                        # a readable sentence
    read_pairs(path)                         # (pairs, report) from a learner's own file
    SPLITS                                   # the names of the splits
    EXAMPLES                                 # (English, German, what it shows), in no split

The files lie in data/ and are written by ``helpers.corpus.generator`` (``make
data``); data/README.md describes them. The source has no start or end token,
so that position i of the encoder is word i; ``tgt_in`` begins with the start
token and ``tgt_out`` ends with the end token.
"""

from helpers.corpus.examples import EXAMPLES
from helpers.corpus.pairs import PairsError, Report, read_pairs
from helpers.corpus.vocabulary import (
    SPLITS,
    Batch,
    UnknownWords,
    Vocabulary,
    batches,
    build_vocabulary,
    encode_batch,
    join_words,
    load_pairs,
    load_vocabulary,
    tokenize,
)

__all__ = [
    "EXAMPLES", "SPLITS", "Batch", "PairsError", "Report", "UnknownWords", "Vocabulary", "batches", "build_vocabulary",
    "encode_batch", "join_words", "load_pairs", "load_vocabulary", "read_pairs", "tokenize",
]  # fmt: skip
