"""Counts from formulas against live arrays, numel and torch.utils.flop_counter, for random sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.layers import nest
from helpers.layers.capacity_and_data import (
    cache_numbers,
    gpt2_flops,
    gpt2_parameters,
    gpt2_states,
    overtaking_length,
    training_flops,
    transformer_flops,
    transformer_parameters,
    transformer_states,
)
from helpers.layers.decoder_only import gpt2, gpt2_shapes, new_gpt2
from helpers.layers.encoder_decoder import new_transformer, transformer
from helpers.layers.inference import new_cache, new_gpt2_cache
from helpers.reference import capacity_and_data as reference

RNG = np.random.default_rng(12)
lengths = st.integers(2, 12)
few = settings(max_examples=8, deadline=None)


@st.composite
def sizes(draw):
    """N_vocab, d, heads, d_ff, blocks; two heads of two columns or more, so that H and H_concat lie apart in memory."""
    heads = draw(st.integers(2, 4))
    width = heads * draw(st.integers(2, 6))
    return draw(st.integers(5, 60)), width, heads, draw(st.integers(1, 40)), draw(st.integers(1, 3))


def kept(states):
    """Numbers that the states hold, shared memory counted once; ids are not counted."""
    owners = {}
    for _, array in nest.walk(states):
        owner = array if array.base is None else array.base
        if array.dtype.kind == "f":
            owners[id(owner)] = owner.size
    return sum(owners.values())


@few
@given(sizes(), lengths, lengths, st.sampled_from(["post", "pre"]))
def test_transformer(size, S_src, S_tgt, norm):
    N_vocab, d, heads, d_ff, blocks = size
    parameters = new_transformer(RNG, N_vocab, d, d_ff, blocks, norm)
    ours = transformer_parameters(N_vocab, d, d_ff, blocks, norm)
    model = reference.new_transformer(N_vocab, d, heads, d_ff, blocks, norm)
    assert sum(ours.values()) == nest.count(parameters)
    assert {part: count for part, count in ours.items() if count} == reference.parameters(model)

    ours = transformer_flops(N_vocab, d, d_ff, blocks, S_src, S_tgt)
    forward, both = reference.transformer_flops(model, S_src, S_tgt)
    assert {part: count for part, count in ours.items() if count} == forward
    assert training_flops(sum(ours.values())) == both

    src, tgt_in = RNG.integers(N_vocab, size=S_src), RNG.integers(N_vocab, size=S_tgt)
    if norm == "post":
        states = transformer(parameters, src, tgt_in, heads)
        assert sum(transformer_states(N_vocab, d, heads, d_ff, blocks, S_src, S_tgt).values()) == kept(states)
    cache = new_cache(parameters, src[None], heads, S_tgt, norm=norm)
    held = sum(array.size for path, array in nest.walk(cache) if path.split("/")[-1] in "KV")
    assert cache_numbers(d, blocks, S_tgt, S_src) == held


@few
@given(sizes(), lengths)
def test_gpt2(size, S):
    N_vocab, d, heads, d_ff, blocks = size
    parameters = new_gpt2(RNG, N_vocab, S, d, d_ff, blocks)
    ours = gpt2_parameters(N_vocab, S, d, d_ff, blocks)
    model = reference.new_gpt2(N_vocab, S, d, heads, d_ff, blocks)
    assert sum(ours.values()) == nest.count(parameters)
    assert {part: count for part, count in ours.items() if count} == reference.parameters(model)

    ours = gpt2_flops(N_vocab, d, d_ff, blocks, S)
    forward, both = reference.gpt2_flops(model, S)
    assert {part: count for part, count in ours.items() if count} == forward
    assert training_flops(sum(ours.values())) == both

    states = gpt2(parameters, RNG.integers(N_vocab, size=S), heads)
    assert sum(gpt2_states(N_vocab, d, heads, d_ff, blocks, S).values()) == kept(states)
    cache = new_gpt2_cache(parameters, (1,), heads, S)
    held = sum(array.size for path, array in nest.walk(cache) if path.split("/")[-1] in "KV")
    assert cache_numbers(d, blocks, S) == held


def test_published_models():
    base = transformer_parameters(37_000, 512, 2048, 6)
    assert sum(base.values()) == sum(reference.parameters(reference.new_transformer(37_000, 512, 8, 2048, 6)).values())
    small = gpt2_parameters(50257, 1024, 768, 3072, 12)
    assert sum(small.values()) == 124_439_808
    assert sum(small.values()) == sum(int(np.prod(shape)) for shape in shapes(gpt2_shapes()))


def shapes(part):
    """The shapes in a nest of shapes."""
    if isinstance(part, tuple):
        yield part
    else:
        for below in part.values() if isinstance(part, dict) else part:
            yield from shapes(below)


@pytest.mark.parametrize("d, d_ff", [(8, 32), (64, 256), (512, 2048)])
def test_without_an_output_attention_overtakes_at_2d_plus_d_ff(d, d_ff):
    assert overtaking_length(gpt2_flops(0, d, d_ff, 3, 1)) == 2 * d + d_ff


@few
@given(sizes())
def test_at_the_overtaking_length_pairs_cost_half(size):
    N_vocab, d, _, d_ff, blocks = size
    S = overtaking_length(transformer_flops(N_vocab, d, d_ff, blocks, 1, 1))
    flops = transformer_flops(N_vocab, d, d_ff, blocks, S, S)
    assert flops["pairs of positions"] == pytest.approx(sum(flops.values()) / 2)


def test_unbiased_attention_has_no_biases():
    biased, bare = (transformer_parameters(10, 8, 32, 2, bias=bias) for bias in (True, False))
    assert sum(biased.values()) - sum(bare.values()) == 3 * 2 * 4 * 8
