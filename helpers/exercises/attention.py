"""Exercises of notebook 05."""

import math

import numpy as np

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.attention import softmax

count_zeros = Exercise(
    "5.1",
    "predict",
    "Zeros under a causal and a padding mask",
    judge=expects(
        24,
        mistakes=[
            (21, "21 entries lie above the diagonal. Padding closes some more, in columns 5 and 6."),
            (14, "14 is what padding closes alone: two columns of seven. Add what the causal mask closes elsewhere."),
            (35, "21 + 14 counts the entries that both masks close twice."),
            (25, "25 entries stay open. The question asks for those that are closed."),
            (29, "The diagonal is open: a position reads itself. Only padded columns are closed there."),
            (34, "Padding closes columns, not rows: a padded row still reads the real positions."),
        ],
        otherwise="Draw 7 × 7 cells, cross out what lies above the diagonal and columns 5 and 6, count the crosses.",
    ),
    right="21 above the diagonal, and (5, 5), (6, 5), (6, 6) in the padded columns.",
    wrong=[
        (21, "Padding closes some more"),
        (14, "two columns of seven"),
        (35, "twice"),
        (25, "stay open"),
        (29, "reads itself"),
        (34, "not rows"),
        (0, "Draw 7 × 7"),
    ],
)


def window(S, w):
    """The right answer to 5.2."""
    distance = np.arange(S)[:, None] - np.arange(S)  # (S, S)
    return np.where((distance >= 0) & (distance < w), 0.0, -np.inf)


def window_one_too_wide(S, w):
    return window(S, w + 1)


def window_both_ways(S, w):
    distance = np.abs(np.arange(S)[:, None] - np.arange(S))  # (S, S)
    return np.where(distance < w, 0.0, -np.inf)


def window_over_the_future(S, w):
    return window(S, w).T


def window_open_to_the_future(S, w):
    distance = np.arange(S)[:, None] - np.arange(S)  # (S, S)
    return np.where(distance < w, 0.0, -np.inf)


def window_of_ones(S, w):
    return np.isfinite(window(S, w)).astype(float)


def window_of_booleans(S, w):
    return np.isfinite(window(S, w))


def window_without_a_past(S, w):
    return np.where(np.isfinite(window(S, S)), 0.0, -np.inf)


def draw_window(rng):
    S = int(rng.integers(4, 10))
    return S, int(rng.integers(1, S - 1))


window_mask = Exercise(
    "5.2",
    "implement",
    "A mask for a sliding window",
    judge=computes(
        window,
        draw_window,
        mistakes=[
            (window_one_too_wide, "The window is one position too wide: it holds w positions, the own one among them."),
            (window_both_ways, "The window also reaches w - 1 positions into the future."),
            (window_over_the_future, "The window lies on the wrong side: rows receive, columns are read."),
            (window_open_to_the_future, "The past is limited, and the whole future is open."),
            (window_of_ones, "Ones and zeros are for multiplying. Masks here are added: 0 allowed, -inf forbidden."),
            (window_of_booleans, "A boolean does not say what True means. Return 0 where allowed, -inf where not."),
            (window_without_a_past, "This is the causal mask: w does not limit how far back a position reads."),
        ],
        what="The mask",
    ),
    right="A source is open when it lies 0 to w - 1 positions back.",
    wrong=[
        (window_one_too_wide, "too wide"),
        (window_both_ways, "into the future"),
        (window_over_the_future, "wrong side"),
        (window_open_to_the_future, "whole future is open"),
        (window_of_ones, "for multiplying"),
        (window_of_booleans, "what True means"),
        (window_without_a_past, "how far back"),
        (lambda S, w: np.zeros((S, S + 1)), "shapes differ"),
    ],
)


def row_of_attention(q, K, V):
    """The right answer to 5.3."""
    return softmax(K @ q / math.sqrt(len(q))) @ V


def row_not_scaled(q, K, V):
    return softmax(K @ q) @ V


def row_scaled_by_length(q, K, V):
    return softmax(K @ q / math.sqrt(len(K))) @ V


def row_scaled_by_width(q, K, V):
    return softmax(K @ q / len(q)) @ V


def row_that_overflows(q, K, V):
    with np.errstate(all="ignore"):
        weights = np.exp(K @ q / math.sqrt(len(q)))  # (S,)
        return weights / weights.sum() @ V


def row_not_normalised(q, K, V):
    scores = K @ q / math.sqrt(len(q))  # (S,)
    return np.exp(scores - scores.max()) @ V


def row_of_scores(q, K, V):
    return K @ q / math.sqrt(len(q)) @ V


def draw_row(rng):
    S, d_k, d_v = rng.permutation(np.arange(3, 10))[:3]
    size = rng.choice([1.0, 30.0])
    return size * rng.standard_normal(d_k), size * rng.standard_normal((S, d_k)), rng.standard_normal((S, d_v))


one_row = Exercise(
    "5.3",
    "implement",
    "Attention for one query",
    judge=computes(
        row_of_attention,
        draw_row,
        mistakes=[
            (row_not_scaled, "The scores are not divided by the root of d_k."),
            (row_scaled_by_length, "You divide by the root of S, the number of keys; the length of q counts."),
            (row_scaled_by_width, "You divide by d_k; the scores' standard deviation is its root."),
            (row_that_overflows, "Right for small scores, NaN for large ones: subtract the maximum before exp."),
            (row_not_normalised, "The weights do not sum to 1: divide by their sum."),
            (row_of_scores, "The values are mixed by raw scores: softmax is missing."),
        ],
        what="The output",
    ),
    right="S scores, one softmax, one mix of the values: nothing of size S × S was needed.",
    wrong=[
        (row_not_scaled, "not divided"),
        (row_scaled_by_length, "root of S"),
        (row_scaled_by_width, "divide by d_k"),
        (row_that_overflows, "subtract the maximum"),
        (row_not_normalised, "sum to 1"),
        (row_of_scores, "softmax is missing"),
        (lambda q, K, V: row_of_attention(q, K, V)[None], "cut differently"),
    ],
)


def causal_weights(scores):
    weights = softmax(scores)  # (S, S)
    allowed = np.tril(np.ones(scores.shape))  # (S, S), 1 where reading is allowed
    return weights * allowed


def mended(scores):
    """The right answer to 5.4."""
    return softmax(np.where(np.tril(np.ones(scores.shape)) == 1, scores, -np.inf))


def masked_with_zero_scores(scores):
    return softmax(scores * np.tril(np.ones(scores.shape)))


def masked_upside_down(scores):
    return mended(scores.T).T


def renormalised_by_column(scores):
    weights = causal_weights(scores)
    return weights / weights.sum(axis=0)


def renormalised_as_a_whole(scores):
    weights = causal_weights(scores)
    return weights / weights.sum() * len(weights)


def not_masked(scores):
    return softmax(scores)


def draw_scores(rng):
    S = int(rng.integers(3, 8))
    return (rng.standard_normal((S, S)),)


late_mask = Exercise(
    "5.4",
    "repair",
    "A mask that comes too late",
    judge=computes(
        mended,
        draw_scores,
        mistakes=[
            (masked_with_zero_scores, "A score of 0 is not forbidden: exp(0) = 1 still takes its share. Use -inf."),
            (masked_upside_down, "Now the past is closed and the future open, and columns sum to 1."),
            (renormalised_by_column, "Each row has a budget of 1, not each column: divide by the sums over axis -1."),
            (renormalised_as_a_whole, "One factor for all cannot mend every row: each has lost another share."),
            (not_masked, "The mask is gone: the future can be read."),
        ],
        what="The array of weights",
    ),
    right="With -inf in place, softmax shares the whole budget among the allowed sources, and every row sums to 1.",
    wrong=[
        (masked_with_zero_scores, "still takes its share"),
        (masked_upside_down, "future open"),
        (renormalised_by_column, "not each column"),
        (renormalised_as_a_whole, "One factor"),
        (not_masked, "mask is gone"),
        (lambda scores: mended(scores)[:-1], "shapes differ"),
    ],
    broken=causal_weights,
)
