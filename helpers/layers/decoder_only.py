"""GPT-2: one stack of blocks that reads and continues a single sequence (notebook 09).

A block is notebook 07's encoder block: pre-norm, under the causal mask, with
GELU in its MLP. The table E embeds the tokens and gives the output scores; P is
a learned table of positions.
Source: document section 9; GPT-2's published code (model.py); Hendrycks and
Gimpel, "Gaussian Error Linear Units", section 2, for the form with tanh.
"""

import math

import numpy as np

from helpers.layers.attention import causal_mask
from helpers.layers.encoder_decoder import output_scores, output_scores_backward
from helpers.layers.position_encoding import add_positions, add_positions_backward, new_positions
from helpers.layers.query_key_value import linear, linear_backward
from helpers.layers.residual_and_mlp import (
    encoder_block,
    encoder_block_backward,
    layer_norm,
    layer_norm_backward,
    new_encoder_block,
    new_layer_norm,
)
from helpers.layers.token_embedding import embed, embed_backward, new_embedding


def gelu(T):
    """GELU in GPT-2's form with tanh: T times a smooth step from 0 to 1, entry by entry."""
    inner = math.sqrt(2 / math.pi) * (T + 0.044715 * T * T * T)
    return 0.5 * T * (1 + np.tanh(inner))


def gelu_backward(T, dU):
    """Gradient before the GELU from its input T and the gradient of its output."""
    t = np.tanh(math.sqrt(2 / math.pi) * (T + 0.044715 * T * T * T))
    dinner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * T * T)
    return dU * (0.5 * (1 + t) + 0.5 * T * (1 - t * t) * dinner)


def gelu_mlp(parameters, Z):
    """The MLP of notebook 07 with GELU in place of ReLU: (..., d) to (..., d).

    States: Z, the hidden T = Z W_1 + b_1 and U = GELU(T), both (..., d_ff), and
    the output F = U W_2 + b_2, (..., d).
    """
    T = linear(Z, parameters["W_1"], parameters["b_1"])  # (..., d_ff)
    U = gelu(T)
    F = linear(U, parameters["W_2"], parameters["b_2"])  # (..., d)
    return {"Z": Z, "T": T, "U": U, "F": F}


def gelu_mlp_backward(parameters, states, dF):
    """Gradients of the parameters and of Z, (..., d), from the gradient of F."""
    dU, dW_2, db_2 = linear_backward(states["U"], parameters["W_2"], dF)  # (..., d_ff)
    dT = gelu_backward(states["T"], dU)
    dZ, dW_1, db_1 = linear_backward(states["Z"], parameters["W_1"], dT)  # (..., d)
    return {"W_1": dW_1, "b_1": db_1, "W_2": dW_2, "b_2": db_2}, dZ


def new_gpt2(rng, N_vocab, positions, d, d_ff, blocks):
    """Random parameters: E (N_vocab, d), P (positions, d), a list of blocks, and the final norm."""
    return {
        "E": new_embedding(rng, N_vocab, d),
        "P": new_positions(rng, positions, d),
        "blocks": [new_encoder_block(rng, d, d_ff) for _ in range(blocks)],
        "norm": new_layer_norm(d),
    }


def gpt2_shapes(N_vocab=50257, positions=1024, d=768, d_ff=3072, blocks=12):
    """The nest that `new_gpt2` fills, shapes in place of arrays; the defaults are GPT-2 small's."""
    norm = {"gamma": (d,), "beta": (d,)}
    attention = {f"W_{name}": (d, d) for name in "QKVO"} | {f"b_{name}": (d,) for name in "QKVO"}
    mlp = {"W_1": (d, d_ff), "b_1": (d_ff,), "W_2": (d_ff, d), "b_2": (d,)}
    block = {"attention": attention, "norm_1": norm, "mlp": mlp, "norm_2": norm}
    return {"E": (N_vocab, d), "P": (positions, d), "blocks": [block] * blocks, "norm": norm}


def gpt2(parameters, ids, heads, epsilon=1e-5):
    """Ids (..., S) to the scores of every next token, (..., S, N_vocab).

    Row i has read positions 0 to i and nothing else, so padding at the end
    needs no mask of its own: no real row reads it. ``epsilon`` is that of the
    layer norms.

    States: ids; X, what enters the first block; ``blocks``, a list; ``norm``,
    the final norm's; its output D, (..., S, d); logits.

    Raises ValueError for more tokens than P has rows, and as the parts do.
    """
    ids = np.asarray(ids)  # (..., S)
    X = embed(parameters["E"], ids)  # (..., S, d)
    X = add_positions(X, parameters["P"], scaled=False)
    M = causal_mask(ids.shape[-1])  # (S, S)
    states = {"ids": ids, "X": X, "blocks": []}
    for block in parameters["blocks"]:
        seen = encoder_block(block, X, heads, M, norm="pre", epsilon=epsilon, mlp=gelu_mlp)
        states["blocks"].append(seen)
        X = seen["X_new"]
    states["norm"] = layer_norm(parameters["norm"], X, epsilon)
    states["D"] = states["norm"]["Y"]
    states["logits"] = output_scores(parameters["E"], states["D"])  # (..., S, N_vocab)
    return states


def gpt2_backward(parameters, states, dlogits):
    """Gradients of all parameters from the gradient of the logits, (..., S, N_vocab).

    E is used twice, and its gradient is the sum of two.
    """
    E, P, blocks = parameters["E"], parameters["P"], []
    dE_output, dX = output_scores_backward(E, states["D"], dlogits)
    norm, dX = layer_norm_backward(parameters["norm"], states["norm"], dX)
    for block, seen in zip(parameters["blocks"][::-1], states["blocks"][::-1], strict=True):
        gradient, dX = encoder_block_backward(block, seen, dX, norm="pre", mlp_backward=gelu_mlp_backward)
        blocks.insert(0, gradient)
    dX_token, dP = add_positions_backward(P, dX, scaled=False)
    dE_input = embed_backward(E, states["ids"], dX_token)
    return {"E": dE_output + dE_input, "P": dP, "blocks": blocks, "norm": norm}


def complete(parameters, prompts, lengths, heads, end, limit, epsilon=1e-5):
    """Continue each prompt by always taking the most probable next token.

    prompts is (rows, S); of each row the first ``lengths`` (rows,) ids count.
    Returns the new ids, (rows, length): a row goes on until its first end
    token and holds ``end`` after it; none is longer than ``limit``.
    """
    rows = np.arange(len(prompts))
    place = np.array(lengths)  # (rows,), where the next token goes
    ids = np.pad(prompts, ((0, 0), (0, limit)))  # (rows, S + limit)
    ended = np.zeros(len(rows), bool)
    new = []
    while len(new) < limit and not ended.all():
        logits = gpt2(parameters, ids[:, : place.max()], heads, epsilon)["logits"]
        token = logits[rows, place - 1].argmax(axis=-1)  # (rows,)
        token[ended] = end
        ended |= token == end
        ids[rows, place] = token
        place += 1
        new.append(token)
    return np.stack(new, axis=-1)  # (rows, length)
