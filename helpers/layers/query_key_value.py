"""Linear maps, and the projections to queries, keys and values (notebook 04).

A weight is (n_in, n_out) and is applied from the right: Y = X W + b.
Source: document section 4; "Attention Is All You Need", section 3.2.2.
"""

import math

import numpy as np


def new_weight(rng, n_in, n_out):
    """A random weight, (n_in, n_out): uniform within sqrt(6 / (n_in + n_out)), after Glorot."""
    bound = math.sqrt(6 / (n_in + n_out))
    return rng.uniform(-bound, bound, (n_in, n_out))  # (n_in, n_out)


def new_projections(rng, d, d_k, bias=False):
    """W_Q, W_K and W_V, (d, d_k) each; with ``bias`` also b_Q, b_K and b_V, (d_k,) zeros."""
    parameters = {name: new_weight(rng, d, d_k) for name in ("W_Q", "W_K", "W_V")}
    if bias:
        parameters |= {name: np.zeros(d_k) for name in ("b_Q", "b_K", "b_V")}
    return parameters


def linear(X, W, b=None):
    """X W + b, the same map for every row: (..., n_in) to (..., n_out).

    Raises ValueError when W is not (n_in, n_out) or b is not (n_out,).
    """
    check_linear_shapes(X, W, b)
    Y = X.reshape(-1, X.shape[-1]) @ W  # (rows, n_out)
    if b is not None:
        Y += b
    return Y.reshape(X.shape[:-1] + Y.shape[-1:])  # (..., n_out)


def linear_backward(X, W, dY):
    """Gradients of X, W and b from that of Y: dX (..., n_in), dW (n_in, n_out), db (n_out,).

    W and b serve every row, so their gradients sum over the rows.
    """
    X_rows = X.reshape(-1, X.shape[-1])  # (rows, n_in)
    dY_rows = dY.reshape(-1, dY.shape[-1])  # (rows, n_out)
    dX = (dY_rows @ W.T).reshape(X.shape)  # (..., n_in)
    dW = X_rows.T @ dY_rows  # (n_in, n_out)
    db = sum_rows(dY_rows)  # (n_out,)
    return dX, dW, db


def sum_rows(X):
    """Sum over all rows: (..., n) to (n,). A row of ones times the rows is faster than X.sum."""
    rows = X.reshape(-1, X.shape[-1])  # (rows, n)
    return np.ones(len(rows), X.dtype) @ rows  # (n,)


def project(parameters, X, X_kv=None):
    """Queries, keys and values: states X, X_kv, Q, K and V, the last three (..., S, d_k).

    Keys and values come from the same X as the queries, unless another
    sequence X_kv is given to read from (cross-attention).
    """
    X_kv = X if X_kv is None else X_kv
    Q = linear(X, parameters["W_Q"], parameters.get("b_Q"))  # (..., S, d_k)
    K = linear(X_kv, parameters["W_K"], parameters.get("b_K"))  # (..., S_kv, d_k)
    V = linear(X_kv, parameters["W_V"], parameters.get("b_V"))  # (..., S_kv, d_k)
    return {"X": X, "X_kv": X_kv, "Q": Q, "K": K, "V": V}


def project_backward(parameters, states, dQ, dK, dV):
    """Gradients of the parameters, of X and of X_kv, from those of Q, K and V.

    Where X_kv is X itself, the gradient of X is the sum of the two.
    """
    X, X_kv = states["X"], states["X_kv"]
    dX, dW_Q, db_Q = linear_backward(X, parameters["W_Q"], dQ)
    dX_kv, dW_K, db_K = linear_backward(X_kv, parameters["W_K"], dK)
    dX_v, dW_V, db_V = linear_backward(X_kv, parameters["W_V"], dV)
    dX_kv += dX_v
    gradients = {"W_Q": dW_Q, "W_K": dW_K, "W_V": dW_V, "b_Q": db_Q, "b_K": db_K, "b_V": db_V}
    return {name: gradients[name] for name in gradients if name in parameters}, dX, dX_kv


def check_linear_shapes(X, W, b=None):
    """Raise ValueError that names the argument, its shape and what was expected."""
    if W.ndim != 2 or W.shape[0] != X.shape[-1]:
        raise ValueError(f"linear: W has shape {W.shape}; expected ({X.shape[-1]}, n_out), as X has shape {X.shape}")
    if b is not None and b.shape != W.shape[1:]:
        raise ValueError(f"linear: b has shape {b.shape}; expected {W.shape[1:]}, as W has shape {W.shape}")
