"""Position encodings against torch, and their properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import FORWARD, GRADIENT, agree, few, finite_differences, leading_axes, lengths, seeds

from helpers.layers.attention import attention
from helpers.layers.position_encoding import (
    add_positions,
    add_positions_backward,
    frequencies,
    new_positions,
    sinusoidal_positions,
)
from helpers.layers.query_key_value import new_projections, project
from helpers.reference import position_encoding as reference

layouts = st.sampled_from(["interleaved", "concatenated"])


@few
@given(st.integers(1, 600), st.integers(1, 40), layouts)
def test_sinusoids_equal_torch(S, d, layout):
    agree(sinusoidal_positions(S, d, layout), reference.sinusoidal_positions(S, d, layout), FORWARD)


def test_paper_formula_entry_by_entry():
    P = sinusoidal_positions(5, 7)
    for position in range(5):
        for i in range(4):
            angle = position / 10000 ** (2 * i / 7)
            assert P[position, 2 * i] == pytest.approx(np.sin(angle), abs=1e-15)
            if 2 * i + 1 < 7:
                assert P[position, 2 * i + 1] == pytest.approx(np.cos(angle), abs=1e-15)


def test_layouts_hold_the_same_columns():
    for d in (1, 2, 5, 8):
        interleaved, concatenated = (sinusoidal_positions(9, d, layout) for layout in ("interleaved", "concatenated"))
        order = [*range(0, d, 2), *range(1, d, 2)]
        assert np.array_equal(interleaved[:, order], concatenated)
        assert (concatenated[0] == [0.0] * ((d + 1) // 2) + [1.0] * (d // 2)).all()


def test_wavelengths_and_dot_products_by_distance():
    wavelengths = 2 * np.pi / frequencies(512)
    assert wavelengths[0] == pytest.approx(2 * np.pi)
    assert 0.96 * 10000 * 2 * np.pi < wavelengths[-1] < 10000 * 2 * np.pi
    products = sinusoidal_positions(20, 16) @ sinusoidal_positions(20, 16).T
    for distance in range(20):
        diagonal = np.diagonal(products, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-12)


@few
@given(seeds, leading_axes, lengths, st.integers(1, 6), st.integers(0, 4), st.booleans(), st.sampled_from("fd"))
def test_sum_equals_torch(seed, leading, S, d, spare, scaled, dtype):
    rng = np.random.default_rng(seed)
    P = new_positions(rng, S + spare, d).astype(dtype)
    X_token, dX = rng.standard_normal((2, *leading, S, d)).astype(dtype)
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-6, 1e-5)
    agree(add_positions(X_token, P, scaled), reference.add_positions(X_token, P, scaled), forward)
    ours = dict(zip("Xp", add_positions_backward(P, dX, scaled), strict=True))
    agree(ours, dict(zip("Xp", reference.add_positions_gradients(X_token, P, dX, scaled), strict=True)), gradient)


def test_gradients_by_finite_differences():
    rng = np.random.default_rng(3)
    P, (X_token, dX) = new_positions(rng, 4, 3), rng.standard_normal((2, 2, 3, 3))
    dX_token, dP = add_positions_backward(P, dX)
    agree(dX_token, finite_differences(lambda X: add_positions(X, P), X_token, dX), 1e-7)
    agree(dP, finite_differences(lambda table: add_positions(X_token, table), P, dX), 1e-7)
    assert not dP[3].any()


def test_float32_tokens_stay_float32_with_sinusoids():
    X_token = np.ones((2, 3, 4), np.float32)
    assert add_positions(X_token, sinusoidal_positions(3, 4)).dtype == np.float32


def test_attention_sees_order_only_with_positions():
    rng = np.random.default_rng(4)
    parameters, X_token = new_projections(rng, 8, 8), rng.standard_normal((6, 8))
    order = np.array([3, 1, 5, 0, 2, 4])

    def read(X):
        states = project(parameters, X)
        return attention(states["Q"], states["K"], states["V"])["H"]

    np.testing.assert_allclose(read(X_token[order]), read(X_token)[order], atol=1e-12)
    P = sinusoidal_positions(6, 8)
    with_order = read(add_positions(X_token[order], P))
    assert np.abs(with_order - read(add_positions(X_token, P))[order]).max() > 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal_positions(0, 4), "S is 0; expected at least 1"),
        (lambda: sinusoidal_positions(3, 0), "d is 0; expected at least 1"),
        (lambda: sinusoidal_positions(3, 4, "mixed"), "layout is 'mixed'"),
        (lambda: add_positions(np.ones((5, 4)), np.ones((3, 4))), r"S = 5 tokens, but P has shape \(3, 4\)"),
        (lambda: add_positions(np.ones((2, 4)), np.ones((3, 5))), r"P has shape \(3, 5\); expected .* d = 4"),
        (lambda: add_positions(np.ones((2, 4)), np.ones((3, 1))), r"P has shape \(3, 1\); expected .* d = 4"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
