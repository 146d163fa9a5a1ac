"""Choosing tokens, cache, and beam search: against torch, against recomputation, against all sequences there are."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import FORWARD, agree, all_of_type, as_float32, few, leading_axes, lengths, seeds, shaken

from helpers.checks.counting import multiplications
from helpers.layers.attention import causal_mask, softmax
from helpers.layers.decoder_only import complete, gpt2, new_gpt2
from helpers.layers.encoder_decoder import new_transformer, transformer
from helpers.layers.inference import (
    beam_search,
    decode,
    draw,
    generate,
    gpt2_decode,
    greedy,
    length_penalty,
    log_softmax,
    most_probable,
    new_cache,
    new_gpt2_cache,
    position_mask,
    sample,
    temper,
    top_k,
    top_p,
)
from helpers.layers.nest import map_nest
from helpers.reference import inference as reference

START, END, N_VOCAB, HEADS = 1, 2, 11, 2
norms = st.sampled_from(["post", "pre"])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """torch's threads wait for each other: on a busy machine a small model is many times slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small_model(rng, norm="post"):
    return shaken(new_transformer(rng, N_VOCAB, 8, 12, 2, norm), rng)


def small_gpt2(rng, positions=24):
    return shaken(new_gpt2(rng, N_VOCAB, positions, 8, 12, 2), rng)


def random_ids(rng, *shape):
    return rng.integers(0, N_VOCAB, shape)


def pieces(rng, S):
    """Ends of the pieces into which S tokens are cut."""
    cuts = np.flatnonzero(rng.random(S - 1) < 0.6) + 1
    return list(itertools.pairwise([0, *cuts.tolist(), S]))


# ---------------------------------------------------------------- the cache


@few
@given(seeds, leading_axes, lengths, lengths, norms, st.booleans())
def test_cached_equals_uncached_for_any_pieces(seed, leading, S_src, S_tgt, norm, padded):
    rng = np.random.default_rng(seed)
    parameters = small_model(rng, norm)
    src, tgt_in = random_ids(rng, *leading, S_src), random_ids(rng, *leading, S_tgt)
    src_lengths = rng.integers(1, S_src + 1, leading) if padded else None
    cache = new_cache(parameters, src, HEADS, S_tgt, src_lengths, norm)
    for first, last in pieces(rng, S_tgt):
        ours = decode(parameters, cache, tgt_in[..., first:last], heads=HEADS, norm=norm)
        whole = transformer(parameters, src, tgt_in[..., :last], HEADS, src_lengths, norm)["logits"]
        agree(ours, whole[..., first:, :], FORWARD)


@few
@given(seeds, st.integers(1, 3), lengths, lengths, norms)
def test_each_step_equals_torch(seed, batch, S_src, S_tgt, norm):
    rng = np.random.default_rng(seed)
    parameters = small_model(rng, norm)
    src, tgt_in = random_ids(rng, batch, S_src), random_ids(rng, batch, S_tgt)
    src_lengths = rng.integers(1, S_src + 1, batch)
    cache = new_cache(parameters, src, HEADS, S_tgt, src_lengths, norm)
    rows = [decode(parameters, cache, tgt_in[:, [i]], heads=HEADS, norm=norm) for i in range(S_tgt)]
    theirs = reference.step_by_step(parameters, src, tgt_in, HEADS, src_lengths, norm)
    agree(softmax(np.concatenate(rows, axis=1)), theirs, FORWARD)
    arguments = parameters, src, HEADS, START, END, 6, src_lengths, norm
    assert np.array_equal(greedy(*arguments), reference.greedy(*arguments))


@few
@given(seeds, leading_axes, st.integers(1, 9))
def test_cached_gpt2_equals_uncached(seed, leading, S):
    rng = np.random.default_rng(seed)
    parameters, ids = small_gpt2(rng), random_ids(rng, *leading, S)
    cache = new_gpt2_cache(parameters, leading, HEADS, S)
    whole = gpt2(parameters, ids, HEADS)["logits"]
    for first, last in pieces(rng, S):
        ours = gpt2_decode(parameters, cache, ids[..., first:last], heads=HEADS)
        agree(ours, whole[..., first:last, :], FORWARD)


@few
@given(seeds, st.integers(1, 4), st.integers(1, 6), st.integers(0, 3))
def test_prompts_of_different_lengths(seed, batch, S, more):
    """Row by row the same as a batch of one without padding, whatever stands in the padding, also in later pieces."""
    rng = np.random.default_rng(seed)
    parameters, prompts = small_gpt2(rng), random_ids(rng, batch, S)
    real = rng.integers(1, S + 1, batch)
    cache = new_gpt2_cache(parameters, (batch,), HEADS, S + 5)
    logits = gpt2_decode(parameters, cache, prompts, real, heads=HEADS)
    after = random_ids(rng, batch, more + 1)
    later = gpt2_decode(parameters, cache, after, heads=HEADS)
    for row, length in enumerate(real):
        alone = gpt2(parameters, np.concatenate([prompts[row, :length], after[row]]), HEADS)["logits"]
        agree(logits[row, :length], alone[:length], FORWARD)
        agree(later[row], alone[length:], FORWARD)


@few
@given(seeds, st.integers(1, 4), st.integers(1, 6))
def test_gpt2_generates_as_without_a_cache(seed, batch, S):
    rng = np.random.default_rng(seed)
    parameters, prompts, real = small_gpt2(rng), random_ids(rng, batch, S), rng.integers(1, S + 1, batch)
    step, cache = partial(gpt2_decode, parameters, heads=HEADS), new_gpt2_cache(parameters, (batch,), HEADS, S + 8)
    ours = generate(step, cache, prompts, most_probable, END, 8, real)
    assert np.array_equal(ours, complete(parameters, prompts, real, HEADS, END, 8))


def test_the_limit():
    rng = np.random.default_rng(0)
    parameters = small_model(rng)
    ids = random_ids(rng, 2, 5)
    cache = new_cache(parameters, random_ids(rng, 2, 4), HEADS, 4)
    decode(parameters, cache, ids[:, :3], heads=HEADS)
    before = map_nest(np.copy, cache["blocks"])
    with pytest.raises(ValueError, match="3 tokens and 2 more, limit 4"):
        decode(parameters, cache, ids[:, 3:], heads=HEADS)
    agree(cache["blocks"], before, 0)
    decode(parameters, cache, ids[:, 3:4], heads=HEADS)  # the refused call has spoilt nothing, and the last place fits
    assert cache["lengths"].tolist() == [4, 4]
    with pytest.raises(ValueError, match="limit is 25; the model has 24 positions"):
        new_gpt2_cache(small_gpt2(rng), (), HEADS, 25)
    with pytest.raises(ValueError, match=r"ids have shape \(3, 1\)"):
        decode(parameters, cache, ids[[0, 0, 1], :1], heads=HEADS)


def test_float32_stays_float32():
    rng = np.random.default_rng(0)
    parameters = as_float32(small_model(rng, "pre"))
    cache = new_cache(parameters, random_ids(rng, 2, 4), HEADS, 3, [4, 2], "pre")
    logits = decode(parameters, cache, random_ids(rng, 2, 2), heads=HEADS, norm="pre")
    all_of_type([cache["blocks"], cache["P"], logits, temper(logits, 0.7), top_k(softmax(logits), 3)], np.float32)
    gpt = as_float32(small_gpt2(rng))
    cache = new_gpt2_cache(gpt, (), HEADS, 3)
    all_of_type([gpt2_decode(gpt, cache, random_ids(rng, 2), heads=HEADS), cache["blocks"]], np.float32)


@given(st.integers(1, 6), st.integers(0, 6))
def test_position_mask_is_the_causal_mask(S_new, taken):
    mask = position_mask(taken + np.arange(S_new))
    assert np.array_equal(mask, causal_mask(S_new, taken + S_new))


def test_multiplications():
    rng = np.random.default_rng(0)
    W = {"W": rng.standard_normal((3, 5))}
    assert multiplications(lambda p: rng.standard_normal((2, 3)) @ p["W"], W) == 2 * 3 * 5
    assert multiplications(lambda p: (np.ones((4, 2, 3)) @ p["W"] + 1).swapaxes(-1, -2) @ np.ones((2, 7)), W) == 400
    parameters, S, S_src = small_model(rng), 5, 4
    cache = new_cache(parameters, random_ids(rng, S_src), HEADS, S)
    decode(parameters, cache, random_ids(rng, S - 1), heads=HEADS)
    d, d_ff, blocks = 8, 12, 2
    counted = multiplications(lambda p: decode(p, cache, random_ids(rng, 1), heads=HEADS), parameters)
    assert counted == blocks * (6 * d * d + 2 * d * d_ff + 2 * (S + S_src) * d) + d * N_VOCAB


# ---------------------------------------------------------------- choosing


@few
@given(seeds, leading_axes, st.integers(1, 9), st.floats(0.05, 1))
def test_top_k_and_top_p_equal_torch(seed, leading, k, p):
    Pi = np.random.default_rng(seed).dirichlet(np.ones(9), leading)
    agree(top_k(Pi, k), reference.top_k(Pi, k), FORWARD)
    agree(top_p(Pi, p), reference.top_p(Pi, p), FORWARD)


def test_ties_and_ends_of_top_k_and_top_p():
    Pi = np.array([0.25, 0.25, 0.25, 0.25])
    assert top_k(Pi, 2).tolist() == [0.5, 0.5, 0, 0]
    assert top_p(Pi, 0.5).tolist() == [0.5, 0.5, 0, 0]
    assert top_p(Pi, 0.51).tolist() == [1 / 3, 1 / 3, 1 / 3, 0]
    assert top_p(Pi, 1).tolist() == top_k(Pi, 4).tolist() == Pi.tolist()
    assert top_p(np.array([0.1, 0.9]), 1e-9).tolist() == [0, 1]
    for wrong in (0, 5):
        with pytest.raises(ValueError, match="k is"):
            top_k(Pi, wrong)
    for wrong in (0, -1, 1.1, np.nan):
        with pytest.raises(ValueError, match="p is"):
            top_p(Pi, wrong)
    for wrong in (0, -1, np.nan):
        with pytest.raises(ValueError, match="temperature is"):
            temper(Pi, wrong)


def test_temperature():
    logits = np.random.default_rng(0).normal(size=(3, 7))
    agree(temper(logits, 1.0), softmax(logits), 1e-15)
    assert (temper(logits, 1e-3).argmax(axis=-1) == logits.argmax(axis=-1)).all()
    assert temper(logits, 0.01).max(axis=-1).min() > 0.99
    assert np.allclose(temper(logits, 1e6), 1 / 7, atol=1e-5)


class Extreme:
    """A generator that always gives the same number: the smallest or the largest that random() can give."""

    def __init__(self, value):
        self.value = value

    def random(self, shape):
        return np.full(shape, self.value)


def test_draw_never_takes_what_has_no_probability():
    Pi = np.array([[0, 0.3, 0, 0.7, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    for value in (0.0, 1 - 2**-53):
        assert (np.take_along_axis(Pi, draw(Pi, Extreme(value))[:, None], axis=-1) > 0).all()
    assert draw(Pi, Extreme(0.0)).tolist() == [3, 0, 4]
    assert draw(Pi, Extreme(1 - 2**-53)).tolist() == [1, 0, 4]
    assert draw(Pi[0], np.random.default_rng(0)).shape == ()


def test_frequencies():
    """Each within five standard deviations of its probability: by chance wrong once in a million."""
    Pi = np.array([0.5, 0.3, 0.15, 0.05, 0])
    n = 20_000
    drawn = draw(np.broadcast_to(Pi, (n, 5)), np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=5) / n
    assert (np.abs(shares - Pi) <= 5 * np.sqrt(Pi * (1 - Pi) / n)).all()


def test_top_k_of_1_and_cold_sampling_are_greedy():
    logits = np.random.default_rng(0).normal(size=(50, 7))
    for options in ({"k": 1}, {"p": 1e-9}, {"temperature": 1e-3}):
        assert np.array_equal(sample(logits, np.random.default_rng(1), **options), most_probable(logits))


# ---------------------------------------------------------------- generating


@few
@given(seeds, lengths, norms, st.integers(1, 6))
def test_beam_of_1_is_greedy(seed, S_src, norm, limit):
    rng = np.random.default_rng(seed)
    parameters, src = small_model(rng, norm), random_ids(rng, 1, S_src)
    step, start = partial(decode, parameters, heads=HEADS, norm=norm), np.full((1, 1), START)
    wanted = greedy(parameters, src, HEADS, START, END, limit, norm=norm)
    (found,) = beam_search(step, new_cache(parameters, src, HEADS, limit, norm=norm), start, 1, END, limit)["found"]
    assert np.array_equal(found["ids"], wanted[0])
    by_top_1 = partial(sample, rng=rng, k=1)
    for choose in (most_probable, by_top_1):
        cache = new_cache(parameters, src, HEADS, limit, norm=norm)
        assert np.array_equal(generate(step, cache, start, choose, END, limit), wanted)


@few
@given(seeds, st.sampled_from([0.0, 0.6]))
def test_a_wide_beam_finds_the_best_of_all_sequences(seed, alpha):
    """11 + 110 prefixes fit into a beam of 1331, so nothing is thrown away."""
    rng = np.random.default_rng(seed)
    parameters, src, limit = small_model(rng), random_ids(rng, 1, 3), 3
    step, start = partial(decode, parameters, heads=HEADS), np.full((1, 1), START)
    states = beam_search(step, new_cache(parameters, src, HEADS, limit), start, N_VOCAB**limit, END, limit, alpha)
    log_Pi = {}
    others = [token for token in range(N_VOCAB) if token != END]
    for length in range(limit):
        prefixes = np.array(list(itertools.product(others, repeat=length)), int).reshape(len(others) ** length, length)
        tgt_in = np.concatenate([np.full((len(prefixes), 1), START), prefixes], axis=1)
        logits = transformer(parameters, src.repeat(len(prefixes), 0), tgt_in, HEADS)["logits"][:, -1]
        log_Pi |= zip(map(tuple, prefixes.tolist()), log_softmax(logits), strict=True)
    scores = {}
    for length in range(1, limit + 1):
        for prefix in itertools.product(others, repeat=length - 1):
            before = sum(log_Pi[prefix[:i]][prefix[i]] for i in range(length - 1))
            for token in [END] if length < limit else range(N_VOCAB):
                total = before + log_Pi[prefix][token]
                scores[(*prefix, token)] = total / length_penalty(length, alpha)
    assert len(states["found"]) == len(scores)
    for one in states["found"]:
        assert one["score"] == pytest.approx(scores[tuple(one["ids"].tolist())], abs=1e-9)
    assert states["found"][0]["score"] == pytest.approx(max(scores.values()), abs=1e-9)


def test_rounds_lead_to_what_is_found():
    rng = np.random.default_rng(3)
    parameters = small_model(rng)
    step, start = partial(decode, parameters, heads=HEADS), np.full((1, 1), START)
    states = beam_search(step, new_cache(parameters, random_ids(rng, 1, 4), HEADS, 6), start, 4, END, 6)
    alive, ended = [()], []
    for kept in states["rounds"]:
        grown = [(alive[row] + (token,), token, total) for row, token, total in kept]
        ended += [(ids, total) for ids, token, total in grown if token == END]
        alive = [ids for ids, token, _ in grown if token != END]
    assert len(states["found"]) == len(ended) + len(alive) == 4
    assert {tuple(one["ids"].tolist()) for one in states["found"]} == {ids for ids, _ in ended} | set(alive)
    with pytest.raises(ValueError, match="beams is 0"):
        beam_search(step, new_cache(parameters, random_ids(rng, 1, 4), HEADS, 6), start, 0, END, 6)


def test_length_penalty():
    assert length_penalty(1) == 1
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(7, 0.0) == 1
    assert length_penalty(7) == pytest.approx(2**0.6)
    assert -6 / length_penalty(8) > -6 / length_penalty(7)  # of two equally probable the longer wins


def test_a_row_that_ended_holds_end_tokens_and_one_sentence_needs_no_batch():
    rng = np.random.default_rng(0)
    parameters, limit, never = small_model(rng), 9, -1
    src = random_ids(rng, 40, 5)
    end = int(np.bincount(greedy(parameters, src, HEADS, START, never, limit)[:, 1:].reshape(-1)).argmax())
    ids = greedy(parameters, src, HEADS, START, end, limit)
    lengths = [row.tolist().index(end) for row in ids if end in row]
    assert len(set(lengths)) > 1
    for row in ids:
        if end in row:
            assert (row[row.tolist().index(end) :] == end).all()
    step = partial(decode, parameters, heads=HEADS)
    alone = greedy(parameters, src[0], HEADS, START, end, limit)
    assert np.array_equal(alone, ids[0, : len(alone)])
    cached = generate(step, new_cache(parameters, src[0], HEADS, limit), np.array([START]), most_probable, end, limit)
    assert np.array_equal(cached, alone)


def test_log_softmax_is_finite_for_large_scores():
    assert log_softmax(np.array([[1000.0, 0.0], [-1000.0, 0.0]])).tolist() == [[0.0, -1000.0], [-1000.0, 0.0]]
