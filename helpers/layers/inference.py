"""Generating a translation token by token (notebook 10).

Source: document section 10; "Attention Is All You Need", section 6.1.
"""

import numpy as np

from helpers.layers.attention import causal_mask, padding_mask
from helpers.layers.encoder_decoder import decoder, embed_sequence, encoder, output_scores


def greedy(parameters, src, heads, start, end, limit, src_lengths=None, norm="post"):
    """Translate by always taking the most probable next token; the whole prefix is computed anew each time.

    src is (..., S_src). Returns ids (..., length) without the start token. A row
    goes on until its first end token, and holds ``end`` after it; none is longer than
    ``limit``.
    """
    E = parameters["E"]
    M_src = None if src_lengths is None else padding_mask(src_lengths, src.shape[-1])  # (..., 1, S_src)
    C = encoder(parameters, embed_sequence(E, src), heads, M_src, norm)["C"]  # (..., S_src, d)
    prefix = np.full(src.shape[:-1] + (1,), start)  # (..., 1)
    ended = np.zeros(src.shape[:-1], bool)  # (...)
    while prefix.shape[-1] <= limit and not ended.all():
        S = prefix.shape[-1]
        D = decoder(parameters, embed_sequence(E, prefix), C, heads, causal_mask(S), M_src, norm)["D"]  # (..., S, d)
        token = output_scores(E, D[..., -1, :]).argmax(axis=-1)  # (...)
        token[ended] = end
        ended |= token == end
        prefix = np.concatenate([prefix, token[..., None]], axis=-1)  # (..., S + 1)
    return prefix[..., 1:]


def exact_matches(generated, targets, lengths):
    """Which rows were translated word for word: booleans, (rows,).

    generated is (rows, length) as `greedy` returns it, targets (rows, S_tgt) with
    the end token as the last of ``lengths`` (rows,) valid ids.
    """
    S = min(generated.shape[1], targets.shape[1])
    beyond = np.arange(S) >= lengths[:, None]  # (rows, S)
    same = (generated[:, :S] == targets[:, :S]) | beyond  # (rows, S)
    # the end token is compared as well, so a row that goes on after it is wrong
    return same.all(axis=1) & (lengths <= S)
