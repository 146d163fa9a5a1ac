"""Generating token by token: the choice of a token, the cache of keys and values, beam search (notebook 10).

A cache remembers what attention reads of the tokens so far, for each block
K and V of shape (..., heads, limit, d_k), of which the first ``lengths`` places
are taken. ``itself`` belongs to self-attention and grows, ``source`` to
cross-attention and is complete from the start.
Source: document section 10; "Attention Is All You Need", section 6.1; Wu et al.,
"Google's Neural Machine Translation System", section 7, for the length penalty;
Holtzman et al., "The Curious Case of Neural Text Degeneration", for top-p.
"""

import math

import numpy as np

from helpers.layers.attention import attention, causal_mask, padding_mask, softmax
from helpers.layers.decoder_only import gelu_mlp
from helpers.layers.encoder_decoder import decoder, embed_sequence, encoder, output_scores
from helpers.layers.multi_head_attention import check_heads, merge_heads, split_heads
from helpers.layers.position_encoding import sinusoidal_positions
from helpers.layers.query_key_value import linear
from helpers.layers.residual_and_mlp import check_norm, layer_norm, mlp
from helpers.layers.token_embedding import embed


def greedy(parameters, src, heads, start, end, limit, src_lengths=None, norm="post"):
    """Translate, always taking the likeliest next token; every step computes the whole prefix.

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
        token = np.where(ended, end, token)
        ended |= token == end
        prefix = np.concatenate([prefix, token[..., None]], axis=-1)  # (..., S + 1)
    return prefix[..., 1:]


def most_probable(logits):
    """The token with the highest score: (..., N_vocab) to ids (...)."""
    return logits.argmax(axis=-1)


def temper(logits, temperature):
    """Probabilities (..., N_vocab): below 1 the likely tokens gain, above 1 the unlikely.

    Raises ValueError unless the temperature is above 0.
    """
    if not temperature > 0:
        raise ValueError(f"temper: temperature is {temperature}; expected more than 0")
    return softmax(logits / temperature)


def top_k(Pi, k):
    """The k most probable tokens of each row share all of it, the others get 0: (..., N_vocab).

    Of equally probable tokens those with smaller ids come first.

    Raises ValueError unless k is from 1 to N_vocab.
    """
    if not 1 <= k <= Pi.shape[-1]:
        raise ValueError(f"top_k: k is {k}; expected 1 to N_vocab = {Pi.shape[-1]}")
    best = np.argsort(-Pi, axis=-1, kind="stable")[..., :k]  # (..., k)
    kept = np.zeros_like(Pi)
    np.put_along_axis(kept, best, np.take_along_axis(Pi, best, axis=-1), axis=-1)
    return kept / kept.sum(axis=-1, keepdims=True)


def top_p(Pi, p):
    """The fewest tokens that hold at least p of the probability share all of it: (..., N_vocab).

    Raises ValueError unless p is above 0 and at most 1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p: p is {p}; expected more than 0, at most 1")
    order = np.argsort(-Pi, axis=-1, kind="stable")  # (..., N_vocab)
    falling = np.take_along_axis(Pi, order, axis=-1)
    before = falling.cumsum(axis=-1) - falling  # what all more probable tokens hold together
    kept = np.zeros_like(Pi)
    np.put_along_axis(kept, order, np.where(before < p, falling, 0), axis=-1)
    return kept / kept.sum(axis=-1, keepdims=True)


def draw(Pi, rng):
    """One token of each row, with the row's probabilities: (..., N_vocab) to ids (...)."""
    reached = Pi.cumsum(axis=-1)  # (..., N_vocab)
    # 1 - random() lies above 0 and at most at 1, so the token found is never one of probability 0
    goal = (1 - rng.random(Pi.shape[:-1] + (1,))) * reached[..., -1:]  # (..., 1)
    return (reached >= goal).argmax(axis=-1)


def sample(logits, rng, temperature=1.0, k=None, p=1.0):
    """A token drawn after temperature, top-k (all tokens without a k) and top-p: ids (...)."""
    Pi = temper(logits, temperature)  # (..., N_vocab)
    if k is not None:
        Pi = top_k(Pi, k)
    return draw(top_p(Pi, p), rng)


def keys_and_values(parameters, X, heads):
    """What attention can read of the rows X, (..., S, d): K and V by head, (..., heads, S, d_k)."""
    K = linear(X, parameters["W_K"], parameters.get("b_K"))  # (..., S, d)
    V = linear(X, parameters["W_V"], parameters.get("b_V"))  # (..., S, d)
    return {"K": split_heads(K, heads), "V": split_heads(V, heads)}  # (..., heads, S, d_k)


def remember(memory, new, positions):
    """Write the new K and V to their positions, (..., S_new); give out all up to the last one."""
    for name in "KV":
        np.put_along_axis(memory[name], positions[..., None, :, None], new[name], axis=-2)
    return {name: memory[name][..., : positions.max() + 1, :] for name in "KV"}  # (..., heads, S_k, d_k)


def attend(parameters, X, memory, heads, M=None):
    """Multi-head attention of the rows X over K and V in memory: O, (..., S_new, d)."""
    Q = split_heads(linear(X, parameters["W_Q"], parameters.get("b_Q")), heads)  # (..., heads, S_new, d_k)
    H = attention(Q, memory["K"], memory["V"], None if M is None else M[..., None, :, :])["H"]
    return linear(merge_heads(H), parameters["W_O"], parameters.get("b_O"))  # (..., S_new, d)


def attend_itself(parameters, X, memory, positions, heads):
    """Self-attention of new rows X, (..., S_new, d): each reads itself and what came before."""
    memory = remember(memory, keys_and_values(parameters, X, heads), positions)
    return attend(parameters, X, memory, heads, position_mask(positions))


def position_mask(positions):
    """The causal mask's rows for these positions: (..., S_new) to (..., S_new, S_k).

    S_k is the largest position plus 1. Where all sequences are equally long this is
    `causal_mask(S_new, S_k)`.
    """
    source = np.arange(positions.max() + 1)  # (S_k,)
    return np.where(source <= positions[..., None], 0.0, -np.inf)  # (..., S_new, S_k)


def sublayer(parameters, X, update, norm, epsilon=1e-5):
    """X plus an update from it; layer norm after the sum ("post") or before the update ("pre")."""
    if norm == "post":
        return layer_norm(parameters, X + update(X), epsilon)["Y"]
    return X + update(layer_norm(parameters, X, epsilon)["Y"])


def new_memory(leading, heads, limit, d, dtype):
    """Room for K and V of ``limit`` positions, (..., heads, limit, d_k) each, with these leading axes."""
    check_heads(d, heads)
    return {name: np.zeros(leading + (heads, limit, d // heads), dtype) for name in "KV"}


def new_cache(parameters, src, heads, limit, src_lengths=None, norm="post"):
    """Read the source, ids (..., S_src): a cache for at most ``limit`` tokens of the decoder.

    Keys: lengths, (...), how many tokens each row has read so far; P, the positions, (limit, d);
    M_src, the mask of the source or None; ``blocks``, for each block {"itself", "source"}.
    """
    E = parameters["E"]
    M_src = None if src_lengths is None else padding_mask(src_lengths, src.shape[-1])  # (..., 1, S_src)
    C = encoder(parameters, embed_sequence(E, src), heads, M_src, norm)["C"]  # (..., S_src, d)
    leading, d = src.shape[:-1], E.shape[1]
    blocks = []
    for block in parameters["decoder"]:
        source = keys_and_values(block["cross_attention"], C, heads)  # (..., heads, S_src, d_k)
        blocks.append({"itself": new_memory(leading, heads, limit, d, E.dtype), "source": source})
    P = sinusoidal_positions(limit, d).astype(E.dtype)  # (limit, d)
    return {"lengths": np.zeros(leading, int), "P": P, "M_src": M_src, "blocks": blocks}


def decode(parameters, cache, ids, lengths=None, *, heads, norm="post"):
    """Scores after each new token, ids (..., S_new) to (..., S_new, N_vocab). The cache grows.

    Only the new rows are computed. Of each row of the batch the first
    ``lengths`` (...) ids count, or all of them; the others are overwritten by what comes next.

    Raises ValueError when the cache has no room for S_new more tokens.
    """
    check_norm(norm)
    E = parameters["E"]
    positions = next_positions(cache, ids)  # (..., S_new)
    X = math.sqrt(E.shape[1]) * embed(E, ids) + cache["P"][positions]  # (..., S_new, d)
    for block, memory in zip(parameters["decoder"], cache["blocks"], strict=True):
        X = decoder_block_step(block, X, memory, positions, heads, cache["M_src"], norm)
    if "decoder_norm" in parameters:
        X = layer_norm(parameters["decoder_norm"], X)["Y"]
    cache["lengths"] = cache["lengths"] + (ids.shape[-1] if lengths is None else lengths)
    return output_scores(E, X)  # (..., S_new, N_vocab)


def decoder_block_step(parameters, X, memory, positions, heads, M_src, norm):
    """One decoder block for the new rows X alone, (..., S_new, d)."""

    def itself(Y):
        return attend_itself(parameters["self_attention"], Y, memory["itself"], positions, heads)

    def source(Y):
        return attend(parameters["cross_attention"], Y, memory["source"], heads, M_src)

    def within(Y):
        return mlp(parameters["mlp"], Y)["F"]

    B = sublayer(parameters["norm_1"], X, itself, norm)  # (..., S_new, d)
    Z = sublayer(parameters["norm_2"], B, source, norm)
    return sublayer(parameters["norm_3"], Z, within, norm)


def new_gpt2_cache(parameters, leading, heads, limit):
    """An empty cache for at most ``limit`` tokens; leading is (3,) for three sequences.

    Raises ValueError when the model has no positions for so many tokens.
    """
    P = parameters["P"]
    if limit > len(P):
        raise ValueError(f"new_gpt2_cache: limit is {limit}; the model has {len(P)} positions")
    blocks = [{"itself": new_memory(leading, heads, limit, P.shape[1], P.dtype)} for _ in parameters["blocks"]]
    return {"lengths": np.zeros(leading, int), "P": P[:limit], "blocks": blocks}


def gpt2_decode(parameters, cache, ids, lengths=None, *, heads, epsilon=1e-5):
    """`decode` for a GPT-2: ids (..., S_new) to scores (..., S_new, N_vocab). The cache grows."""
    positions = next_positions(cache, ids)  # (..., S_new)
    X = embed(parameters["E"], ids) + cache["P"][positions]  # (..., S_new, d)
    for block, memory in zip(parameters["blocks"], cache["blocks"], strict=True):
        X = gpt2_block_step(block, X, memory, positions, heads, epsilon)
    D = layer_norm(parameters["norm"], X, epsilon)["Y"]
    cache["lengths"] = cache["lengths"] + (ids.shape[-1] if lengths is None else lengths)
    return output_scores(parameters["E"], D)  # (..., S_new, N_vocab)


def gpt2_block_step(parameters, X, memory, positions, heads, epsilon=1e-5):
    """One block of GPT-2 for the new rows X alone, (..., S_new, d)."""

    def itself(Y):
        return attend_itself(parameters["attention"], Y, memory["itself"], positions, heads)

    def within(Y):
        return gelu_mlp(parameters["mlp"], Y)["F"]

    Z = sublayer(parameters["norm_1"], X, itself, "pre", epsilon)  # (..., S_new, d)
    return sublayer(parameters["norm_2"], Z, within, "pre", epsilon)


def generate(step, cache, ids, choose, end, limit, lengths=None):
    """Continue ids, (..., S), with a cache: at most ``limit`` new tokens, (..., length).

    ``step(cache, ids, lengths)`` is `decode` or `gpt2_decode` of some model;
    ``choose`` makes tokens (...) of scores (..., N_vocab). Of each row the first ``lengths`` ids
    count, or all. A row goes on until its first end token, and holds ``end`` after it.
    """
    ended = np.zeros(ids.shape[:-1], bool)  # (...)
    tokens = []
    while len(tokens) < limit and not ended.all():
        logits = last_row(step(cache, ids, lengths), lengths)  # (..., N_vocab)
        token = np.where(ended, end, choose(logits))  # (...)
        ended |= token == end
        tokens.append(token)
        ids, lengths = token[..., None], None  # from here on one token at a time: (..., 1)
    return np.stack(tokens, axis=-1)  # (..., length)


def last_row(logits, lengths=None):
    """The scores after the last real token of each row: (..., S, N_vocab) to (..., N_vocab)."""
    if lengths is None:
        return logits[..., -1, :]
    return np.take_along_axis(logits, (np.asarray(lengths) - 1)[..., None, None], axis=-2)[..., 0, :]


def log_softmax(logits):
    """Logarithm of softmax, also where the probability is too small for a float."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def length_penalty(length, alpha=0.6):
    """What a log-probability is divided by: ((5 + length) / 6)^alpha, 1 for a single token."""
    return ((5 + length) / 6) ** alpha


def beam_search(step, cache, ids, beams, end, limit, alpha=0.6):
    """The likeliest continuations of ids, (1, S), found with ``beams`` prefixes at a time.

    In each round every prefix is continued by every token, and the most probable
    ones stay. Who ends leaves, and its place is not filled again, so that a
    beam of 1 is greedy. alpha 0.6 and a beam of 4 are the paper's; ``step`` as in
    `generate`.

    States: ``rounds``, one list each of (index of the prefix before, token, log-probability),
    where prefixes are those of the round before that did not end; ``found``, a list of
    {"ids", "log_probability", "score"}, the best score first. Those cut off by the
    limit are among them.

    Raises ValueError for a beam below 1.
    """
    if beams < 1:
        raise ValueError(f"beam_search: beams is {beams}; expected at least 1")
    prefixes, sums = np.zeros((1, 0), int), np.zeros(1)  # (rows, length), (rows,)
    found, rounds = [], []
    while len(prefixes) and prefixes.shape[1] < limit:
        totals = sums[:, None] + log_softmax(step(cache, ids)[:, -1])  # (rows, N_vocab)
        best = np.argsort(-totals, axis=None, kind="stable")[: beams - len(found)]  # (kept,)
        rows, tokens = np.divmod(best, totals.shape[1])
        prefixes = np.concatenate([prefixes[rows], tokens[:, None]], axis=1)  # (kept, length + 1)
        sums = totals[rows, tokens]  # (kept,)
        rounds.append(list(zip(rows.tolist(), tokens.tolist(), sums.tolist(), strict=True)))
        ended = tokens == end
        found += zip(prefixes[ended], sums[ended], strict=True)
        prefixes, sums, rows = prefixes[~ended], sums[~ended], rows[~ended]
        choose_rows(cache, rows)
        ids = prefixes[:, -1:]  # (rows, 1)
    found += zip(prefixes, sums, strict=True)
    hypotheses = [
        {"ids": ids, "log_probability": float(total), "score": float(total) / length_penalty(len(ids), alpha)}
        for ids, total in found
    ]
    return {"found": sorted(hypotheses, key=lambda one: -one["score"]), "rounds": rounds}


def choose_rows(cache, rows):
    """Let row i go on from what row rows[i] remembers; the source serves all and stays."""
    cache["lengths"] = cache["lengths"][rows]
    for memory in cache["blocks"]:
        memory["itself"] = {name: array[rows] for name, array in memory["itself"].items()}


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


def next_positions(cache, ids):
    """Positions of the new tokens, (..., S_new); ValueError when the cache has no room for them."""
    taken, S_new, limit = cache["lengths"], ids.shape[-1], len(cache["P"])
    if ids.shape[:-1] != taken.shape:
        raise ValueError(f"ids have shape {ids.shape}; the cache expects {taken.shape + (S_new,)}")
    if taken.size and taken.max() + S_new > limit:
        raise ValueError(f"cache is full: {taken.max()} tokens and {S_new} more, limit {limit}")
    return taken[..., None] + np.arange(S_new)  # (..., S_new)
