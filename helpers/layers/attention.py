"""Masks, row softmax and scaled dot-product attention (notebook 05).

Arrays are (..., S, d): leading axes (batch, heads) broadcast. ``S_q`` rows
receive, ``S_k`` rows are read; in self-attention the two are equal.
Source: document section 5; "Attention Is All You Need", section 3.2.1.
"""

import math

import numpy as np


def no_mask(S_q, S_k=None):
    """Mask that allows everything: zeros of shape (S_q, S_k); S_k defaults to S_q."""
    S_k = S_q if S_k is None else S_k
    return np.zeros((S_q, S_k))  # (S_q, S_k)


def causal_mask(S_q, S_k=None):
    """Mask that lets a position read itself and what stands before it.

    Shape (S_q, S_k), 0 where reading is allowed, -inf where not. With S_k
    larger than S_q the rows are the last S_q of S_k positions, as when
    earlier positions come from a cache.

    Raises ValueError when S_q is larger than S_k: the first rows would have
    nothing to read.
    """
    S_k = S_q if S_k is None else S_k
    if S_q > S_k:
        raise ValueError(f"causal_mask: S_q = {S_q} rows cannot be the last of S_k = {S_k} positions")
    receiving = np.arange(S_k - S_q, S_k)[:, None]  # (S_q, 1)
    source = np.arange(S_k)[None, :]  # (1, S_k)
    return np.where(source <= receiving, 0.0, -np.inf)  # (S_q, S_k)


def padding_mask(lengths, S_k):
    """Mask that forbids reading the padding after the first ``lengths`` positions.

    ``lengths`` is one length or an array of shape (...); the result is
    (..., 1, S_k), so that it holds for every receiving row.

    Raises ValueError for a length below 1 (a row with nothing to read) or
    above S_k.
    """
    lengths = np.asarray(lengths)
    if lengths.size and (lengths.min() < 1 or lengths.max() > S_k):
        raise ValueError(f"padding_mask: lengths must lie in 1..{S_k}, got {lengths.tolist()}")
    source = np.arange(S_k)  # (S_k,)
    forbidden = source >= lengths[..., None]  # (..., S_k)
    return np.where(forbidden, -np.inf, 0.0)[..., None, :]  # (..., 1, S_k)


def softmax(scores):
    """Softmax over the last axis: (..., S_k) to weights of the same shape.

    Stable for large scores; -inf gives a weight of exactly zero.

    Raises ValueError naming the first row in which every score is -inf, and
    for NaN or +inf.
    """
    # with an initial value NumPy takes the maximum of many short rows several times faster
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)  # (..., 1)
    if not np.isfinite(top).all():
        row = tuple(int(i) for i in np.argwhere(~np.isfinite(top[..., 0]))[0])
        value = float(top[row + (0,)])
        reason = "every source position is masked" if value == -np.inf else f"the largest score is {value}"
        raise ValueError(f"softmax: row {row} has no valid weights: {reason}")
    # the maximum cancels in the quotient and keeps exp from overflowing
    weights = scores - top  # (..., S_k)
    np.exp(weights, out=weights)
    # einsum gives the sum of each row too, several times faster than weights.sum
    weights /= np.einsum("...k->...", weights)[..., None]
    return weights


def softmax_backward(A, dA):
    """Gradient of the scores from the weights A and their gradient, both (..., S_k)."""
    dscores = dA - np.einsum("...k,...k->...", dA, A)[..., None]  # (..., S_k)
    dscores *= A
    return dscores


def attention(Q, K, V, M=None, scaled=True):
    """Scaled dot-product attention; returns the states.

    Q is (..., S_q, d_k), K (..., S_k, d_k), V (..., S_k, d_v); M is an additive
    mask that broadcasts to (..., S_q, S_k). States: Q, K, V, scores (before the
    mask) and A, both (..., S_q, S_k), and the output H, (..., S_q, d_v).

    Raises ValueError for shapes that do not fit and for a row with nothing
    allowed.
    """
    check_attention_shapes(Q, K, V, M)
    scores = Q @ K.swapaxes(-1, -2)  # (..., S_q, S_k)
    if scaled:
        scores *= 1 / math.sqrt(Q.shape[-1])
    masked = scores if M is None else scores + M.astype(scores.dtype, copy=False)
    A = softmax(masked)  # (..., S_q, S_k)
    H = A @ V  # (..., S_q, d_v)
    return {"Q": Q, "K": K, "V": V, "scores": scores, "A": A, "H": H}


def attention_backward(states, dH, scaled=True):
    """Gradients of Q, K and V from the gradient dH of the output, (..., S_q, d_v).

    The mask needs no term of its own: where it forbids, A is zero.
    """
    Q, K, V, A = states["Q"], states["K"], states["V"], states["A"]
    dA = dH @ V.swapaxes(-1, -2)  # (..., S_q, S_k)
    dV = A.swapaxes(-1, -2) @ dH  # (..., S_k, d_v)
    dscores = softmax_backward(A, dA)  # (..., S_q, S_k)
    if scaled:
        dscores *= 1 / math.sqrt(Q.shape[-1])
    dQ = dscores @ K  # (..., S_q, d_k)
    dK = dscores.swapaxes(-1, -2) @ Q  # (..., S_k, d_k)
    return {"Q": dQ, "K": dK, "V": dV}


def check_attention_shapes(Q, K, V, M=None):
    """Raise ValueError that names the argument, its shape and what was expected."""
    for name, array in (("Q", Q), ("K", K), ("V", V)):
        if array.ndim < 2 or 0 in array.shape:
            raise ValueError(f"attention: {name} has shape {array.shape}; expected (..., S, d_k) with no empty axis")
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(f"attention: K has shape {K.shape}; expected d_k = {Q.shape[-1]} columns, as in Q {Q.shape}")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(f"attention: V has shape {V.shape}; expected S_k = {K.shape[-2]} rows, as in K {K.shape}")
    if M is not None:
        target = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2]) + (Q.shape[-2], K.shape[-2])
        try:
            fits = np.broadcast_shapes(M.shape, target) == target
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"attention: M has shape {M.shape}; it must broadcast to {target}")
