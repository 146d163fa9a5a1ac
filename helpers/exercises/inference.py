"""Exercises of notebook 10."""

import math

import numpy as np

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.attention import softmax
from helpers.layers.inference import log_softmax
from helpers.layers.position_encoding import sinusoidal_positions

cache_size = Exercise(
    "10.1",
    "predict",
    "Numbers in a cache",
    judge=expects(
        1536,
        mistakes=[
            (1280, "That is the cache before the step. The new token's K and V are written into it as well."),
            (768, "One factor of 2 is missing: there are two blocks, and each keeps both K and V."),
            (384, "That is K of one block. V is kept too, and there are two blocks."),
            (6144, "The heads share the width: 4 heads of 16 are 64 numbers for a token, not 4 times 64."),
            (3840, "You counted the 9 source positions too. The question asks for self-attention alone."),
            (2304, "That is the part of cross-attention, for 9 source positions. Self-attention holds 6 tokens."),
        ],
        otherwise="Numbers for one token in K of one block, times 2 for V, times the blocks, times the tokens kept.",
    ),
    right="64 numbers, times 2 for K and V, times 2 blocks, times 6 tokens.",
    wrong=[
        (1280, "before the step"),
        (768, "factor of 2"),
        (384, "V is kept too"),
        (6144, "share the width"),
        (3840, "source positions too"),
        (2304, "part of cross-attention"),
        (64, "times the tokens kept"),
    ],
)

winner = Exercise(
    "10.2",
    "predict",
    "What the length penalty changes",
    judge=expects(
        ("A", "B"),
        mistakes=[
            (("A", "A"), "With alpha 0.6 divide: -3.0 by 1.275 is -2.35, and -3.6 by 1.590 is -2.26."),
            (("B", "B"), "With alpha 0 every penalty is 1, and the higher log-probability wins: -3.0 is above -3.6."),
            (("B", "A"), "The other way round: alpha helps the longer sentence, and alpha 0 helps none."),
        ],
        otherwise='Give a pair of letters, the winner for alpha 0 and the winner for alpha 0.6, such as ("A", "A").',
    ),
    right="Dividing a negative number brings it nearer to 0, and the longer sentence is divided by more.",
    wrong=[
        (("A", "A"), "-2.26"),
        (("B", "B"), "every penalty is 1"),
        (("B", "A"), "other way round"),
        (("A", "C"), "pair of letters"),
        ("B", "got a word"),
        (("A", "B", "A"), "got a tuple of 3"),
    ],
)


def keep_likely(Pi, share):
    """The right answer to 10.3."""
    kept = np.where(Pi >= share * Pi.max(axis=-1, keepdims=True), Pi, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


def likely_not_shared_out(Pi, share):
    return np.where(Pi >= share * Pi.max(axis=-1, keepdims=True), Pi, 0)


def likely_by_a_fixed_bound(Pi, share):
    kept = np.where(Pi >= share, Pi, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


def likely_by_the_largest_of_all(Pi, share):
    kept = np.where(Pi >= share * Pi.max(), Pi, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


def likely_upside_down(Pi, share):
    kept = np.where(Pi < share * Pi.max(axis=-1, keepdims=True), Pi, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


def likely_by_softmax(Pi, share):
    return softmax(np.where(Pi >= share * Pi.max(axis=-1, keepdims=True), Pi, 0))


def likely_all_alike(Pi, share):
    kept = Pi >= share * Pi.max(axis=-1, keepdims=True)
    return kept / kept.sum(axis=-1, keepdims=True)


def draw_likely(rng):
    rows, N_vocab = int(rng.integers(2, 5)), int(rng.integers(6, 12))
    return softmax(2 * rng.standard_normal((rows, N_vocab))), float(rng.uniform(0.1, 0.2))


min_p = Exercise(
    "10.3",
    "implement",
    "Keep what is likely beside the likeliest",
    judge=computes(
        keep_likely,
        draw_likely,
        mistakes=[
            (likely_not_shared_out, "The right tokens are kept, but the rows do not sum to 1: divide by their sums."),
            (likely_by_a_fixed_bound, "You compare with share itself; the bound is share times the row's maximum."),
            (
                likely_by_the_largest_of_all,
                "You take the largest of the whole array; each row has a maximum of its own.",
            ),
            (likely_upside_down, "You keep the unlikely tokens and drop the likely ones."),
            (likely_by_softmax, "Softmax takes scores. Here are probabilities already: divide by the row's sum."),
            (likely_all_alike, "The kept tokens became equally likely; they must keep their proportions."),
        ],
        what="The array of probabilities",
    ),
    right="The bound follows the row: a sure row keeps few tokens, a flat one many.",
    wrong=[
        (likely_not_shared_out, "do not sum to 1"),
        (likely_by_a_fixed_bound, "share itself"),
        (likely_by_the_largest_of_all, "whole array"),
        (likely_upside_down, "keep the unlikely"),
        (likely_by_softmax, "probabilities already"),
        (likely_all_alike, "proportions"),
        (lambda Pi, share: keep_likely(Pi, share)[..., :-1], "shapes differ"),
    ],
)


def total_log_probability(logits, ids):
    """The right answer to 10.4."""
    return float(np.take_along_axis(log_softmax(logits), ids[:, None], axis=-1).sum())


def log_of_softmax(logits, ids):
    with np.errstate(divide="ignore"):
        return float(np.log(softmax(logits)[np.arange(len(ids)), ids]).sum())


def mean_log_probability(logits, ids):
    return total_log_probability(logits, ids) / len(ids)


def sum_of_scores(logits, ids):
    return float(logits[np.arange(len(ids)), ids].sum())


def probability_itself(logits, ids):
    return float(np.exp(total_log_probability(logits, ids)))


def sum_of_probabilities(logits, ids):
    return float(softmax(logits)[np.arange(len(ids)), ids].sum())


def one_row_too_early(logits, ids):
    return total_log_probability(logits[:-1], ids[1:])


def positive_log_probability(logits, ids):
    return -total_log_probability(logits, ids)


def draw_scores(rng):
    length, N_vocab = int(rng.integers(3, 8)), int(rng.integers(5, 12))
    logits = rng.standard_normal((length, N_vocab))
    ids = rng.integers(0, N_vocab, length)
    if rng.random() < 0.5:
        logits[0, ids[0]] -= 1000  # so improbable that its probability is 0 in floating point
    return logits, ids


log_probability = Exercise(
    "10.4",
    "implement",
    "How likely a given sentence is",
    judge=computes(
        total_log_probability,
        draw_scores,
        mistakes=[
            (log_of_softmax, "Right until a probability is too small for a float: its logarithm becomes -inf."),
            (mean_log_probability, "You took the mean; the log-probability of a sentence is the sum."),
            (sum_of_scores, "You added raw scores: they are not yet logarithms of probabilities."),
            (probability_itself, "That is the probability; leave out the last exp."),
            (sum_of_probabilities, "Probabilities are multiplied; their logarithms are added."),
            (one_row_too_early, "Row i holds the scores of ids[i]: no shift is needed here."),
            (positive_log_probability, "The sign is flipped: a logarithm of a probability is at most 0."),
        ],
        what="The log-probability",
    ),
    right="A sum of logarithms, each from scores with the row's maximum taken out, never overflows.",
    wrong=[
        (log_of_softmax, "too small for a float"),
        (mean_log_probability, "took the mean"),
        (sum_of_scores, "raw scores"),
        (probability_itself, "leave out the last exp"),
        (sum_of_probabilities, "logarithms are added"),
        (one_row_too_early, "no shift"),
        (positive_log_probability, "at most 0"),
    ],
)


def next_rows(E, P, ids, taken):
    S_new, d = len(ids), E.shape[1]
    return math.sqrt(d) * E[ids] + P[:S_new]  # (S_new, d)


def rows_in_place(E, P, ids, taken):
    """The right answer to 10.5."""
    return math.sqrt(E.shape[1]) * E[ids] + P[taken : taken + len(ids)]


def rows_at_one_position(E, P, ids, taken):
    return math.sqrt(E.shape[1]) * E[ids] + P[taken]


def rows_one_too_late(E, P, ids, taken):
    return math.sqrt(E.shape[1]) * E[ids] + P[taken + 1 : taken + 1 + len(ids)]


def rows_one_too_early(E, P, ids, taken):
    return math.sqrt(E.shape[1]) * E[ids] + P[taken - 1 : taken - 1 + len(ids)]


def rows_at_the_end(E, P, ids, taken):
    return math.sqrt(E.shape[1]) * E[ids] + P[-len(ids) :]


def rows_not_scaled(E, P, ids, taken):
    return E[ids] + P[taken : taken + len(ids)]


def rows_without_positions(E, P, ids, taken):
    return math.sqrt(E.shape[1]) * E[ids]


def draw_rows(rng):
    N_vocab, d = int(rng.integers(5, 9)), int(rng.integers(3, 7))
    taken, S_new = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    return rng.standard_normal((N_vocab, d)), sinusoidal_positions(12, d), rng.integers(0, N_vocab, S_new), taken


restarted = Exercise(
    "10.5",
    "repair",
    "Positions that start again",
    judge=computes(
        rows_in_place,
        draw_rows,
        mistakes=[
            (rows_at_one_position, "All new tokens get the position of the first of them."),
            (rows_one_too_late, "One too late: with 3 tokens in the cache, at 0 to 2, the next stands at position 3."),
            (rows_one_too_early, "One too early: position taken - 1 belongs to the last token in the cache."),
            (rows_at_the_end, "These are the last rows of the table, wherever the sequence stands."),
            (rows_not_scaled, "The positions are right; the factor √d of the embedding is gone."),
            (rows_without_positions, "Now the new tokens have no position at all."),
        ],
        what="What enters the first block",
    ),
    right="A cache holds what came before, so the new tokens go on counting where it ends.",
    wrong=[
        (rows_at_one_position, "first of them"),
        (rows_one_too_late, "too late"),
        (rows_one_too_early, "too early"),
        (rows_at_the_end, "last rows of the table"),
        (rows_not_scaled, "factor √d"),
        (rows_without_positions, "no position at all"),
    ],
    broken=next_rows,
)
