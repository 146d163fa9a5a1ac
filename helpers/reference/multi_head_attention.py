"""Multi-head attention as PyTorch has it: nn.MultiheadAttention (notebook 06).

torch stacks the transposed W_Q, W_K and W_V in one in_proj_weight, (3 d, d),
and averages the heads' weights unless told not to.
"""

import numpy as np
import torch
from torch import nn

from helpers.reference import fill, gradient, leaf, to_arrays, value
from helpers.reference.attention import boolean_mask
from helpers.reference.query_key_value import linear_nest


def new_multi_head_attention(parameters, heads):
    """nn.MultiheadAttention with a copy of our parameters."""
    W_O = parameters["W_O"]
    module = nn.MultiheadAttention(
        len(W_O), heads, bias="b_O" in parameters, batch_first=True, dtype=torch.from_numpy(W_O).dtype
    )
    fill(multi_head_nest(module), parameters)
    return module


def multi_head_nest(module, part=value):
    """The parameters of an nn.MultiheadAttention in our names and layout."""
    weights = part(module.in_proj_weight).chunk(3)  # (d, d) each
    nest = {f"W_{name}": W.T for name, W in zip("QKV", weights, strict=True)}
    if module.in_proj_bias is not None:
        nest |= {f"b_{name}": b for name, b in zip("QKV", part(module.in_proj_bias).chunk(3), strict=True)}
    return nest | {f"{letter}_O": tensor for letter, tensor in linear_nest(module.out_proj, part).items()}


def multi_head_mask(M, X_q, X_kv, heads):
    """M as nn.MultiheadAttention wants it for a batch: (batch * heads, S_q, S_k), True where forbidden."""
    if M is None:
        return None
    every = np.broadcast_to(M, X_q.shape[:-1] + X_kv.shape[-2:-1])  # (..., S_q, S_k)
    batch = every.reshape((-1,) + every.shape[-2:])  # (batch, S_q, S_k)
    return boolean_mask(batch.repeat(heads, axis=0), true_means="forbidden")


def multi_head_attention(parameters, X_q, X_kv, heads, M=None):
    """{"A", "O"}: the weights of every head, (..., heads, S_q, S_k), and the output, (..., S_q, d)."""
    output, A = _run(new_multi_head_attention(parameters, heads), leaf(X_q), leaf(X_kv), M)
    return to_arrays({"A": A, "O": output})


def multi_head_attention_gradients(parameters, X_q, X_kv, heads, dO, M=None):
    """Gradients of the parameters, of X_q and of X_kv by autograd."""
    X_q, X_kv, module = leaf(X_q), leaf(X_kv), new_multi_head_attention(parameters, heads)
    output, _ = _run(module, X_q, X_kv, M)
    output.backward(torch.from_numpy(dO))
    return to_arrays(multi_head_nest(module, gradient)), to_arrays(gradient(X_q)), to_arrays(gradient(X_kv))


def _run(module, X_q, X_kv, M):
    """Output and weights; nn.MultiheadAttention takes one batch axis, so leading axes become one and return."""
    q, kv = (X.reshape((-1,) + X.shape[-2:]) for X in (X_q, X_kv))  # (batch, S, d)
    mask = multi_head_mask(M, X_q, X_kv, module.num_heads)
    output, weights = module(q, kv, kv, attn_mask=mask, average_attn_weights=False)
    return output.reshape(X_q.shape), weights.reshape(X_q.shape[:-2] + weights.shape[1:])
