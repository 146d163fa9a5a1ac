"""LayerNorm, MLP, dropout and the encoder block as PyTorch has them (notebook 07)."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.reference import fill, gradient, leaf, to_arrays, value
from helpers.reference.multi_head_attention import multi_head_mask, multi_head_nest
from helpers.reference.query_key_value import linear_nest


def norm_nest(module, part=value):
    """gamma and beta of an nn.LayerNorm."""
    return {"gamma": part(module.weight), "beta": part(module.bias)}


def new_layer_norm(parameters, epsilon=1e-5):
    """nn.LayerNorm with a copy of gamma and beta."""
    gamma = parameters["gamma"]
    module = nn.LayerNorm(gamma.shape, eps=epsilon, dtype=torch.from_numpy(gamma).dtype)
    fill(norm_nest(module), parameters)
    return module


def layer_norm(parameters, X, epsilon=1e-5):
    """Y, (..., d), from nn.LayerNorm."""
    return to_arrays(new_layer_norm(parameters, epsilon)(torch.from_numpy(X)))


def layer_norm_gradients(parameters, X, dY, epsilon=1e-5):
    """Gradients of gamma and beta and of X by autograd."""
    X, module = leaf(X), new_layer_norm(parameters, epsilon)
    module(X).backward(torch.from_numpy(dY))
    return to_arrays(norm_nest(module, gradient)), to_arrays(gradient(X))


def mlp_nest(first, second, part=value):
    """W_1, b_1, W_2 and b_2 of two nn.Linear."""
    pairs = ((1, linear_nest(first, part)), (2, linear_nest(second, part)))
    return {f"{letter}_{i}": tensor for i, nest in pairs for letter, tensor in nest.items()}


def new_mlp(parameters):
    """nn.Sequential of nn.Linear, nn.ReLU and nn.Linear with a copy of our parameters."""
    W_1 = parameters["W_1"]
    d, d_ff = W_1.shape
    dtype = torch.from_numpy(W_1).dtype
    module = nn.Sequential(nn.Linear(d, d_ff, dtype=dtype), nn.ReLU(), nn.Linear(d_ff, d, dtype=dtype))
    fill(mlp_nest(module[0], module[2]), parameters)
    return module


def mlp(parameters, Z):
    """F, (..., d), from nn.Linear, nn.ReLU and nn.Linear."""
    return to_arrays(new_mlp(parameters)(torch.from_numpy(Z)))


def mlp_gradients(parameters, Z, dF):
    """Gradients of the parameters and of Z by autograd."""
    Z, module = leaf(Z), new_mlp(parameters)
    module(Z).backward(torch.from_numpy(dF))
    return to_arrays(mlp_nest(module[0], module[2], gradient)), to_arrays(gradient(Z))


def dropout(X, rate, seed=0):
    """Y = F.dropout(X) and the mask of what torch kept, both in the shape of X."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        Y = F.dropout(torch.from_numpy(X), rate)
        torch.manual_seed(seed)
        keep = F.dropout(torch.ones(X.shape, dtype=Y.dtype), rate) != 0
    return Y.numpy(), keep.numpy()


class GivenDropout(nn.Module):
    """Dropout whose mask is given, to put into a torch layer in place of nn.Dropout."""

    def __init__(self, keep, rate):
        super().__init__()
        self.keep, self.rate = torch.from_numpy(keep), rate

    def forward(self, X):
        return torch.where(self.keep.reshape(X.shape), X / (1 - self.rate), 0)


def encoder_nest(layer, part=value):
    """The parameters of an nn.TransformerEncoderLayer in our names and layout."""
    return {
        "attention": multi_head_nest(layer.self_attn, part),
        "norm_1": norm_nest(layer.norm1, part),
        "mlp": mlp_nest(layer.linear1, layer.linear2, part),
        "norm_2": norm_nest(layer.norm2, part),
    }


def new_encoder_block(parameters, heads, norm="post", keep=None, rate=0.0):
    """nn.TransformerEncoderLayer with a copy of our parameters and our dropout masks.

    It stays in training mode with its own dropout at 0, so that torch never
    takes the fast path of evaluation.
    """
    W_1 = parameters["mlp"]["W_1"]
    dtype = torch.from_numpy(W_1).dtype
    layer = nn.TransformerEncoderLayer(
        *(len(W_1), heads, W_1.shape[1]), dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=dtype
    )
    fill(encoder_nest(layer), parameters)
    for name, dropout_name in (("attention", "dropout1"), ("mlp", "dropout2")):
        if keep and name in keep:
            setattr(layer, dropout_name, GivenDropout(keep[name], rate))
    return layer


def encoder_block(parameters, X, heads, M=None, norm="post", keep=None, rate=0.0):
    """X_new, (..., S, d), from nn.TransformerEncoderLayer."""
    layer = new_encoder_block(parameters, heads, norm, keep, rate)
    return to_arrays(_run(layer, torch.from_numpy(X), heads, M))


def encoder_block_gradients(parameters, X, heads, dX_new, M=None, norm="post", keep=None, rate=0.0):
    """Gradients of the parameters and of X by autograd."""
    X, layer = leaf(X), new_encoder_block(parameters, heads, norm, keep, rate)
    _run(layer, X, heads, M).backward(torch.from_numpy(dX_new))
    return to_arrays(encoder_nest(layer, gradient)), to_arrays(gradient(X))


def _run(layer, X, heads, M):
    """The layer's output; it takes one batch axis, so leading axes become one and return."""
    batch = X.reshape((-1,) + X.shape[-2:])  # (batch, S, d)
    return layer(batch, src_mask=multi_head_mask(M, X, X, heads)).reshape(X.shape)
