"""GPT-2 built from the parts that PyTorch has (notebook 09)."""

import torch
from torch import nn

from helpers.reference import fill, gradient, leaf, to_arrays, value
from helpers.reference.residual_and_mlp import encoder_nest, norm_nest


def gelu(T):
    """nn.GELU in its form with tanh, or exact: entry by entry."""
    return nn.GELU(approximate="tanh")(torch.from_numpy(T)).numpy()


def gelu_gradient(T, dU):
    """Gradient of T by autograd through nn.GELU."""
    T = leaf(T)
    nn.GELU(approximate="tanh")(T).backward(torch.from_numpy(dU))
    return to_arrays(gradient(T))


class GPT2(nn.Module):
    """Two nn.Embedding, nn.TransformerEncoderLayer in pre-norm form with nn.GELU, nn.LayerNorm.

    The output scores use the table of the token embedding.
    """

    def __init__(self, N_vocab, positions, d, heads, d_ff, blocks, epsilon=1e-5, dtype=torch.float64):
        super().__init__()
        self.tokens = nn.Embedding(N_vocab, d, dtype=dtype)
        self.positions = nn.Embedding(positions, d, dtype=dtype)
        layers = (
            nn.TransformerEncoderLayer(
                *(d, heads, d_ff),
                dropout=0.0,
                activation=nn.GELU(approximate="tanh"),
                layer_norm_eps=epsilon,
                batch_first=True,
                norm_first=True,
                dtype=dtype,
            )
            for _ in range(blocks)
        )
        self.blocks = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d, eps=epsilon, dtype=dtype)

    def forward(self, ids):
        """D and logits for ids of shape (batch, S)."""
        S = ids.shape[-1]
        X = self.tokens(ids) + self.positions(torch.arange(S))
        future = torch.ones(S, S, dtype=torch.bool).triu(1)  # True = forbidden
        for block in self.blocks:
            X = block(X, src_mask=future)
        D = self.norm(X)
        return D, D @ self.tokens.weight.T


def gpt2_nest(model, part=value):
    """The parameters of a `GPT2` in our names and layout."""
    return {
        "E": part(model.tokens.weight),
        "P": part(model.positions.weight),
        "blocks": [encoder_nest(layer, part) for layer in model.blocks],
        "norm": norm_nest(model.norm, part),
    }


def new_gpt2(parameters, heads, epsilon=1e-5):
    """`GPT2` with a copy of our parameters."""
    N_vocab, d = parameters["E"].shape
    positions, blocks = len(parameters["P"]), parameters["blocks"]
    d_ff = blocks[0]["mlp"]["W_1"].shape[1]
    dtype = torch.from_numpy(parameters["E"]).dtype
    model = GPT2(N_vocab, positions, d, heads, d_ff, len(blocks), epsilon, dtype)
    fill(gpt2_nest(model), parameters)
    return model


def gpt2(parameters, ids, heads, epsilon=1e-5):
    """{"D", "logits"}; ids are (batch, S)."""
    D, logits = new_gpt2(parameters, heads, epsilon)(torch.from_numpy(ids))
    return to_arrays({"D": D, "logits": logits})


def gpt2_gradients(parameters, ids, heads, dlogits, epsilon=1e-5):
    """Gradients of all parameters by autograd, from the gradient of the logits."""
    model = new_gpt2(parameters, heads, epsilon)
    _, logits = model(torch.from_numpy(ids))
    logits.backward(torch.from_numpy(dlogits))
    return to_arrays(gpt2_nest(model, gradient))
