"""Linear maps and projections against nn.Linear."""

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
    differ_only_in_row,
    few,
    finite_differences,
    leading_axes,
    lengths,
    seeds,
    shaken,
)

from helpers.layers.query_key_value import (
    linear,
    linear_backward,
    new_projections,
    new_weight,
    project,
    project_backward,
)
from helpers.reference import query_key_value as reference

widths = st.integers(1, 6)


@few
@given(seeds, leading_axes, lengths, widths, widths, st.booleans(), st.sampled_from("fd"))
def test_linear_equals_torch(seed, leading, S, n_in, n_out, bias, dtype):
    rng = np.random.default_rng(seed)
    X, dY = (rng.standard_normal((*leading, S, n)).astype(dtype) for n in (n_in, n_out))
    W, b = new_weight(rng, n_in, n_out).astype(dtype), rng.standard_normal(n_out).astype(dtype) if bias else None
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-5, 1e-5)
    agree(linear(X, W, b), reference.linear(X, W, b), forward)
    ours, theirs = linear_backward(X, W, dY), reference.linear_gradients(X, W, b, dY)
    kept = 3 if bias else 2
    agree(list(ours[:kept]), list(theirs[:kept]), gradient)


@few
@given(seeds, leading_axes, lengths, widths, widths, st.booleans())
def test_projections_equal_torch(seed, leading, S, d, d_k, bias):
    rng = np.random.default_rng(seed)
    parameters = shaken(new_projections(rng, d, d_k, bias), rng)
    X, dQKV = rng.standard_normal((*leading, S, d)), rng.standard_normal((3, *leading, S, d_k))
    states = project(parameters, X)
    agree({name: states[name] for name in "QKV"}, reference.project(parameters, X), FORWARD)
    gradients, dX, dX_kv = project_backward(parameters, states, *dQKV)
    torch_gradients, torch_dX = reference.project_gradients(parameters, X, *dQKV)
    agree(gradients, torch_gradients, GRADIENT)
    agree(dX + dX_kv, torch_dX, GRADIENT)


def test_keys_and_values_come_from_another_sequence():
    rng = np.random.default_rng(0)
    parameters = shaken(new_projections(rng, 4, 3, bias=True), rng)
    X, X_kv = rng.standard_normal((5, 4)), rng.standard_normal((2, 4))
    states = project(parameters, X, X_kv)
    assert np.array_equal(states["Q"], project(parameters, X)["Q"])
    for name in "KV":
        assert np.array_equal(states[name], project(parameters, X_kv)[name])
    dQ, dK, dV = (rng.standard_normal(states[name].shape) for name in "QKV")
    _, dX, dX_kv = project_backward(parameters, states, dQ, dK, dV)
    agree(dX, dQ @ parameters["W_Q"].T, FORWARD)
    agree(dX_kv, dK @ parameters["W_K"].T + dV @ parameters["W_V"].T, FORWARD)


def test_gradients_by_finite_differences():
    rng = np.random.default_rng(1)
    X, W, b, dY = (rng.standard_normal(shape) for shape in ((2, 3, 4), (4, 2), (2,), (2, 3, 2)))
    dX, dW, db = linear_backward(X, W, dY)
    agree(dX, finite_differences(lambda moved: linear(moved, W, b), X, dY), 1e-7)
    agree(dW, finite_differences(lambda moved: linear(X, moved, b), W, dY), 1e-7)
    agree(db, finite_differences(lambda moved: linear(X, W, moved), b, dY), 1e-7)


def test_one_row_in_one_row_out():
    rng = np.random.default_rng(2)
    parameters = shaken(new_projections(rng, 4, 3, bias=True), rng)
    X = rng.standard_normal((2, 5, 4))
    moved = X.copy()
    moved[:, 3] += 1
    before, after = project(parameters, X), project(parameters, moved)
    for name in "QKV":
        differ_only_in_row(before[name], after[name], 3)


def test_inputs_are_left_alone_and_float32_stays():
    rng = np.random.default_rng(3)
    parameters = as_float32(shaken(new_projections(rng, 4, 3, bias=True), rng))
    X = rng.standard_normal((2, 5, 4)).astype(np.float32)
    copy = X.copy()
    states = project(parameters, X)
    gradients, dX, dX_kv = project_backward(parameters, states, states["Q"], states["K"], states["V"])
    all_of_type([states, gradients, dX, dX_kv], np.float32)
    assert np.array_equal(X, copy)


def test_a_single_row_and_no_leading_axes():
    W = np.arange(6.0).reshape(2, 3)
    assert linear(np.array([1.0, 10.0]), W).tolist() == [30, 41, 52]


def test_new_weight_stays_within_its_bound():
    W = new_weight(np.random.default_rng(0), 100, 50)
    assert np.abs(W).max() <= np.sqrt(6 / 150) < 1.01 * np.abs(W).max()
    assert abs(W.var() * 75 - 1) < 0.05


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((5, 4), (3, 4)), r"W has shape \(3, 4\); expected \(4, n_out\), as X has shape \(5, 4\)"),
        (((5, 4), (4,)), r"W has shape \(4,\)"),
        (((5, 4), (4, 3), (1,)), r"b has shape \(1,\); expected \(3,\)"),
        (((5, 4), (4, 3), (5, 3)), r"b has shape \(5, 3\); expected \(3,\)"),
    ],
)
def test_refuses(shapes, message):
    with pytest.raises(ValueError, match=message):
        linear(*(np.ones(shape) for shape in shapes))
