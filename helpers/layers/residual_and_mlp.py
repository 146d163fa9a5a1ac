"""Residual sum, layer normalisation, MLP, dropout and the encoder block (notebook 07).

Source: document section 7; "Attention Is All You Need", sections 3.1, 3.3 and
5.4; Ba, Kiros and Hinton, "Layer Normalization".
"""

import numpy as np

from helpers.layers.multi_head_attention import (
    multi_head_attention,
    multi_head_attention_backward,
    new_multi_head_attention,
)
from helpers.layers.query_key_value import linear, linear_backward, new_weight, sum_rows


def new_layer_norm(d):
    """gamma of ones and beta of zeros, (d,) each: at first the normalised row passes unchanged."""
    return {"gamma": np.ones(d), "beta": np.zeros(d)}


def layer_norm(parameters, X, epsilon=1e-5):
    """Shift and scale each row to mean 0 and variance 1, then by gamma and beta: (..., d).

    The variance divides by d, not by d - 1, and epsilon stands inside the root.
    States: std, (..., 1), X_hat and the output Y, (..., d).

    Raises ValueError when gamma or beta is not (d,).
    """
    check_layer_norm_shapes(parameters, X)
    X_hat = X - X.mean(axis=-1, keepdims=True)  # (..., d)
    variance = np.einsum("...d,...d->...", X_hat, X_hat)[..., None] / X.shape[-1]  # (..., 1)
    std = np.sqrt(variance + epsilon)
    X_hat /= std
    Y = X_hat * parameters["gamma"]
    Y += parameters["beta"]
    return {"std": std, "X_hat": X_hat, "Y": Y}


def layer_norm_backward(parameters, states, dY):
    """Gradients of gamma and beta, (d,) each, and of X, (..., d), from the gradient of Y.

    Mean and variance depend on X as well: they take out the part of the
    gradient that only shifts or stretches the row.
    """
    gamma, std, X_hat = parameters["gamma"], states["std"], states["X_hat"]
    d = len(gamma)
    product = dY * X_hat  # (..., d)
    gradients = {"gamma": sum_rows(product), "beta": sum_rows(dY)}  # (d,)
    shift = (dY @ gamma)[..., None] / d  # (..., 1)
    stretch = (product @ gamma)[..., None] / d  # (..., 1)
    dX = dY * gamma  # (..., d)
    dX -= shift
    dX -= np.multiply(X_hat, stretch, out=product)
    dX /= std
    return gradients, dX


def relu(X, out=None):
    """The larger of X and 0, entry by entry; ``out=X`` writes over X and saves a copy."""
    return np.maximum(X, 0, out=out)


def relu_backward(U, dU, out=None):
    """Gradient before the ReLU from its output U: it passes where U is above 0."""
    return np.multiply(dU, U > 0, out=out)


def new_mlp(rng, d, d_ff):
    """Parameters W_1 (d, d_ff), b_1 (d_ff,), W_2 (d_ff, d), b_2 (d,); the biases are zeros."""
    return {
        "W_1": new_weight(rng, d, d_ff),
        "b_1": np.zeros(d_ff),
        "W_2": new_weight(rng, d_ff, d),
        "b_2": np.zeros(d),
    }


def mlp(parameters, Z):
    """Two linear maps with a ReLU between, the same for every row: (..., d) to (..., d).

    States: Z, the hidden U = ReLU(Z W_1 + b_1), (..., d_ff), and the output
    F = U W_2 + b_2, (..., d).
    """
    U = linear(Z, parameters["W_1"], parameters["b_1"])  # (..., d_ff)
    relu(U, out=U)
    F = linear(U, parameters["W_2"], parameters["b_2"])  # (..., d)
    return {"Z": Z, "U": U, "F": F}


def mlp_backward(parameters, states, dF):
    """Gradients of the parameters and of Z, (..., d), from the gradient of F."""
    dU, dW_2, db_2 = linear_backward(states["U"], parameters["W_2"], dF)  # (..., d_ff)
    relu_backward(states["U"], dU, out=dU)
    dZ, dW_1, db_1 = linear_backward(states["Z"], parameters["W_1"], dU)  # (..., d)
    return {"W_1": dW_1, "b_1": db_1, "W_2": dW_2, "b_2": db_2}, dZ


def draw_keep(rng, shape, rate):
    """Which entries dropout keeps: booleans, each False with probability ``rate``."""
    return rng.random(shape, dtype=np.float32) >= rate


def dropout(X, keep, rate):
    """Zero where ``keep`` is False; the rest times 1 / (1 - rate), so that the mean stays.

    A linear map with nothing but a diagonal: its backward is dropout of the
    gradient with the same ``keep``.

    Raises ValueError unless keep has the shape of X and 0 <= rate < 1.
    """
    check_dropout(X, keep, rate)
    Y = X * keep
    Y *= 1 / (1 - rate)
    return Y


def residual(X, update, keep=None, rate=0.0):
    """X + update, equal shapes (..., d); with ``keep`` dropout is applied to the update first.

    Raises ValueError when the shapes differ: broadcasting would hide a mistake.
    """
    check_residual_shapes(X, update)
    return X + (update if keep is None else dropout(update, keep, rate))  # (..., d)


def residual_backward(dY, keep=None, rate=0.0):
    """Gradients of X and of the update from that of their sum: X gets all of it, unchanged."""
    return dY, dY if keep is None else dropout(dY, keep, rate)


def new_encoder_block(rng, d, d_ff):
    """Parameters of one block: attention, norm_1, mlp, norm_2."""
    return {
        "attention": new_multi_head_attention(rng, d),
        "norm_1": new_layer_norm(d),
        "mlp": new_mlp(rng, d, d_ff),
        "norm_2": new_layer_norm(d),
    }


def encoder_block(parameters, X, heads, M=None, norm="post", keep=None, rate=0.0, epsilon=1e-5, mlp=mlp):
    """Attention, then MLP, each with residual sum and layer norm: (..., S, d) to (..., S, d).

    ``norm`` is "post" (normalise the sum, as the paper does) or "pre"
    (normalise what enters attention and MLP, as GPT-2 does). ``keep`` holds
    the dropout masks of the two updates, {"attention": ..., "mlp": ...}, each
    (..., S, d); without it nothing is dropped. ``epsilon`` is that of the layer
    norms. ``mlp`` is the function that computes the MLP: notebook 09 gives one
    with another activation.

    States: X; those of attention, norm_1, mlp and norm_2 under these names;
    Z, the state after the first half, and the output X_new, both (..., S, d).

    Raises ValueError for another norm and as the parts do.
    """
    check_norm(norm)
    keep = keep or {}
    if norm == "post":
        attention = multi_head_attention(parameters["attention"], X, X, heads, M)
        added = residual(X, attention["O"], keep.get("attention"), rate)
        norm_1 = layer_norm(parameters["norm_1"], added, epsilon)
        Z = norm_1["Y"]
        within = mlp(parameters["mlp"], Z)
        added = residual(Z, within["F"], keep.get("mlp"), rate)
        norm_2 = layer_norm(parameters["norm_2"], added, epsilon)
        X_new = norm_2["Y"]
    else:
        norm_1 = layer_norm(parameters["norm_1"], X, epsilon)
        Y = norm_1["Y"]
        attention = multi_head_attention(parameters["attention"], Y, Y, heads, M)
        Z = residual(X, attention["O"], keep.get("attention"), rate)
        norm_2 = layer_norm(parameters["norm_2"], Z, epsilon)
        within = mlp(parameters["mlp"], norm_2["Y"])
        X_new = residual(Z, within["F"], keep.get("mlp"), rate)
    return {"X": X, "attention": attention, "norm_1": norm_1, "Z": Z, "mlp": within, "norm_2": norm_2, "X_new": X_new}


def encoder_block_backward(parameters, states, dX_new, norm="post", keep=None, rate=0.0, mlp_backward=mlp_backward):
    """Gradients of the parameters and of X, (..., S, d), from the gradient of X_new.

    ``norm``, ``keep`` and ``rate`` are those of the forward pass, ``mlp_backward``
    belongs to its ``mlp``.
    """
    check_norm(norm)
    keep = keep or {}
    if norm == "post":
        norm_2, dsum = layer_norm_backward(parameters["norm_2"], states["norm_2"], dX_new)
        dZ, dF = residual_backward(dsum, keep.get("mlp"), rate)
        within, dZ_mlp = mlp_backward(parameters["mlp"], states["mlp"], dF)
        norm_1, dsum = layer_norm_backward(parameters["norm_1"], states["norm_1"], dZ + dZ_mlp)
        dX, dO = residual_backward(dsum, keep.get("attention"), rate)
        attention, dX_q, dX_kv = multi_head_attention_backward(parameters["attention"], states["attention"], dO)
        dX = dX + dX_q + dX_kv  # (..., S, d)
    else:
        dZ, dF = residual_backward(dX_new, keep.get("mlp"), rate)
        within, dY = mlp_backward(parameters["mlp"], states["mlp"], dF)
        norm_2, dZ_norm = layer_norm_backward(parameters["norm_2"], states["norm_2"], dY)
        dX, dO = residual_backward(dZ + dZ_norm, keep.get("attention"), rate)
        attention, dX_q, dX_kv = multi_head_attention_backward(parameters["attention"], states["attention"], dO)
        norm_1, dX_norm = layer_norm_backward(parameters["norm_1"], states["norm_1"], dX_q + dX_kv)
        dX = dX + dX_norm  # (..., S, d)
    return {"attention": attention, "norm_1": norm_1, "mlp": within, "norm_2": norm_2}, dX


def check_layer_norm_shapes(parameters, X):
    """Raise ValueError unless gamma and beta have one entry for each column of X."""
    for name in ("gamma", "beta"):
        if parameters[name].shape != X.shape[-1:]:
            shape = parameters[name].shape
            raise ValueError(f"layer_norm: {name} has shape {shape}; expected {X.shape[-1:]}, as X has shape {X.shape}")


def check_dropout(X, keep, rate):
    """Raise ValueError that names the argument and what was expected."""
    if not 0 <= rate < 1:
        raise ValueError(f"dropout: rate is {rate}; expected 0 <= rate < 1")
    if keep.shape != X.shape:
        raise ValueError(f"dropout: keep has shape {keep.shape}; expected {X.shape}, the shape of what it drops from")


def check_residual_shapes(X, update):
    """Raise ValueError unless both have the same shape."""
    if X.shape != update.shape:
        raise ValueError(f"residual: update has shape {update.shape}; expected {X.shape}, the shape of X")


def check_norm(norm):
    """Raise ValueError unless norm is "post" or "pre"."""
    if norm not in ("post", "pre"):
        raise ValueError(f'norm is {norm!r}; expected "post" or "pre"')
