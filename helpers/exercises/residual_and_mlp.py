"""Exercises of notebook 07."""

import numpy as np

from helpers.exercises.core import Exercise, computes, expects

rows_changed = Exercise(
    "7.1",
    "predict",
    "How far one changed row reaches",
    judge=expects(
        (1, 1, 10, 7),
        mistakes=[
            ((10, 1, 10, 7), "Layer norm takes mean and variance of one row: no other row enters."),
            ((1, 10, 10, 7), "The MLP shares its parameters between rows, not its inputs: each row is computed alone."),
            ((10, 10, 10, 7), "Layer norm and MLP both see one row at a time."),
            ((1, 1, 1, 7), "X differs in row 3 alone, but O differs in every row that reads position 3, and is added."),
            ((1, 1, 10, 10), "Under a causal mask rows 0 to 2 cannot read position 3, so they stay as they were."),
            ((1, 1, 10, 6), "Row 3 reads itself: count it with the six rows after it."),
            ((1, 1, 10, 3), "Rows 0 to 2 are those that cannot see the change. Count the others."),
            ((1, 1, 10, 4), "The rows up to 3 are the sources of row 3. Count the rows that read position 3."),
            ((1, 1, 10, 1), "Attention moves content: a later row that reads position 3 changes as well."),
        ],
        otherwise="Ask of each part: which rows does it read to compute one row of its output?",
    ),
    right="Only attention moves content between rows; a causal mask lets rows 3 to 9 read position 3.",
    wrong=[
        ((10, 1, 10, 7), "mean and variance of one row"),
        ((1, 10, 10, 7), "not its inputs"),
        ((10, 10, 10, 7), "both see one row"),
        ((1, 1, 1, 7), "is added"),
        ((1, 1, 10, 10), "rows 0 to 2 cannot"),
        ((1, 1, 10, 6), "reads itself"),
        ((1, 1, 10, 3), "Count the others"),
        ((1, 1, 10, 4), "sources of row 3"),
        ((1, 1, 10, 1), "moves content"),
        ((5, 5, 5, 5), "Ask of each part"),
        (7, "a tuple of 4"),
    ],
)


def both_paths(dZ, attention_back, norm_back):
    """The right answer to 7.2."""
    return dZ + norm_back(attention_back(dZ))


def no_direct_path(dZ, attention_back, norm_back):
    return norm_back(attention_back(dZ))


def direct_path_alone(dZ, attention_back, norm_back):
    return dZ.copy()


def paths_as_in_post_norm(dZ, attention_back, norm_back):
    dsum = norm_back(dZ)
    return dsum + attention_back(dsum)


def paths_in_forward_order(dZ, attention_back, norm_back):
    return dZ + attention_back(norm_back(dZ))


def paths_without_norm(dZ, attention_back, norm_back):
    return dZ + attention_back(dZ)


def paths_side_by_side(dZ, attention_back, norm_back):
    return dZ + attention_back(dZ) + norm_back(dZ)


def norm_around_everything(dZ, attention_back, norm_back):
    return norm_back(dZ + attention_back(dZ))


def draw_half(rng):
    S, d = rng.integers(2, 7, size=2)
    mixing, first, second = rng.standard_normal((S, S)), *rng.standard_normal((2, d, d))
    return (
        rng.standard_normal((S, d)),
        lambda dO: mixing @ dO @ first,
        lambda dY: dY @ second,
    )


two_paths = Exercise(
    "7.2",
    "implement",
    "The gradient of a residual sum",
    judge=computes(
        both_paths,
        draw_half,
        mistakes=[
            (no_direct_path, "The direct path is missing: X also stands in the sum itself, with the factor 1."),
            (direct_path_alone, "That is the direct path alone; X reaches Z through norm and attention as well."),
            (paths_as_in_post_norm, "This is post-norm: there the norm comes after the sum. Here the sum comes last."),
            (paths_in_forward_order, "Backward runs the other way round: attention came last, so undo it first."),
            (paths_without_norm, "What attention gives back belongs to the norm's output; send it through the norm."),
            (paths_side_by_side, "Norm and attention stand one behind the other, not side by side: chain them."),
            (norm_around_everything, "The direct path goes round the norm: add dZ after norm_back, not before."),
        ],
        what="dX",
    ),
    right="X is used twice, so two gradients add up, and one of them is dZ itself.",
    wrong=[
        (no_direct_path, "direct path is missing"),
        (direct_path_alone, "direct path alone"),
        (paths_as_in_post_norm, "This is post-norm"),
        (paths_in_forward_order, "other way round"),
        (paths_without_norm, "send it through the norm"),
        (paths_side_by_side, "chain them"),
        (norm_around_everything, "goes round the norm"),
        (lambda dZ, attention_back, norm_back: attention_back, "cannot be compared"),
    ],
)


def folded(gamma, beta, W_1, b_1):
    """The right answer to 7.3."""
    return gamma[:, None] * W_1, beta @ W_1 + b_1


def without_beta(gamma, beta, W_1, b_1):
    return gamma[:, None] * W_1, b_1.copy()


def without_b_1(gamma, beta, W_1, b_1):
    return gamma[:, None] * W_1, beta @ W_1


def beta_scaled_as_well(gamma, beta, W_1, b_1):
    W = gamma[:, None] * W_1  # (d, d_ff)
    return W, beta @ W + b_1


def gamma_left_out(gamma, beta, W_1, b_1):
    return W_1.copy(), beta @ W_1 + b_1


def gamma_undone(gamma, beta, W_1, b_1):
    return W_1 / gamma[:, None], beta @ W_1 + b_1


def bias_first(gamma, beta, W_1, b_1):
    return folded(gamma, beta, W_1, b_1)[::-1]


def draw_norm_and_map(rng):
    d, d_ff = rng.permutation(np.arange(3, 8))[:2]
    return *rng.standard_normal((2, d)), rng.standard_normal((d, d_ff)), rng.standard_normal(d_ff)


folded_norm = Exercise(
    "7.3",
    "implement",
    "A layer norm folded into the MLP",
    judge=computes(
        folded,
        draw_norm_and_map,
        mistakes=[
            (without_beta, "W is right. But beta goes through W_1 as well, and b has to hold what comes out."),
            (without_b_1, "W is right. b has lost b_1."),
            (beta_scaled_as_well, "W is right. beta is added after gamma: send it through W_1, not through W."),
            (gamma_left_out, "b is right. gamma is gone: W must do what gamma did to the normalised row."),
            (gamma_undone, "b is right. Dividing takes gamma out; W has to take it over."),
            (bias_first, "Both are right, in the other order: return W, then b."),
        ],
        what="(W, b)",
    ),
    right="gamma scales the rows of W_1, and beta @ W_1 joins b_1: what a norm learns, the next linear map can hold.",
    wrong=[
        (without_beta, "hold what comes out"),
        (without_b_1, "has lost b_1"),
        (beta_scaled_as_well, "not through W"),
        (gamma_left_out, "gamma is gone"),
        (gamma_undone, "has to take it over"),
        (bias_first, "in the other order"),
        (lambda gamma, beta, W_1, b_1: gamma * W_1, "raised ValueError"),
    ],
)


def home_made_layer_norm(X, gamma, beta, epsilon):
    mean = X.mean(axis=-1, keepdims=True)  # (S, 1)
    std = X.std(axis=-1, keepdims=True, ddof=1)  # (S, 1)
    return gamma * (X - mean) / (std + epsilon) + beta


def mended_layer_norm(X, gamma, beta, epsilon):
    """The right answer to 7.4."""
    return gamma * (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + epsilon) + beta


def epsilon_still_outside(X, gamma, beta, epsilon):
    return gamma * (X - X.mean(axis=-1, keepdims=True)) / (X.std(axis=-1, keepdims=True) + epsilon) + beta


def still_over_d_minus_1(X, gamma, beta, epsilon):
    variance = X.var(axis=-1, keepdims=True, ddof=1)  # (S, 1)
    return gamma * (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(variance + epsilon) + beta


def root_of_std(X, gamma, beta, epsilon):
    return gamma * (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.std(axis=-1, keepdims=True) + epsilon) + beta


def divided_by_variance(X, gamma, beta, epsilon):
    return gamma * (X - X.mean(axis=-1, keepdims=True)) / (X.var(axis=-1, keepdims=True) + epsilon) + beta


def without_epsilon(X, gamma, beta, epsilon):
    return gamma * (X - X.mean(axis=-1, keepdims=True)) / X.std(axis=-1, keepdims=True) + beta


def over_positions(X, gamma, beta, epsilon):
    return gamma * (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0) + epsilon) + beta


def draw_rows(rng):
    S, d = rng.permutation(np.arange(3, 8))[:2]
    size, epsilon = rng.choice([0.1, 1.0]), rng.choice([0.001, 0.1])
    return size * rng.standard_normal((S, d)), *rng.standard_normal((2, d)), float(epsilon)


home_made = Exercise(
    "7.4",
    "repair",
    "A home-made layer norm",
    judge=computes(
        mended_layer_norm,
        draw_rows,
        mistakes=[
            (home_made_layer_norm, "The numbers are those of the broken function: neither fault is mended."),
            (epsilon_still_outside, "The variance is right now. Epsilon still stands outside the root."),
            (still_over_d_minus_1, "Epsilon is right now. The variance still divides by d - 1."),
            (root_of_std, "The root is taken twice: X.std is a root already. Add epsilon to X.var."),
            (divided_by_variance, "You divide by the variance; its root belongs there."),
            (without_epsilon, "Epsilon is gone: a row of equal numbers would divide by 0."),
            (over_positions, "Mean and variance belong to one row: take them over axis -1."),
        ],
        what="The normalised array",
    ),
    right="The variance divides by d, and epsilon is added to it before the root.",
    wrong=[
        (epsilon_still_outside, "still stands outside"),
        (still_over_d_minus_1, "still divides"),
        (root_of_std, "taken twice"),
        (divided_by_variance, "its root belongs"),
        (without_epsilon, "Epsilon is gone"),
        (over_positions, "over axis -1"),
        (lambda X, gamma, beta, epsilon: mended_layer_norm(X, gamma, beta, epsilon)[0], "shape"),
    ],
    broken=home_made_layer_norm,
)
