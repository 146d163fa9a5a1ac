"""Scaled dot-product attention as PyTorch has it (notebook 05).

Masks: the course has one convention, an additive M with 0 and -inf. torch's
APIs take booleans and disagree about what True means:

    F.scaled_dot_product_attention   attn_mask         True = allowed
    nn.MultiheadAttention            attn_mask         True = forbidden
    nn.Transformer...Layer           key_padding_mask  True = forbidden

``boolean_mask`` is the one place where the course turns M into a boolean.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F


def boolean_mask(M, true_means):
    """The additive mask M as a boolean tensor of the same shape.

    ``true_means`` is "allowed" or "forbidden", whatever the torch function that
    receives the result calls True. M holds only 0 and -inf; anything else raises
    ValueError, because a boolean would lose it.
    """
    M = np.asarray(M)
    forbidden = np.isneginf(M)
    if not (forbidden | (M == 0)).all():
        raise ValueError("boolean_mask: M must hold only 0 and -inf")
    if true_means not in ("allowed", "forbidden"):
        raise ValueError(f"boolean_mask: true_means must be 'allowed' or 'forbidden', got {true_means!r}")
    return torch.from_numpy(forbidden if true_means == "forbidden" else ~forbidden)


def attention(Q, K, V, M=None):
    """H from F.scaled_dot_product_attention. Arrays in, array out, (..., S_q, d_v)."""
    mask = None if M is None else boolean_mask(M, true_means="allowed")
    H = F.scaled_dot_product_attention(*(torch.from_numpy(a) for a in (Q, K, V)), attn_mask=mask)
    return H.numpy()


def attention_gradients(Q, K, V, dH, M=None):
    """Gradients of Q, K, V by autograd through F.scaled_dot_product_attention.

    dH is the gradient of the output, (..., S_q, d_v). Returns {"Q", "K", "V"}.
    """
    q, k, v = (torch.from_numpy(a).clone().requires_grad_() for a in (Q, K, V))
    mask = None if M is None else boolean_mask(M, true_means="allowed")
    H = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    H.backward(torch.from_numpy(dH))
    return {"Q": q.grad.numpy(), "K": k.grad.numpy(), "V": v.grad.numpy()}


def attention_formula(Q, K, V, M=None):
    """The formula in plain torch, for the weights, which the fused function hides.

    Returns {"scores", "A", "H"}; scores are scaled and not yet masked.
    """
    q, k, v = (torch.from_numpy(a) for a in (Q, K, V))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    masked = scores if M is None else scores + torch.from_numpy(np.asarray(M)).to(scores.dtype)
    A = torch.softmax(masked, dim=-1)
    return {"scores": scores.numpy(), "A": A.numpy(), "H": (A @ v).numpy()}
