"""Linear maps as PyTorch has them: nn.Linear, whose weight is (n_out, n_in) (notebook 04)."""

import torch
from torch import nn

from helpers.reference import fill, gradient, leaf, to_arrays, value


def new_linear(W, b=None):
    """nn.Linear with a copy of W, (n_in, n_out), transposed, and of b."""
    module = nn.Linear(*W.shape, bias=b is not None, dtype=torch.from_numpy(W).dtype)
    fill(linear_nest(module), {"W": W} if b is None else {"W": W, "b": b})
    return module


def linear_nest(module, part=value):
    """W, (n_in, n_out), and b of an nn.Linear."""
    nest = {"W": part(module.weight).T}
    if module.bias is not None:
        nest["b"] = part(module.bias)
    return nest


def linear(X, W, b=None):
    """X W + b, (..., n_out), from nn.Linear."""
    return to_arrays(new_linear(W, b)(torch.from_numpy(X)))


def linear_gradients(X, W, b, dY):
    """Gradients of X, W and b by autograd; without b, None in its place."""
    X, module = leaf(X), new_linear(W, b)
    module(X).backward(torch.from_numpy(dY))
    gradients = to_arrays(linear_nest(module, gradient))
    return to_arrays(gradient(X)), gradients["W"], gradients.get("b")


def new_projections(parameters):
    """One nn.Linear for each of Q, K and V."""
    return {name: new_linear(parameters[f"W_{name}"], parameters.get(f"b_{name}")) for name in "QKV"}


def project(parameters, X):
    """{"Q", "K", "V"}, (..., S, d_k) each, from three nn.Linear."""
    return {name: to_arrays(module(torch.from_numpy(X))) for name, module in new_projections(parameters).items()}


def project_gradients(parameters, X, dQ, dK, dV):
    """Gradients of the parameters and of X by autograd."""
    X, modules = leaf(X), new_projections(parameters)
    for name, dY in zip("QKV", (dQ, dK, dV), strict=True):
        modules[name](X).backward(torch.from_numpy(dY))
    nests = {name: linear_nest(module, gradient) for name, module in modules.items()}
    gradients = {f"{letter}_{name}": tensor for name, nest in nests.items() for letter, tensor in nest.items()}
    return to_arrays(gradients), to_arrays(gradient(X))
