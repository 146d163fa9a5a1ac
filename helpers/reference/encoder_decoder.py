"""Decoder block and whole model as PyTorch has them (notebook 08).

nn.Transformer has no embeddings and no output layer; `Transformer` puts both
around it, with one shared table. It also ends each stack with a layer norm that
the paper does not have: here the norm is there exactly when our parameters hold
"encoder_norm" and "decoder_norm".
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.layers.attention import causal_mask, padding_mask
from helpers.layers.position_encoding import sinusoidal_positions
from helpers.reference import fill, gradient, leaf, to_arrays, value
from helpers.reference.attention import boolean_mask
from helpers.reference.multi_head_attention import multi_head_mask, multi_head_nest
from helpers.reference.residual_and_mlp import GivenDropout, encoder_nest, mlp_nest, norm_nest


def decoder_nest(layer, part=value):
    """The parameters of an nn.TransformerDecoderLayer in our names and layout."""
    return {
        "self_attention": multi_head_nest(layer.self_attn, part),
        "norm_1": norm_nest(layer.norm1, part),
        "cross_attention": multi_head_nest(layer.multihead_attn, part),
        "norm_2": norm_nest(layer.norm2, part),
        "mlp": mlp_nest(layer.linear1, layer.linear2, part),
        "norm_3": norm_nest(layer.norm3, part),
    }


def new_decoder_block(parameters, heads, norm="post", keep=None, rate=0.0):
    """nn.TransformerDecoderLayer with a copy of our parameters and our dropout masks."""
    W_1 = parameters["mlp"]["W_1"]
    dtype = torch.from_numpy(W_1).dtype
    layer = nn.TransformerDecoderLayer(
        *(len(W_1), heads, W_1.shape[1]), dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=dtype
    )
    fill(decoder_nest(layer), parameters)
    give_dropout(layer, ("self_attention", "cross_attention", "mlp"), keep, rate)
    return layer


def give_dropout(layer, names, keep, rate):
    """Put our dropout masks into the layer: names in the order of torch's dropout1, dropout2, ..."""
    for i, name in enumerate(names, start=1):
        if keep and name in keep:
            setattr(layer, f"dropout{i}", GivenDropout(keep[name], rate))


def decoder_block(parameters, X, C, heads, M_tgt, M_src=None, norm="post", keep=None, rate=0.0):
    """X_new, (..., S_tgt, d), from nn.TransformerDecoderLayer."""
    layer = new_decoder_block(parameters, heads, norm, keep, rate)
    return to_arrays(_run(layer, torch.from_numpy(X), torch.from_numpy(C), heads, M_tgt, M_src))


def decoder_block_gradients(parameters, X, C, heads, dX_new, M_tgt, M_src=None, norm="post", keep=None, rate=0.0):
    """Gradients of the parameters, of X and of C by autograd."""
    X, C, layer = leaf(X), leaf(C), new_decoder_block(parameters, heads, norm, keep, rate)
    _run(layer, X, C, heads, M_tgt, M_src).backward(torch.from_numpy(dX_new))
    return to_arrays(decoder_nest(layer, gradient)), to_arrays(gradient(X)), to_arrays(gradient(C))


def _run(layer, X, C, heads, M_tgt, M_src):
    """The layer's output; it takes one batch axis, so leading axes become one and return."""
    tgt, memory = (T.reshape((-1,) + T.shape[-2:]) for T in (X, C))  # (batch, S, d)
    masks = multi_head_mask(M_tgt, X, X, heads), multi_head_mask(M_src, X, C, heads)
    return layer(tgt, memory, tgt_mask=masks[0], memory_mask=masks[1]).reshape(X.shape)


class Transformer(nn.Module):
    """nn.Transformer between embeddings and output scores that share one table E."""

    def __init__(self, N_vocab, d, heads, d_ff, blocks, norm="post", final_norms=False, dtype=torch.float64):
        super().__init__()
        self.E = nn.Parameter(torch.randn(N_vocab, d, dtype=dtype) / math.sqrt(d))
        self.dropouts = nn.ModuleDict({"X_src": nn.Identity(), "X_tgt": nn.Identity()})
        self.body = nn.Transformer(
            *(d, heads, blocks, blocks, d_ff),
            # without it torch warns about a fast path that is of no use here
            custom_encoder=new_encoder(d, heads, d_ff, blocks, norm, dtype),
            dropout=0.0,
            batch_first=True,
            norm_first=norm == "pre",
            dtype=dtype,
        )
        if not final_norms:
            self.body.encoder.norm = self.body.decoder.norm = None

    def embed(self, ids, name):
        """X_src or X_tgt: sqrt(d) times the rows of E, plus sinusoids; (batch, S) to (batch, S, d)."""
        d = self.E.shape[1]
        P = torch.from_numpy(sinusoidal_positions(ids.shape[-1], d)).to(self.E.dtype)
        return self.dropouts[name](math.sqrt(d) * F.embedding(ids, self.E) + P)

    def forward(self, src, tgt_in, src_lengths=None):
        """C, D and logits for ids of shape (batch, S_src) and (batch, S_tgt)."""
        padding = None
        if src_lengths is not None:
            padding = boolean_mask(padding_mask(src_lengths, src.shape[1])[..., 0, :], true_means="forbidden")
        causal = boolean_mask(causal_mask(tgt_in.shape[1]), true_means="forbidden")
        C = self.body.encoder(self.embed(src, "X_src"), src_key_padding_mask=padding)
        X_tgt = self.embed(tgt_in, "X_tgt")
        D = self.body.decoder(X_tgt, C, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=padding)
        return C, D, D @ self.E.T


def new_encoder(d, heads, d_ff, blocks, norm, dtype):
    """nn.TransformerEncoder as nn.Transformer builds it, less the fast path for evaluation."""
    layer = nn.TransformerEncoderLayer(
        *(d, heads, d_ff), dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=dtype
    )
    return nn.TransformerEncoder(layer, blocks, nn.LayerNorm(d, dtype=dtype), enable_nested_tensor=False)


def transformer_nest(model, part=value):
    """The parameters of a `Transformer` in our names and layout."""
    stacks = model.body.encoder, model.body.decoder
    nest = {
        "E": part(model.E),
        "encoder": [encoder_nest(layer, part) for layer in stacks[0].layers],
        "decoder": [decoder_nest(layer, part) for layer in stacks[1].layers],
    }
    for name, stack in zip(("encoder_norm", "decoder_norm"), stacks, strict=True):
        if stack.norm is not None:
            nest[name] = norm_nest(stack.norm, part)
    return nest


def new_transformer(parameters, heads, norm="post", keep=None, rate=0.0):
    """`Transformer` with a copy of our parameters and our dropout masks."""
    N_vocab, d = parameters["E"].shape
    d_ff = parameters["encoder"][0]["mlp"]["W_1"].shape[1]
    dtype = torch.from_numpy(parameters["E"]).dtype
    blocks, final_norms = len(parameters["encoder"]), "encoder_norm" in parameters
    model = Transformer(N_vocab, d, heads, d_ff, blocks, norm, final_norms, dtype)
    fill(transformer_nest(model), parameters)
    if keep:
        for name in model.dropouts:
            model.dropouts[name] = GivenDropout(keep[name], rate)
        for layer, masks in zip(model.body.encoder.layers, keep["encoder"], strict=True):
            give_dropout(layer, ("attention", "mlp"), masks, rate)
        for layer, masks in zip(model.body.decoder.layers, keep["decoder"], strict=True):
            give_dropout(layer, ("self_attention", "cross_attention", "mlp"), masks, rate)
    return model


def transformer(parameters, src, tgt_in, heads, src_lengths=None, norm="post", keep=None, rate=0.0):
    """{"C", "D", "logits"} from nn.Transformer; ids are (batch, S)."""
    model = new_transformer(parameters, heads, norm, keep, rate)
    C, D, logits = model(torch.from_numpy(src), torch.from_numpy(tgt_in), src_lengths)
    return to_arrays({"C": C, "D": D, "logits": logits})


def transformer_gradients(parameters, src, tgt_in, heads, dlogits, src_lengths=None, norm="post", keep=None, rate=0.0):
    """Gradients of all parameters by autograd, from the gradient of the logits."""
    model = new_transformer(parameters, heads, norm, keep, rate)
    _, _, logits = model(torch.from_numpy(src), torch.from_numpy(tgt_in), src_lengths)
    logits.backward(torch.from_numpy(dlogits))
    return to_arrays(transformer_nest(model, gradient))
