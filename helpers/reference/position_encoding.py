"""Position encodings computed in torch, and the sum with the tokens (notebook 03)."""

import math

import torch
from torch import nn

from helpers.reference import gradient, leaf, to_arrays


def sinusoidal_positions(S, d, layout="interleaved"):
    """P, (S, d): the real and imaginary part of a number that turns on the unit circle, a speed for each pair."""
    pair = torch.arange(0, d, 2, dtype=torch.float64)
    speed = torch.exp(-math.log(10000.0) * pair / d)  # (ceil(d / 2),)
    angle = torch.outer(torch.arange(S, dtype=torch.float64), speed)  # (S, ceil(d / 2))
    turning = torch.polar(torch.ones_like(angle), angle)
    parts = [turning.imag, turning.real]
    P = torch.stack(parts, dim=-1).flatten(1) if layout == "interleaved" else torch.cat(parts, dim=1)
    return to_arrays(P[:, :d])  # for an odd d one cosine is too many


def add_positions(X_token, P, scaled=True):
    """X = sqrt(d) X_token + P, (..., S, d), where nn.Embedding looks the positions up."""
    X_token, table = leaf(X_token), nn.Embedding.from_pretrained(torch.tensor(P), freeze=False)
    return to_arrays(_add(X_token, table, scaled))


def add_positions_gradients(X_token, P, dX, scaled=True):
    """Gradients of X_token, (..., S, d), and of the table P by autograd."""
    X_token, table = leaf(X_token), nn.Embedding.from_pretrained(torch.tensor(P), freeze=False)
    _add(X_token, table, scaled).backward(torch.from_numpy(dX))
    return to_arrays(gradient(X_token)), to_arrays(gradient(table.weight))


def _add(X_token, table, scaled):
    S, d = X_token.shape[-2:]
    return (math.sqrt(d) if scaled else 1.0) * X_token + table(torch.arange(S))
