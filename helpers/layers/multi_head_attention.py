"""Multi-head attention: several heads side by side (notebook 06).

The heads' projections stand side by side in one matrix: columns
``i * d_k`` to ``(i + 1) * d_k - 1`` belong to head i, counted from 0.
Source: document section 6; "Attention Is All You Need", section 3.2.2.
"""

import numpy as np

from helpers.layers.attention import attention, attention_backward
from helpers.layers.query_key_value import (
    linear,
    linear_backward,
    new_projections,
    new_weight,
    project,
    project_backward,
)


def new_multi_head_attention(rng, d, bias=True):
    """Random W_Q, W_K, W_V and W_O, (d, d) each; with ``bias`` also b_Q, b_K, b_V, b_O.

    The biases are zeros of shape (d,).
    """
    parameters = new_projections(rng, d, d, bias) | {"W_O": new_weight(rng, d, d)}
    if bias:
        parameters["b_O"] = np.zeros(d)
    return parameters


def split_heads(X, heads):
    """Give each head its own columns: (..., S, d) to (..., heads, S, d_k), without copying.

    Raises ValueError when heads does not divide d.
    """
    check_heads(X.shape[-1], heads)
    by_head = X.reshape(X.shape[:-1] + (heads, -1))  # (..., S, heads, d_k)
    return by_head.swapaxes(-2, -3)  # (..., heads, S, d_k)


def merge_heads(H):
    """Put the heads' columns side by side again: (..., heads, S, d_k) to (..., S, d)."""
    by_position = H.swapaxes(-2, -3)  # (..., S, heads, d_k)
    return by_position.reshape(by_position.shape[:-2] + (-1,))  # (..., S, d)


def multi_head_attention(parameters, X_q, X_kv, heads, M=None):
    """Attention in several heads; the rows of X_q receive, those of X_kv are read.

    X_q is (..., S_q, d), X_kv (..., S_k, d): the same array in self-attention.
    M is an additive mask, (S_q, S_k) or (..., S_q, S_k), the same for every head.

    States: X, X_kv; by head Q, K, V, scores, A and H, (..., heads, S, d_k) or
    (..., heads, S_q, S_k); H_concat, the heads' outputs side by side, and the
    output O, both (..., S_q, d).

    Raises ValueError when heads does not divide d, for shapes that do not fit,
    and for a row with nothing allowed.
    """
    check_multi_head_shapes(parameters, X_q, X_kv, heads, M)
    states = project(parameters, X_q, X_kv)
    Q, K, V = (split_heads(states[name], heads) for name in "QKV")  # (..., heads, S, d_k)
    M_heads = None if M is None else M[..., None, :, :]  # (..., 1, S_q, S_k)
    states |= attention(Q, K, V, M_heads)
    states["H_concat"] = merge_heads(states["H"])  # (..., S_q, d)
    W_O, b_O = parameters["W_O"], parameters.get("b_O")
    states["O"] = linear(states["H_concat"], W_O, b_O)  # (..., S_q, d)
    return states


def multi_head_attention_backward(parameters, states, dO):
    """Gradients of the parameters, of X_q and of X_kv, from the gradient of O, (..., S_q, d).

    In self-attention the gradient of X is the sum of the last two.
    """
    dH_concat, dW_O, db_O = linear_backward(states["H_concat"], parameters["W_O"], dO)
    heads = states["H"].shape[-3]
    by_head = attention_backward(states, split_heads(dH_concat, heads))
    dQ, dK, dV = (merge_heads(by_head[name]) for name in "QKV")  # (..., S, d)
    gradients, dX_q, dX_kv = project_backward(parameters, states, dQ, dK, dV)
    gradients["W_O"] = dW_O
    if "b_O" in parameters:
        gradients["b_O"] = db_O
    return gradients, dX_q, dX_kv


def check_heads(d, heads):
    """Raise ValueError unless heads is at least 1 and divides d."""
    if heads < 1 or d % heads:
        raise ValueError(f"heads is {heads}; expected a divisor of d = {d}")


def check_multi_head_shapes(parameters, X_q, X_kv, heads, M=None):
    """Raise ValueError that names the argument, its shape and what was expected."""
    d = parameters["W_O"].shape[0]
    check_heads(d, heads)
    for name, X in (("X_q", X_q), ("X_kv", X_kv)):
        if X.ndim < 2 or X.shape[-1] != d or X.shape[-2] == 0:
            raise ValueError(f"multi_head_attention: {name} has shape {X.shape}; expected (..., S, {d}), S at least 1")
    if X_q.shape[:-2] != X_kv.shape[:-2]:
        raise ValueError(
            f"multi_head_attention: X_kv has shape {X_kv.shape}; its leading axes must be those of X_q {X_q.shape}"
        )
    if M is not None:
        target = X_q.shape[:-1] + X_kv.shape[-2:-1]  # (..., S_q, S_k)
        sizes = zip(M.shape[::-1], target[::-1], strict=False)  # the last axes stand opposite each other
        if not 2 <= M.ndim <= len(target) or any(size not in (1, wanted) for size, wanted in sizes):
            raise ValueError(
                f"multi_head_attention: M has shape {M.shape}; it must broadcast to {target}, without an axis for heads"
            )
