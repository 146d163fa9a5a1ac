"""Multi-head attention against nn.MultiheadAttention with copied weights."""

import numpy as np
import pytest
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
    mask_kinds,
    random_mask,
    seeds,
    shaken,
)

from helpers.layers.attention import attention, causal_mask
from helpers.layers.multi_head_attention import (
    merge_heads,
    multi_head_attention,
    multi_head_attention_backward,
    new_multi_head_attention,
    split_heads,
)
from helpers.layers.nest import map_nest
from helpers.reference import multi_head_attention as reference
from helpers.reference import to_arrays

# heads and d: one head, heads of width 1, and between
sizes = st.sampled_from([(1, 1), (1, 6), (6, 6), (2, 6), (3, 6), (4, 8)])


def new_case(seed, d, bias=True, dtype="d"):
    rng = np.random.default_rng(seed)
    parameters = shaken(new_multi_head_attention(rng, d, bias), rng)
    return rng, map_nest(lambda array: array.astype(dtype), parameters)


@few
@given(seeds, leading_axes, lengths, lengths, sizes, st.booleans(), mask_kinds, st.booleans(), st.sampled_from("fd"))
def test_equals_torch(seed, leading, S_q, S_k, size, bias, kind, own, dtype):
    heads, d = size
    rng, parameters = new_case(seed, d, bias, dtype)
    X_q = rng.standard_normal((*leading, S_q, d)).astype(dtype)
    X_kv = X_q if own else rng.standard_normal((*leading, S_k, d)).astype(dtype)
    dO = rng.standard_normal(X_q.shape).astype(dtype)
    M = random_mask(rng, kind, leading, S_q, X_kv.shape[-2])
    states = multi_head_attention(parameters, X_q, X_kv, heads, M)
    theirs = reference.multi_head_attention(parameters, X_q, X_kv, heads, M)
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-5, 1e-4)
    agree({name: states[name] for name in "AO"}, theirs, forward)
    ours = multi_head_attention_backward(parameters, states, dO)
    agree(list(ours), list(reference.multi_head_attention_gradients(parameters, X_q, X_kv, heads, dO, M)), gradient)
    all_of_type([states, *ours], np.dtype(dtype))


def test_weights_go_to_torch_and_come_back():
    _, parameters = new_case(0, 6)
    module = reference.new_multi_head_attention(parameters, 2)
    agree(to_arrays(reference.multi_head_nest(module)), parameters, 0)


def test_one_product_equals_a_projection_for_each_head():
    rng, parameters = new_case(1, 6, bias=False)
    X = rng.standard_normal((2, 5, 6))
    states = multi_head_attention(parameters, X, X, 3)
    outputs = []
    for head in range(3):
        columns = slice(2 * head, 2 * head + 2)
        alone = attention(*(X @ parameters[name][:, columns] for name in ("W_Q", "W_K", "W_V")))
        agree({name: states[name][:, head] for name in alone}, alone, FORWARD)
        outputs.append(alone["H"])
    agree(states["H_concat"], np.concatenate(outputs, axis=-1), FORWARD)
    agree(states["O"], np.concatenate(outputs, axis=-1) @ parameters["W_O"], FORWARD)


def test_split_is_a_view_and_merge_is_its_inverse():
    X = np.arange(24.0).reshape(2, 2, 6)
    by_head = split_heads(X, 3)
    assert by_head.shape == (2, 3, 2, 2)
    assert np.shares_memory(by_head, X)
    assert by_head[0, 1].tolist() == [[2, 3], [8, 9]]
    assert np.array_equal(merge_heads(by_head), X)


def test_gradients_by_finite_differences():
    rng, parameters = new_case(2, 4)
    X_q, X_kv, dO = (rng.standard_normal((S, 4)) for S in (3, 5, 3))
    M = random_mask(rng, "random", (), 3, 5)
    gradients, dX_q, dX_kv = multi_head_attention_backward(
        parameters, multi_head_attention(parameters, X_q, X_kv, 2, M), dO
    )
    for name, array in parameters.items():

        def moved(array, name=name):
            return multi_head_attention(parameters | {name: array}, X_q, X_kv, 2, M)["O"]

        agree(gradients[name], finite_differences(moved, array, dO), 1e-7)
    agree(dX_q, finite_differences(lambda X: multi_head_attention(parameters, X, X_kv, 2, M)["O"], X_q, dO), 1e-7)
    agree(dX_kv, finite_differences(lambda X: multi_head_attention(parameters, X_q, X, 2, M)["O"], X_kv, dO), 1e-7)


def test_without_positions_a_permutation_goes_through():
    rng, parameters = new_case(3, 8)
    X, order = rng.standard_normal((6, 8)), rng.permutation(6)
    O = multi_head_attention(parameters, X, X, 4)["O"]  # noqa: E741
    agree(multi_head_attention(parameters, X[order], X[order], 4)["O"], O[order], FORWARD)


def test_the_future_cannot_be_read():
    rng, parameters = new_case(4, 8)
    X = rng.standard_normal((2, 6, 8))
    O = multi_head_attention(parameters, X, X, 4, causal_mask(6))["O"]  # noqa: E741
    for t in range(5):
        later = X.copy()
        later[:, t + 1 :] += 3
        moved = multi_head_attention(parameters, later, later, 4, causal_mask(6))["O"]
        np.testing.assert_allclose(moved[:, : t + 1], O[:, : t + 1], rtol=0, atol=1e-13)
        assert np.abs(moved[:, t + 1 :] - O[:, t + 1 :]).max(axis=-1).min() > 1e-3


@pytest.mark.parametrize("size", [1e-30, 1e4, 1e12])
def test_large_and_small_inputs_stay_finite(size):
    rng, parameters = new_case(5, 8)
    X = size * rng.standard_normal((2, 4, 8))
    states = multi_head_attention(parameters, X, X, 2, causal_mask(4))
    gradients, *dX = multi_head_attention_backward(parameters, states, np.ones(X.shape))
    assert all(np.isfinite(array).all() for array in [states["O"], *gradients.values(), *dX])


def test_inputs_are_left_alone():
    rng, parameters = new_case(6, 8)
    X, M, dO = rng.standard_normal((2, 4, 8)), causal_mask(4), rng.standard_normal((2, 4, 8))
    before = map_nest(np.copy, [parameters, X, M, dO])
    multi_head_attention_backward(parameters, multi_head_attention(parameters, X, X, 2, M), dO)
    agree([parameters, X, M, dO], before, 0)


def test_gradients_have_the_parameters_nest_in_its_order():
    for bias in (True, False):
        rng, parameters = new_case(7, 4, bias)
        states = multi_head_attention(parameters, *rng.standard_normal((2, 3, 4)), 2)
        gradients, _, _ = multi_head_attention_backward(parameters, states, np.ones((3, 4)))
        assert sorted(gradients) == sorted(parameters)


def test_new_parameters_in_float32():
    rng, parameters = new_case(8, 4)
    all_of_type(as_float32(parameters), np.float32)
    fresh = new_multi_head_attention(rng, 4)
    assert [name for name in fresh if not fresh[name].any()] == ["b_Q", "b_K", "b_V", "b_O"]
    assert not any(name.startswith("b") for name in new_multi_head_attention(rng, 4, bias=False))


@pytest.mark.parametrize(
    ("X_q", "X_kv", "heads", "M", "message"),
    [
        ((3, 6), (3, 6), 4, None, "heads is 4; expected a divisor of d = 6"),
        ((3, 6), (3, 6), 0, None, "heads is 0"),
        ((3, 5), (3, 6), 2, None, r"X_q has shape \(3, 5\); expected \(..., S, 6\)"),
        ((3, 6), (3, 7), 2, None, r"X_kv has shape \(3, 7\)"),
        ((0, 6), (3, 6), 2, None, r"X_q has shape \(0, 6\); .* at least 1"),
        ((3, 6), (0, 6), 2, None, r"X_kv has shape \(0, 6\)"),
        ((2, 3, 6), (3, 3, 6), 2, None, r"X_kv has shape \(3, 3, 6\); its leading axes"),
        ((2, 3, 6), (2, 4, 6), 2, (4, 3), r"M has shape \(4, 3\); it must broadcast to \(2, 3, 4\)"),
        ((2, 3, 6), (2, 4, 6), 2, (2, 2, 3, 4), r"M has shape \(2, 2, 3, 4\); .* without an axis for heads"),
        ((2, 3, 6), (2, 4, 6), 2, (4,), r"M has shape \(4,\)"),
    ],
)
def test_refuses(X_q, X_kv, heads, M, message):
    _, parameters = new_case(9, 6)
    with pytest.raises(ValueError, match=message):
        multi_head_attention(parameters, np.ones(X_q), np.ones(X_kv), heads, None if M is None else np.zeros(M))


def test_split_refuses():
    with pytest.raises(ValueError, match="heads is 4; expected a divisor of d = 6"):
        split_heads(np.ones((3, 6)), 4)


def test_a_row_with_nothing_to_read_is_named():
    rng, parameters = new_case(10, 6)
    X, M = rng.standard_normal((2, 3, 6)), np.zeros((2, 3, 3))
    M[1, 2] = -np.inf
    with pytest.raises(ValueError, match=r"row \(1, 0, 2\)"):
        multi_head_attention(parameters, X, X, 2, M)
