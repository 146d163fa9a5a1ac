"""Token embedding as PyTorch has it: nn.Embedding (notebook 02)."""

import torch
from torch import nn

from helpers.reference import gradient, to_arrays


def new_embedding(E, padding_id=None):
    """nn.Embedding that holds a copy of the table E, (N_vocab, d)."""
    return nn.Embedding.from_pretrained(torch.tensor(E), freeze=False, padding_idx=padding_id)


def embed(E, ids, padding_id=None):
    """X_token, (..., S, d), from nn.Embedding."""
    return to_arrays(new_embedding(E, padding_id)(torch.as_tensor(ids)))


def embed_gradient(E, ids, dX_token, padding_id=None):
    """Gradient of E, (N_vocab, d), by autograd through nn.Embedding."""
    module = new_embedding(E, padding_id)
    module(torch.as_tensor(ids)).backward(torch.from_numpy(dX_token))
    return to_arrays(gradient(module.weight))
