"""Position encodings and the sum that enters the first block (notebook 03).

P is (positions, d), one row for each position counted from 0.
Source: document section 3; "Attention Is All You Need", sections 3.4 and 3.5.
"""

import math

import numpy as np


def frequencies(d):
    """Angle per position of each pair of sine and cosine: 10000^(-2 i / d), (ceil(d / 2),).

    Wavelengths are 2 pi / frequencies(d), in positions.
    """
    if d < 1:
        raise ValueError(f"d is {d}; expected at least 1")
    pair = np.arange((d + 1) // 2)  # (ceil(d / 2),)
    return 10000.0 ** (-2 * pair / d)


def sinusoidal_positions(S, d, layout="interleaved"):
    """The paper's fixed positions for S tokens, P of shape (S, d).

    ``layout`` says where the sines and cosines stand: "interleaved" puts the
    pairs side by side (sin, cos, sin, cos, ...), as the paper does;
    "concatenated" puts all sines before all cosines. For an odd d the last
    sine has no cosine beside it.

    Raises ValueError for S or d below 1 and for an unknown layout.
    """
    check_positions(S, layout)
    angles = np.arange(S)[:, None] * frequencies(d)  # (S, ceil(d / 2))
    sines = np.sin(angles)
    cosines = np.cos(angles[:, : d // 2])  # (S, floor(d / 2))
    if layout == "concatenated":
        return np.concatenate([sines, cosines], axis=1)  # (S, d)
    P = np.empty((S, d))
    P[:, 0::2] = sines
    P[:, 1::2] = cosines
    return P


def new_positions(rng, positions, d):
    """A random table P to be learned, (positions, d), standard deviation 0.01 as in GPT-2."""
    return 0.01 * rng.standard_normal((positions, d))  # (positions, d)


def add_positions(X_token, P, scaled=True):
    """The state that enters the first block: X = sqrt(d) X_token + P, (..., S, d).

    Token i gets row i of P; rows of P past S are not used. ``scaled=False``
    leaves the factor sqrt(d) out, as GPT-2 does.

    Raises ValueError when P has another width or fewer than S rows.
    """
    S, d = X_token.shape[-2:]
    check_position_table(S, d, P)
    scale = math.sqrt(d) if scaled else 1.0
    return scale * X_token + P[:S].astype(X_token.dtype, copy=False)  # (..., S, d)


def add_positions_backward(P, dX, scaled=True):
    """Gradients of X_token, (..., S, d), and of the table P, (positions, d), from that of X.

    Every sequence of a batch reads the same P, so its gradient sums over them;
    rows past S get zero. Sinusoids are not trained: drop their gradient.
    """
    S, d = dX.shape[-2:]
    dX_token = math.sqrt(d) * dX if scaled else dX  # (..., S, d)
    dP = np.zeros(P.shape, dX.dtype)  # (positions, d)
    dP[:S] = dX.reshape(-1, S, d).sum(axis=0)
    return dX_token, dP


def check_positions(S, layout):
    """Raise ValueError for a length below 1 or an unknown layout."""
    if S < 1:
        raise ValueError(f"S is {S}; expected at least 1")
    if layout not in ("interleaved", "concatenated"):
        raise ValueError(f'layout is {layout!r}; expected "interleaved" or "concatenated"')


def check_position_table(S, d, P):
    """Raise ValueError unless the table P has d columns and at least S rows."""
    if P.ndim != 2 or P.shape[1] != d:
        raise ValueError(f"P has shape {P.shape}; expected (positions, d) with d = {d}")
    if S > len(P):
        raise ValueError(f"the sequence has S = {S} tokens, but P has shape {P.shape}: only {len(P)} positions")
