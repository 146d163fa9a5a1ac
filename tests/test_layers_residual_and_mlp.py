"""LayerNorm, MLP, dropout and the encoder block against torch."""

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
    mask_kinds,
    random_mask,
    seeds,
    shaken,
)

from helpers.layers.attention import causal_mask
from helpers.layers.nest import count, flatten, map_nest, unflatten
from helpers.layers.residual_and_mlp import (
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
    relu,
    relu_backward,
    residual,
    residual_backward,
)
from helpers.reference import residual_and_mlp as reference
from helpers.reference import to_arrays

dtypes = st.sampled_from("fd")
norms = st.sampled_from(["post", "pre"])


def cast(nest, dtype):
    return map_nest(lambda array: array.astype(dtype), nest)


@few
@given(seeds, leading_axes, lengths, st.integers(2, 9), st.sampled_from([1e-5, 1e-3, 0.5]), dtypes)
def test_layer_norm_equals_torch(seed, leading, S, d, epsilon, dtype):
    rng = np.random.default_rng(seed)
    parameters = cast(shaken(new_layer_norm(d), rng), dtype)
    X, dY = rng.standard_normal((2, *leading, S, d)).astype(dtype)
    states = layer_norm(parameters, X, epsilon)
    # a row whose entries lie close together has large gradients, in float32 with little precision
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-3, 1e-2)
    agree(states["Y"], reference.layer_norm(parameters, X, epsilon), forward)
    ours = layer_norm_backward(parameters, states, dY)
    agree(list(ours), list(reference.layer_norm_gradients(parameters, X, dY, epsilon)), gradient)
    all_of_type([states, *ours], np.dtype(dtype))


def test_layer_norm_at_d_4_by_hand():
    X = np.array([[1.0, 2.0, 3.0, 6.0]])  # mean 3, squares of the distances 4, 1, 0, 9
    states = layer_norm(new_layer_norm(4), X, epsilon=0.5)
    assert states["std"].tolist() == [[2.0]]  # root of 14 / 4 + 0.5
    assert states["Y"].tolist() == [[-1.0, -0.5, 0.0, 1.5]]


def test_layer_norm_at_d_4_tells_the_typical_mistakes_apart():
    X = np.random.default_rng(0).standard_normal((6, 4))
    Y = reference.layer_norm(new_layer_norm(4), X, epsilon=1e-2)
    agree(layer_norm(new_layer_norm(4), X, epsilon=1e-2)["Y"], Y, FORWARD)
    centred = X - X.mean(-1, keepdims=True)
    assert np.abs(centred / np.sqrt(X.var(-1, ddof=1, keepdims=True) + 1e-2) - Y).max() > 0.05
    assert np.abs(centred / (X.std(-1, keepdims=True) + 1e-2) - Y).max() > 1e-3


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e30])
def test_layer_norm_stays_finite(size):
    rng = np.random.default_rng(1)
    X, dY = rng.standard_normal((2, 5, 8))
    parameters = shaken(new_layer_norm(8), rng)
    states = layer_norm(parameters, size * X)
    gradients, dX = layer_norm_backward(parameters, states, dY)
    assert all(np.isfinite(array).all() for array in [states["Y"], dX, *gradients.values()])


@few
@given(seeds, leading_axes, lengths, st.integers(1, 6), st.integers(1, 9), dtypes)
def test_mlp_equals_torch(seed, leading, S, d, d_ff, dtype):
    rng = np.random.default_rng(seed)
    parameters = cast(shaken(new_mlp(rng, d, d_ff), rng), dtype)
    Z, dF = rng.standard_normal((2, *leading, S, d)).astype(dtype)
    states = mlp(parameters, Z)
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-5, 1e-4)
    agree(states["F"], reference.mlp(parameters, Z), forward)
    ours = mlp_backward(parameters, states, dF)
    agree(list(ours), list(reference.mlp_gradients(parameters, Z, dF)), gradient)
    all_of_type([states, *ours], np.dtype(dtype))


def test_relu():
    U = relu(np.array([-2.0, 0.0, 3.0]))
    assert U.tolist() == [0, 0, 3]
    assert relu_backward(U, np.array([5.0, 5.0, 5.0])).tolist() == [0, 0, 5]


def test_mlp_moves_nothing_across_rows():
    rng = np.random.default_rng(2)
    parameters, Z = shaken(new_mlp(rng, 4, 9), rng), rng.standard_normal((2, 5, 4))
    moved = Z.copy()
    moved[:, 1] += 1
    differ_only_in_row(mlp(parameters, Z)["F"], mlp(parameters, moved)["F"], 1)


def test_parts_by_finite_differences():
    rng = np.random.default_rng(3)
    X, dY = rng.standard_normal((2, 3, 4))
    for new, forward, backward, out in (
        (new_layer_norm(4), layer_norm, layer_norm_backward, "Y"),
        (new_mlp(rng, 4, 5), mlp, mlp_backward, "F"),
    ):
        parameters = shaken(new, rng)
        gradients, dX = backward(parameters, forward(parameters, X), dY)
        agree(dX, finite_differences(lambda moved, f=forward, p=parameters, o=out: f(p, moved)[o], X, dY), 1e-7)
        for name, array in parameters.items():

            def moved(array, name=name, forward=forward, parameters=parameters, out=out):
                return forward(parameters | {name: array}, X)[out]

            agree(gradients[name], finite_differences(moved, array, dY), 1e-7)


def test_dropout_equals_torch_with_its_own_mask():
    X = np.random.default_rng(4).standard_normal((3, 5, 8))
    for rate in (0.0, 0.1, 0.5):
        Y, keep = reference.dropout(X, rate)
        agree(dropout(X, keep, rate), Y, FORWARD)
        assert keep.all() == (rate == 0)


def test_dropout_keeps_the_mean_and_the_rate():
    rng = np.random.default_rng(5)
    keep = draw_keep(rng, (400, 500), 0.2)
    assert keep.dtype == bool
    assert abs(keep.mean() - 0.8) < 0.005
    assert abs(dropout(np.ones(keep.shape), keep, 0.2).mean() - 1) < 0.005
    assert draw_keep(rng, (100,), 0.0).all()


def test_dropout_is_its_own_backward():
    rng = np.random.default_rng(6)
    X, dY = rng.standard_normal((2, 3, 4))
    keep = draw_keep(rng, X.shape, 0.5)
    agree(dropout(dY, keep, 0.5), finite_differences(lambda moved: dropout(moved, keep, 0.5), X, dY), 1e-7)


def test_residual():
    rng = np.random.default_rng(7)
    X, update, dY = rng.standard_normal((3, 2, 3, 4))
    keep = draw_keep(rng, X.shape, 0.5)
    agree(residual(X, update), X + update, 0)
    agree(residual(X, update, keep, 0.5), X + np.where(keep, 2 * update, 0), 0)
    assert all(gradient is dY for gradient in residual_backward(dY))
    dX, dupdate = residual_backward(dY, keep, 0.5)
    agree(dX, finite_differences(lambda moved: residual(moved, update, keep, 0.5), X, dY), 1e-7)
    agree(dupdate, finite_differences(lambda moved: residual(X, moved, keep, 0.5), update, dY), 1e-7)


def new_block(seed, d, d_ff, dtype="d"):
    rng = np.random.default_rng(seed)
    return rng, cast(shaken(new_encoder_block(rng, d, d_ff), rng), dtype)


@few
@given(
    seeds, leading_axes, lengths, st.sampled_from([(1, 4), (4, 4), (2, 6), (3, 6)]), st.integers(1, 9), norms,
    mask_kinds, st.booleans(), dtypes,
)  # fmt: skip
def test_encoder_block_equals_torch(seed, leading, S, size, d_ff, norm, kind, dropping, dtype):
    heads, d = size
    rng, parameters = new_block(seed, d, d_ff, dtype)
    X, dX_new = rng.standard_normal((2, *leading, S, d)).astype(dtype)
    M = random_mask(rng, kind, leading, S, S)
    keep = {name: draw_keep(rng, X.shape, 0.3) for name in ("attention", "mlp")} if dropping else None
    states = encoder_block(parameters, X, heads, M, norm, keep, 0.3)
    ours = encoder_block_backward(parameters, states, dX_new, norm, keep, 0.3)
    all_of_type([states, *ours], np.dtype(dtype))
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-3, 1e-2)
    agree(states["X_new"], reference.encoder_block(parameters, X, heads, M, norm, keep, 0.3), forward)
    theirs = reference.encoder_block_gradients(parameters, X, heads, dX_new, M, norm, keep, 0.3)
    agree(list(ours), list(theirs), gradient)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_block_at_the_paper_size(norm):
    rng, parameters = new_block(0, 512, 2048)
    parameters = map_nest(lambda array: array / 4, parameters)  # the shaking is large for sums of 2048
    X, dX_new = rng.standard_normal((2, 2, 10, 512))
    states = encoder_block(parameters, X, 8, None, norm)
    agree(states["X_new"], reference.encoder_block(parameters, X, 8, None, norm), FORWARD)
    theirs = reference.encoder_block_gradients(parameters, X, 8, dX_new, None, norm)
    agree(list(encoder_block_backward(parameters, states, dX_new, norm)), list(theirs), GRADIENT)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_block_by_finite_differences(norm):
    rng, parameters = new_block(1, 4, 3)
    X, dX_new = rng.standard_normal((2, 3, 4))
    keep = {"attention": draw_keep(rng, X.shape, 0.5), "mlp": draw_keep(rng, X.shape, 0.5)}
    options = {"norm": norm, "keep": keep, "rate": 0.5}
    states = encoder_block(parameters, X, 2, causal_mask(3), **options)
    gradients, dX = encoder_block_backward(parameters, states, dX_new, **options)

    def run(parameters, X):
        return encoder_block(parameters, X, 2, causal_mask(3), **options)["X_new"]

    agree(dX, finite_differences(lambda moved: run(parameters, moved), X, dX_new, 1e-5), 1e-6)
    flat = flatten(parameters)
    for path, array in flat.items():

        def moved(array, path=path):
            return run(unflatten(flat | {path: array}), X)

        agree(flatten(gradients)[path], finite_differences(moved, array, dX_new, 1e-5), 1e-6)


def test_norm_placement_changes_the_output():
    rng, parameters = new_block(2, 8, 16)
    X = rng.standard_normal((5, 8))
    post, pre = (encoder_block(parameters, X, 2, norm=norm)["X_new"] for norm in ("post", "pre"))
    assert np.abs(post - pre).max() > 0.1


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_block_reads_no_future_under_the_causal_mask(norm):
    rng, parameters = new_block(3, 8, 16)
    X = rng.standard_normal((6, 8))
    before = encoder_block(parameters, X, 2, causal_mask(6), norm)["X_new"]
    later = X.copy()
    later[3:] += rng.standard_normal((3, 8))
    after = encoder_block(parameters, later, 2, causal_mask(6), norm)["X_new"]
    np.testing.assert_allclose(after[:3], before[:3], rtol=0, atol=1e-13)
    assert np.abs(after[3:] - before[3:]).max(axis=-1).min() > 1e-3


def test_encoder_block_without_positions_lets_a_permutation_through():
    rng, parameters = new_block(4, 8, 16)
    X, order = rng.standard_normal((6, 8)), rng.permutation(6)
    agree(encoder_block(parameters, X[order], 2)["X_new"], encoder_block(parameters, X, 2)["X_new"][order], 1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_inputs_are_left_alone(norm):
    rng, parameters = new_block(5, 8, 16)
    X, dX_new = rng.standard_normal((2, 5, 8))
    before = map_nest(np.copy, [parameters, X, dX_new])
    states = encoder_block(parameters, X, 2, norm=norm)
    kept = map_nest(np.copy, states)
    encoder_block_backward(parameters, states, dX_new, norm)
    agree([parameters, X, dX_new], before, 0)
    agree(states, kept, 0)


def test_weights_go_to_torch_and_come_back():
    _, parameters = new_block(6, 8, 16)
    agree(to_arrays(reference.encoder_nest(reference.new_encoder_block(parameters, 2))), parameters, 0)


def test_parameter_count_of_the_base_block():
    parameters = new_encoder_block(np.random.default_rng(0), 512, 2048)
    assert count(parameters) == 4 * (512 * 512 + 512) + 512 * 2048 + 2048 + 2048 * 512 + 512 + 4 * 512
    all_of_type(as_float32(parameters), np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer_norm(new_layer_norm(4), np.ones((3, 5))), r"gamma has shape \(4,\); expected \(5,\)"),
        (lambda: residual(np.ones((3, 4)), np.ones((1, 4))), r"update has shape \(1, 4\); expected \(3, 4\)"),
        (lambda: dropout(np.ones((3, 4)), np.ones(4, bool), 0.1), r"keep has shape \(4,\); expected \(3, 4\)"),
        (lambda: dropout(np.ones(4), np.ones(4, bool), 1.0), "rate is 1.0; expected 0 <= rate < 1"),
        (lambda: dropout(np.ones(4), np.ones(4, bool), -0.1), "rate is -0.1"),
        (lambda: encoder_block(new_block(7, 4, 4)[1], np.ones((3, 4)), 3), "heads is 3; expected a divisor of d = 4"),
        (lambda: encoder_block(new_block(7, 4, 4)[1], np.ones((3, 4)), 2, norm="both"), "norm is 'both'"),
        (lambda: mlp(new_mlp(np.random.default_rng(0), 4, 5), np.ones((3, 3))), r"W has shape \(4, 5\)"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
