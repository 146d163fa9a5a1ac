"""Decoder block, encoder, decoder and the whole Transformer (notebook 08).

C is the encoder's output, B the decoder's state after causal self-attention,
D the decoder's output. One table E serves three times: it embeds the source,
embeds the target, and gives the output scores.
Source: document section 8; "Attention Is All You Need", sections 3.1 to 3.5.
"""

import math

from helpers.layers.attention import causal_mask, padding_mask
from helpers.layers.multi_head_attention import (
    multi_head_attention,
    multi_head_attention_backward,
    new_multi_head_attention,
)
from helpers.layers.position_encoding import add_positions, sinusoidal_positions
from helpers.layers.residual_and_mlp import (
    check_norm,
    draw_keep,
    dropout,
    encoder_block,
    encoder_block_backward,
    layer_norm,
    layer_norm_backward,
    mlp,
    mlp_backward,
    new_encoder_block,
    new_layer_norm,
    new_mlp,
    residual,
    residual_backward,
)
from helpers.layers.token_embedding import embed, embed_backward, new_embedding


def new_decoder_block(rng, d, d_ff):
    """Parameters of one block: self_attention, norm_1, cross_attention, norm_2, mlp, norm_3."""
    return {
        "self_attention": new_multi_head_attention(rng, d),
        "norm_1": new_layer_norm(d),
        "cross_attention": new_multi_head_attention(rng, d),
        "norm_2": new_layer_norm(d),
        "mlp": new_mlp(rng, d, d_ff),
        "norm_3": new_layer_norm(d),
    }


def decoder_block(parameters, X, C, heads, M_tgt, M_src=None, norm="post", keep=None, rate=0.0):
    """Self-attention, cross-attention, MLP, each with a residual sum and a layer norm.

    X is (..., S_tgt, d), C, what cross-attention reads, (..., S_src, d). M_tgt is the mask of
    self-attention: `causal_mask`, unless a row may read what comes after it.
    M_src is the mask of cross-attention: the padding of the source. ``norm``
    is "post" or "pre", as in `encoder_block`. ``keep`` holds the dropout masks
    of the three updates, {"self_attention", "cross_attention", "mlp"}.

    States: X; those of the parts under the parameters' names; B, the state
    after the first sum, Z after the second, and the output X_new, all
    (..., S_tgt, d).

    Raises ValueError for another norm and as the parts do.
    """
    check_norm(norm)
    keep = keep or {}
    if norm == "post":
        itself = multi_head_attention(parameters["self_attention"], X, X, heads, M_tgt)
        norm_1 = layer_norm(parameters["norm_1"], residual(X, itself["O"], keep.get("self_attention"), rate))
        B = norm_1["Y"]
        cross = multi_head_attention(parameters["cross_attention"], B, C, heads, M_src)
        # the sum adds B, not C: the rows stay target positions
        norm_2 = layer_norm(parameters["norm_2"], residual(B, cross["O"], keep.get("cross_attention"), rate))
        Z = norm_2["Y"]
        within = mlp(parameters["mlp"], Z)
        norm_3 = layer_norm(parameters["norm_3"], residual(Z, within["F"], keep.get("mlp"), rate))
        X_new = norm_3["Y"]
    else:
        norm_1 = layer_norm(parameters["norm_1"], X)
        itself = multi_head_attention(parameters["self_attention"], norm_1["Y"], norm_1["Y"], heads, M_tgt)
        B = residual(X, itself["O"], keep.get("self_attention"), rate)
        norm_2 = layer_norm(parameters["norm_2"], B)
        cross = multi_head_attention(parameters["cross_attention"], norm_2["Y"], C, heads, M_src)
        Z = residual(B, cross["O"], keep.get("cross_attention"), rate)
        norm_3 = layer_norm(parameters["norm_3"], Z)
        within = mlp(parameters["mlp"], norm_3["Y"])
        X_new = residual(Z, within["F"], keep.get("mlp"), rate)
    parts = {"self_attention": itself, "norm_1": norm_1, "cross_attention": cross, "norm_2": norm_2}
    return {"X": X} | parts | {"mlp": within, "norm_3": norm_3, "B": B, "Z": Z, "X_new": X_new}


def decoder_block_backward(parameters, states, dX_new, norm="post", keep=None, rate=0.0):
    """Gradients of the parameters, of X and of C, in their shapes, from that of X_new.

    ``norm``, ``keep`` and ``rate`` are those of the forward pass.
    """
    check_norm(norm)
    keep = keep or {}
    if norm == "post":
        norm_3, dsum = layer_norm_backward(parameters["norm_3"], states["norm_3"], dX_new)
        dZ, dF = residual_backward(dsum, keep.get("mlp"), rate)
        within, dZ_mlp = mlp_backward(parameters["mlp"], states["mlp"], dF)
        norm_2, dsum = layer_norm_backward(parameters["norm_2"], states["norm_2"], dZ + dZ_mlp)
        dB, dO = residual_backward(dsum, keep.get("cross_attention"), rate)
        cross, dB_q, dC = multi_head_attention_backward(parameters["cross_attention"], states["cross_attention"], dO)
        norm_1, dsum = layer_norm_backward(parameters["norm_1"], states["norm_1"], dB + dB_q)
        dX, dO = residual_backward(dsum, keep.get("self_attention"), rate)
        itself, dX_q, dX_kv = multi_head_attention_backward(parameters["self_attention"], states["self_attention"], dO)
        dX = dX + dX_q + dX_kv  # (..., S_tgt, d)
    else:
        dZ, dF = residual_backward(dX_new, keep.get("mlp"), rate)
        within, dY = mlp_backward(parameters["mlp"], states["mlp"], dF)
        norm_3, dZ_norm = layer_norm_backward(parameters["norm_3"], states["norm_3"], dY)
        dB, dO = residual_backward(dZ + dZ_norm, keep.get("cross_attention"), rate)
        cross, dY, dC = multi_head_attention_backward(parameters["cross_attention"], states["cross_attention"], dO)
        norm_2, dB_norm = layer_norm_backward(parameters["norm_2"], states["norm_2"], dY)
        dX, dO = residual_backward(dB + dB_norm, keep.get("self_attention"), rate)
        itself, dY_q, dY_kv = multi_head_attention_backward(parameters["self_attention"], states["self_attention"], dO)
        norm_1, dX_norm = layer_norm_backward(parameters["norm_1"], states["norm_1"], dY_q + dY_kv)
        dX = dX + dX_norm  # (..., S_tgt, d)
    gradients = {"self_attention": itself, "norm_1": norm_1, "cross_attention": cross, "norm_2": norm_2}
    return gradients | {"mlp": within, "norm_3": norm_3}, dX, dC


def encoder(parameters, X, heads, M_src=None, norm="post", keep=None, rate=0.0):
    """The encoder's blocks one after another: (..., S_src, d) to C of the same shape.

    ``parameters`` are the whole model's: the list "encoder", and "encoder_norm"
    where the stack ends in a layer norm of its own. ``keep`` is a list, one
    entry for each block.

    States: ``blocks``, a list; ``norm`` where there is one; the output C.
    """
    blocks = []
    for i, block in enumerate(parameters["encoder"]):
        blocks.append(encoder_block(block, X, heads, M_src, norm, keep and keep[i], rate))
        X = blocks[-1]["X_new"]
    states = {"blocks": blocks}
    if "encoder_norm" in parameters:
        states["norm"] = layer_norm(parameters["encoder_norm"], X)
        X = states["norm"]["Y"]
    return states | {"C": X}


def encoder_backward(parameters, states, dC, norm="post", keep=None, rate=0.0):
    """Gradients {"encoder", "encoder_norm"} and that of X, (..., S_src, d), from that of C."""
    gradients = {"encoder": []}
    dX = dC
    if "encoder_norm" in parameters:
        gradients["encoder_norm"], dX = layer_norm_backward(parameters["encoder_norm"], states["norm"], dX)
    for i in reversed(range(len(parameters["encoder"]))):
        block, seen = parameters["encoder"][i], states["blocks"][i]
        gradient, dX = encoder_block_backward(block, seen, dX, norm, keep and keep[i], rate)
        gradients["encoder"].insert(0, gradient)
    return gradients, dX


def decoder(parameters, X, C, heads, M_tgt, M_src=None, norm="post", keep=None, rate=0.0):
    """The decoder's blocks one after another, each reading the same C: X to D, (..., S_tgt, d).

    ``parameters`` are the whole model's: the list "decoder", and "decoder_norm"
    where there is one. Masks as in `decoder_block`; ``keep`` is a list.

    States: ``blocks``, a list; ``norm`` where there is one; the output D.
    """
    blocks = []
    for i, block in enumerate(parameters["decoder"]):
        blocks.append(decoder_block(block, X, C, heads, M_tgt, M_src, norm, keep and keep[i], rate))
        X = blocks[-1]["X_new"]
    states = {"blocks": blocks}
    if "decoder_norm" in parameters:
        states["norm"] = layer_norm(parameters["decoder_norm"], X)
        X = states["norm"]["Y"]
    return states | {"D": X}


def decoder_backward(parameters, states, dD, norm="post", keep=None, rate=0.0):
    """Gradients {"decoder", "decoder_norm"}, of X and of C from that of D, (..., S_tgt, d).

    Every block read C, so the gradient of C is a sum over the blocks.
    """
    gradients = {"decoder": []}
    dX, dC = dD, 0
    if "decoder_norm" in parameters:
        gradients["decoder_norm"], dX = layer_norm_backward(parameters["decoder_norm"], states["norm"], dX)
    for i in reversed(range(len(parameters["decoder"]))):
        block, seen = parameters["decoder"][i], states["blocks"][i]
        gradient, dX, dC_block = decoder_block_backward(block, seen, dX, norm, keep and keep[i], rate)
        gradients["decoder"].insert(0, gradient)
        dC = dC + dC_block  # (..., S_src, d)
    return gradients, dX, dC


def new_transformer(rng, N_vocab, d=512, d_ff=2048, blocks=6, norm="post"):
    """Parameters of the whole model: E, (N_vocab, d), and the lists "encoder" and "decoder".

    With norm="pre" also "encoder_norm" and "decoder_norm": what leaves a stack
    of pre-norm blocks is a bare sum, so a last norm follows.
    """
    check_norm(norm)
    parameters = {
        "E": new_embedding(rng, N_vocab, d),
        "encoder": [new_encoder_block(rng, d, d_ff) for _ in range(blocks)],
        "decoder": [new_decoder_block(rng, d, d_ff) for _ in range(blocks)],
    }
    if norm == "pre":
        parameters |= {"encoder_norm": new_layer_norm(d), "decoder_norm": new_layer_norm(d)}
    return parameters


def new_keep(rng, parameters, src, tgt_in, rate):
    """Dropout masks for a pass of `transformer`: for both embedded inputs and every update."""
    d = parameters["E"].shape[1]

    def masks(ids, *names):
        return {name: draw_keep(rng, ids.shape + (d,), rate) for name in names}

    keep = masks(src, "X_src") | masks(tgt_in, "X_tgt")
    keep["encoder"] = [masks(src, "attention", "mlp") for _ in parameters["encoder"]]
    keep["decoder"] = [masks(tgt_in, "self_attention", "cross_attention", "mlp") for _ in parameters["decoder"]]
    return keep


def embed_sequence(E, ids, keep=None, rate=0.0):
    """What enters the first block: sqrt(d) times rows of E, plus sinusoids, (..., S, d)."""
    P = sinusoidal_positions(ids.shape[-1], E.shape[1])  # (S, d)
    X = add_positions(embed(E, ids), P)  # (..., S, d)
    return X if keep is None else dropout(X, keep, rate)


def embed_sequence_backward(E, ids, dX, keep=None, rate=0.0):
    """Gradient of E, (N_vocab, d), from that of X; the positions are not trained."""
    if keep is not None:
        dX = dropout(dX, keep, rate)
    return embed_backward(E, ids, math.sqrt(E.shape[1]) * dX)


def transformer(parameters, src, tgt_in, heads, src_lengths=None, norm="post", keep=None, rate=0.0, M_tgt=None):
    """The whole model: ids of source (..., S_src) and decoder input (..., S_tgt) to logits.

    ``src_lengths`` says how many tokens of each source are real; without it all
    are. The target needs no lengths: its padding stands at the end, where the
    causal mask hides it from every real position. Another mask of the
    decoder's self-attention can be given as M_tgt. ``keep`` is what `new_keep`
    draws; without it nothing is dropped.

    States: src, tgt_in; X_src and X_tgt, the embedded inputs; ``encoder`` and
    ``decoder``, the states of the stacks; C, D; logits, (..., S_tgt, N_vocab). The
    probabilities are Pi = softmax(logits).

    Raises ValueError as the parts do.
    """
    keep = keep or {}
    E = parameters["E"]
    M_src = None if src_lengths is None else padding_mask(src_lengths, src.shape[-1])  # (..., 1, S_src)
    M_tgt = causal_mask(tgt_in.shape[-1]) if M_tgt is None else M_tgt  # (S_tgt, S_tgt)
    X_src = embed_sequence(E, src, keep.get("X_src"), rate)  # (..., S_src, d)
    read = encoder(parameters, X_src, heads, M_src, norm, keep.get("encoder"), rate)
    X_tgt = embed_sequence(E, tgt_in, keep.get("X_tgt"), rate)  # (..., S_tgt, d)
    written = decoder(parameters, X_tgt, read["C"], heads, M_tgt, M_src, norm, keep.get("decoder"), rate)
    states = {"src": src, "tgt_in": tgt_in, "X_src": X_src, "encoder": read, "C": read["C"]}
    states |= {"X_tgt": X_tgt, "decoder": written, "D": written["D"]}
    states["logits"] = output_scores(E, written["D"])  # (..., S_tgt, N_vocab)
    return states


def transformer_backward(parameters, states, dlogits, norm="post", keep=None, rate=0.0):
    """Gradients of all parameters from the gradient of the logits, (..., S_tgt, N_vocab).

    E is used three times, and its gradient is the sum of three.
    """
    keep = keep or {}
    E = parameters["E"]
    dE_output, dD = output_scores_backward(E, states["D"], dlogits)
    written, dX_tgt, dC = decoder_backward(parameters, states["decoder"], dD, norm, keep.get("decoder"), rate)
    read, dX_src = encoder_backward(parameters, states["encoder"], dC, norm, keep.get("encoder"), rate)
    dE_src = embed_sequence_backward(E, states["src"], dX_src, keep.get("X_src"), rate)
    dE_tgt = embed_sequence_backward(E, states["tgt_in"], dX_tgt, keep.get("X_tgt"), rate)
    return {"E": dE_output + dE_src + dE_tgt} | read | written


def output_scores(E, D):
    """Scores of every token: D W_vocab with W_vocab = E^T, (..., S_tgt, N_vocab)."""
    logits = D.reshape(-1, D.shape[-1]) @ E.T  # (rows, N_vocab)
    return logits.reshape(D.shape[:-1] + (len(E),))  # (..., S_tgt, N_vocab)


def output_scores_backward(E, D, dlogits):
    """Gradients of E, (N_vocab, d), and of D, (..., S_tgt, d), from that of the logits."""
    rows = dlogits.reshape(-1, len(E))  # (rows, N_vocab)
    dE = rows.T @ D.reshape(-1, D.shape[-1])  # (N_vocab, d)
    return dE, (rows @ E).reshape(D.shape)  # (..., S_tgt, d)
