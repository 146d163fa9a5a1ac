"""Exercises of notebook 04."""

import numpy as np

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.query_key_value import linear

count_parameters = Exercise(
    "4.1",
    "predict",
    "Parameters of one head",
    judge=expects(
        147456,
        mistakes=[
            (49152, "That is one projection. A head has three."),
            (1769472, "That is all twelve heads of a layer. The question asks for one."),
            (147456000, "The sequence has 1,000 positions, but they share the same projections."),
            (192000, "That counts Q, K and V: states, computed anew for each input. Count the parameters."),
            (147648, "Those 192 more would be biases, and this head has none."),
        ],
        otherwise="Each of W_Q, W_K and W_V has d rows and d_k columns.",
    ),
    right="3 × 768 × 64. The length of the sequence does not enter.",
    wrong=[
        (49152, "A head has three"),
        (1769472, "asks for one"),
        (147456000, "share the same"),
        (192000, "computed anew"),
        (147648, "biases"),
        (0, "d rows and d_k columns"),
    ],
)


def queries_side_by_side(X, weights):
    """The right answer to 4.2."""
    return np.split(X @ np.concatenate(weights, axis=1), len(weights), axis=1)


def heads_reversed(X, weights):
    return [X @ W for W in weights][::-1]


def columns_interleaved(X, weights):
    Y = X @ np.concatenate(weights, axis=1)  # (S, heads * d_k)
    return [Y[:, i :: len(weights)] for i in range(len(weights))]


def rows_cut(X, weights):
    Y = X @ np.concatenate(weights, axis=1)  # (S, heads * d_k)
    return list(Y.reshape(len(weights), len(X), -1))


def first_head_only(X, weights):
    return [X @ weights[0] for _ in weights]


def not_cut(X, weights):
    return X @ np.concatenate(weights, axis=1)


def input_cut(X, weights):
    width = X.shape[1] // len(weights)
    return [X[:, i * width : (i + 1) * width] @ W[i * width : (i + 1) * width] for i, W in enumerate(weights)]


def draw_heads(rng):
    S, d_k = rng.integers(3, 6, size=2)
    heads = int(rng.integers(2, 4))
    d = heads * int(d_k)
    return rng.standard_normal((S, d)), [rng.standard_normal((d, d_k)) for _ in range(heads)]


one_product = Exercise(
    "4.2",
    "implement",
    "All heads' queries from one product",
    judge=computes(
        queries_side_by_side,
        draw_heads,
        mistakes=[
            (heads_reversed, "The heads come out in reverse order."),
            (columns_interleaved, "Neighbouring columns belong to the same head; you took every h-th column."),
            (rows_cut, "A reshape from (S, h · d_k) to (h, S, d_k) cuts rows apart. Cut the columns."),
            (first_head_only, "Every head got the queries of head 0."),
            (not_cut, "The product is right. Cut its columns into one array for each head."),
            (input_cut, "Each head must read all of X, not a slice of its components."),
        ],
        what="The list of queries",
    ),
    right="One product with h · d_k columns gives the same numbers as h products, and runs faster.",
    wrong=[
        (heads_reversed, "reverse order"),
        (columns_interleaved, "every h-th"),
        (rows_cut, "Cut the columns"),
        (first_head_only, "queries of head 0"),
        (not_cut, "The product is right"),
        (input_cut, "all of X"),
        (lambda X, weights: queries_side_by_side(X, weights)[:-1], "differs"),
    ],
)


def value_gradient(X, dV):
    """The right answer to 4.3."""
    return X.T @ dV


def value_gradient_mean(X, dV):
    return X.T @ dV / len(X)


def value_gradient_last_row(X, dV):
    return np.outer(X[-1], dV[-1])


def value_gradient_transposed(X, dV):
    return dV.T @ X


def value_gradient_of_input(X, dV):
    return np.broadcast_to(dV.sum(axis=0), (X.shape[1], dV.shape[1]))


def value_gradient_summed_input(X, dV):
    return np.outer(X.sum(axis=0), dV.sum(axis=0))


def draw_value_gradient(rng):
    S, d, d_k = rng.permutation(np.arange(3, 9))[:3]
    return rng.standard_normal((S, d)), rng.standard_normal((S, d_k))


weight_gradient = Exercise(
    "4.3",
    "implement",
    "The gradient of W_V",
    judge=computes(
        value_gradient,
        draw_value_gradient,
        mistakes=[
            (value_gradient_mean, "You average over the positions. W_V serves every row, so the contributions add up."),
            (value_gradient_last_row, "Only the last position contributes. Each row adds its part."),
            (value_gradient_transposed, "This is the transpose: a gradient has the shape of its parameter, (d, d_k)."),
            (value_gradient_of_input, "This is the gradient of a bias, repeated. X is missing."),
            (value_gradient_summed_input, "Sum the products of matching rows, not the product of two sums."),
        ],
        what="The gradient",
    ),
    right="Each position adds the outer product of its row of X and its row of dV; Xᵀ dV is the sum of them all.",
    wrong=[
        (value_gradient_mean, "You average"),
        (value_gradient_last_row, "adds its part"),
        (value_gradient_transposed, "transpose"),
        (value_gradient_of_input, "X is missing"),
        (value_gradient_summed_input, "product of two sums"),
        (lambda X, dV: np.zeros((X.shape[1], dV.shape[1])), "differs"),
    ],
)


def states_of(X, W_Q, W_K, W_V):
    Q = linear(X, W_Q)  # (S, d_k)
    K = linear(Q, W_K[: Q.shape[1]])  # (S, d_k)
    V = linear(X, W_V)  # (S, d_k)
    return Q, K, V


def three_projections(X, W_Q, W_K, W_V):
    """The right answer to 4.4."""
    return X @ W_Q, X @ W_K, X @ W_V


def keys_are_queries(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_Q, X @ W_V


def keys_are_values(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_V, X @ W_V


def keys_and_values_swapped(X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_V, X @ W_K


def values_in_a_chain(X, W_Q, W_K, W_V):
    K = X @ W_K  # (S, d_k)
    return X @ W_Q, K, K @ W_V[: K.shape[1]]


def keys_from_part_of_X(X, W_Q, W_K, W_V):
    d_k = W_K.shape[1]
    return X @ W_Q, X[:, :d_k] @ W_K[:d_k], X @ W_V


def draw_projections(rng):
    S, d_k = (int(n) for n in rng.integers(3, 6, size=2))
    d = d_k + int(rng.integers(1, 4))
    return rng.standard_normal((S, d)), *rng.standard_normal((3, d, d_k))


chained = Exercise(
    "4.4",
    "repair",
    "Three views of the same state",
    judge=computes(
        three_projections,
        draw_projections,
        mistakes=[
            (keys_are_queries, "K is now the same as Q: it has its own projection W_K."),
            (keys_are_values, "K is computed with W_V: the same vectors would have to match and to carry content."),
            (keys_and_values_swapped, "K and V are exchanged."),
            (values_in_a_chain, "Now V hangs on K. All three come straight from X."),
            (keys_from_part_of_X, "The keys see only part of X's components. W_K mixes all of them."),
        ],
        what="(Q, K, V)",
    ),
    right="All three read X itself. None waits for another, and they can be computed side by side.",
    wrong=[
        (keys_are_queries, "same as Q"),
        (keys_are_values, "computed with W_V"),
        (keys_and_values_swapped, "exchanged"),
        (values_in_a_chain, "V hangs on K"),
        (keys_from_part_of_X, "part of X"),
        (lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_K), "differs"),
    ],
    broken=states_of,
)
