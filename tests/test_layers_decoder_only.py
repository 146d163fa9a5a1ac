"""GPT-2 against a torch GPT-2 from nn parts, and what its mask and its tied table promise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import (
    FORWARD,
    GRADIENT,
    agree,
    all_of_type,
    as_float32,
    few,
    finite_differences,
    leading_axes,
    lengths,
    seeds,
    shaken,
)

from helpers.layers.decoder_only import (
    complete,
    gelu,
    gelu_backward,
    gelu_mlp,
    gelu_mlp_backward,
    gpt2,
    gpt2_backward,
    gpt2_shapes,
    new_gpt2,
)
from helpers.layers.nest import count, flatten, map_nest, unflatten, walk
from helpers.layers.residual_and_mlp import new_mlp
from helpers.reference import decoder_only as reference
from helpers.reference import to_arrays

N_VOCAB, POSITIONS = 23, 9
heads_and_d = st.sampled_from([(1, 3), (2, 4), (3, 6), (4, 8)])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """torch's threads wait for each other: on a busy machine a small model is many times slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small_model(rng, d=8, d_ff=12, blocks=2):
    return shaken(new_gpt2(rng, N_VOCAB, POSITIONS, d, d_ff, blocks), rng)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_equals_torch(dtype):
    rng = np.random.default_rng(0)
    T = np.concatenate([5 * rng.standard_normal(500), [0, -30, 30, 1e4, -1e4]]).astype(dtype)
    dU = rng.standard_normal(T.shape).astype(dtype)
    bound = 1e-6 if dtype == np.float32 else FORWARD
    agree(gelu(T), reference.gelu(T), bound)
    agree(gelu_backward(T, dU), reference.gelu_gradient(T, dU), bound)
    assert np.isfinite(gelu_backward(T, dU)).all()


def test_gelu_is_not_the_exact_one():
    T = np.linspace(-4, 4, 81)
    exact = torch.nn.GELU()(torch.from_numpy(T)).numpy()
    assert 1e-4 < np.abs(gelu(T) - exact).max() < 1e-3


@few
@given(seeds, leading_axes, lengths)
def test_gelu_mlp_by_finite_differences(seed, leading, S):
    rng = np.random.default_rng(seed)
    parameters = shaken(new_mlp(rng, 3, 5), rng)
    Z, dF = rng.standard_normal((2, *leading, S, 3))
    states = gelu_mlp(parameters, Z)
    gradients, dZ = gelu_mlp_backward(parameters, states, dF)
    agree(dZ, finite_differences(lambda moved: gelu_mlp(parameters, moved)["F"], Z, dF), 1e-6)
    for name, array in parameters.items():

        def moved(array, name=name):
            return gelu_mlp(parameters | {name: array}, Z)["F"]

        agree(gradients[name], finite_differences(moved, array, dF), 1e-6)


@few
@given(seeds, st.integers(1, 4), lengths, heads_and_d, st.integers(1, 3), st.sampled_from([1e-5, 1e-2]))
def test_model_equals_torch(seed, batch, S, sizes, blocks, epsilon):
    rng = np.random.default_rng(seed)
    heads, d = sizes
    parameters = small_model(rng, d, 7, blocks)
    ids = rng.integers(0, N_VOCAB, (batch, S))
    states = gpt2(parameters, ids, heads, epsilon)
    theirs = reference.gpt2(parameters, ids, heads, epsilon)
    agree({name: states[name] for name in theirs}, theirs, FORWARD)
    dlogits = rng.standard_normal(states["logits"].shape)
    expected = reference.gpt2_gradients(parameters, ids, heads, dlogits, epsilon)
    agree(gpt2_backward(parameters, states, dlogits), expected, GRADIENT)


def test_torchs_own_random_weights_copied_out():
    torch.manual_seed(0)
    model = reference.GPT2(N_VOCAB, POSITIONS, 8, 2, 12, 3, 1e-3)
    parameters = to_arrays(reference.gpt2_nest(model))
    assert count(parameters) == sum(tensor.numel() for tensor in model.parameters())
    ids = np.random.default_rng(0).integers(0, N_VOCAB, (3, 6))
    D, logits = model(torch.from_numpy(ids))
    states = gpt2(parameters, ids, 2, 1e-3)
    agree({"D": states["D"], "logits": states["logits"]}, to_arrays({"D": D, "logits": logits}), FORWARD)


@pytest.mark.slow
def test_the_width_of_gpt2_small():
    rng = np.random.default_rng(0)
    parameters = new_gpt2(rng, 100, 64, 768, 3072, 2)
    ids = rng.integers(0, 100, (2, 64))
    states = gpt2(parameters, ids, 12)
    agree(states["logits"], reference.gpt2(parameters, ids, 12)["logits"], 1e-9)
    dlogits = rng.standard_normal(states["logits"].shape)
    agree(gpt2_backward(parameters, states, dlogits), reference.gpt2_gradients(parameters, ids, 12, dlogits), GRADIENT)


def test_gradients_by_finite_differences():
    rng = np.random.default_rng(1)
    parameters = shaken(new_gpt2(rng, 5, 4, 4, 3, 2), rng)
    ids = np.array([[1, 3, 1], [0, 4, 2]])
    states = gpt2(parameters, ids, 2)
    dlogits = rng.standard_normal(states["logits"].shape)
    gradients = flatten(gpt2_backward(parameters, states, dlogits))
    flat = flatten(parameters)
    for path, array in flat.items():

        def moved(array, path=path):
            return gpt2(unflatten(flat | {path: array}), ids, 2)["logits"]

        agree(gradients[path], finite_differences(moved, array, dlogits, 1e-5), 1e-5)


def test_no_row_reads_what_comes_after_it():
    rng = np.random.default_rng(2)
    parameters = small_model(rng)
    ids = rng.integers(0, N_VOCAB, 8)
    before = gpt2(parameters, ids, 2)["logits"]
    for place in range(8):
        other = ids.copy()
        other[place] = (ids[place] + 1) % N_VOCAB
        changed = np.abs(gpt2(parameters, other, 2)["logits"] - before).max(axis=-1)
        assert changed[:place].max(initial=0) <= 1e-12
        assert changed[place:].min() > 1e-6


def test_padding_at_the_end_changes_nothing_that_is_real():
    rng = np.random.default_rng(3)
    parameters = small_model(rng)
    ids = rng.integers(0, N_VOCAB, (2, 8))
    agree(gpt2(parameters, ids, 2)["logits"][:, :5], gpt2(parameters, ids[:, :5], 2)["logits"], 1e-12)


def test_each_position_past_the_prompt_is_predicted_from_all_before_it():
    rng = np.random.default_rng(4)
    parameters = small_model(rng)
    prompts, given_lengths = rng.integers(0, N_VOCAB, (3, 4)), np.array([4, 1, 2])
    new = complete(parameters, prompts, given_lengths, 2, end=-1, limit=5)
    assert new.shape == (3, 5)
    for row, length, written in zip(prompts, given_lengths, new, strict=True):
        ids = row[:length].tolist()
        for token in written:
            assert token == gpt2(parameters, ids, 2)["logits"][-1].argmax()
            ids.append(token)


def test_rows_end_at_their_end_token():
    rng = np.random.default_rng(4)
    parameters = small_model(rng)
    prompts = rng.integers(0, N_VOCAB, (3, 2))
    free = complete(parameters, prompts, [2, 2, 2], 2, end=-1, limit=4)
    end = free[0, 1]
    stopped = complete(parameters, prompts, [2, 2, 2], 2, end, limit=4)
    assert (stopped[0, 1:] == end).all()
    for before, after in zip(free, stopped, strict=True):
        first = np.flatnonzero(before == end).min(initial=4)
        assert after[: first + 1].tolist() == before[: first + 1][: len(after)].tolist()
    assert complete(parameters, prompts[:1], [2], 2, free[0, 0], limit=4).tolist() == [[free[0, 0]]]


def test_float32_stays_float32():
    rng = np.random.default_rng(5)
    parameters = as_float32(small_model(rng))
    states = gpt2(parameters, rng.integers(0, N_VOCAB, (2, 5)), 2)
    all_of_type({name: states[name] for name in ("X", "blocks", "norm", "D", "logits")}, np.float32)
    all_of_type(gpt2_backward(parameters, states, states["logits"]), np.float32)


def test_inputs_are_left_alone():
    rng = np.random.default_rng(6)
    parameters, ids = small_model(rng), rng.integers(0, N_VOCAB, (2, 5))
    before = map_nest(np.copy, [parameters, ids])
    states = gpt2(parameters, ids, 2)
    kept, dlogits = map_nest(np.copy, states), rng.standard_normal(states["logits"].shape)
    gpt2_backward(parameters, states, dlogits)
    complete(parameters, ids, [5, 3], 2, 0, 2)
    agree([parameters, ids], before, 0)
    agree(states, kept, 0)


def test_shapes_are_those_of_new_parameters():
    sizes = {"N_vocab": 7, "positions": 5, "d": 4, "d_ff": 9, "blocks": 3}
    drawn = new_gpt2(np.random.default_rng(0), **sizes)
    assert dict(walk(gpt2_shapes(**sizes))) == {path: array.shape for path, array in walk(drawn)}


def test_gpt2_small_has_124439808_parameters():
    # views of a single zero: the shapes without the half gigabyte
    small = map_nest(lambda shape: np.broadcast_to(np.float32(0), shape), gpt2_shapes())
    assert count(small) == 124_439_808


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.zeros(POSITIONS + 1, int), f"S = {POSITIONS + 1} tokens"),
        (np.array([0, N_VOCAB]), f"is {N_VOCAB}; expected an id"),
        (np.zeros(0, int), "S of at least 1"),
        (np.array([0.0]), "whole numbers"),
    ],
)
def test_refuses(ids, message):
    with pytest.raises(ValueError, match=message):
        gpt2(small_model(np.random.default_rng(7)), ids, 2)
