"""Masks, softmax and attention against torch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import (
    FORWARD,
    GRADIENT,
    agree,
    all_of_type,
    few,
    finite_differences,
    leading_axes,
    lengths,
    mask_kinds,
    random_mask,
    seeds,
)

from helpers.layers.attention import (
    attention,
    attention_backward,
    causal_mask,
    no_mask,
    padding_mask,
    softmax,
    softmax_backward,
)
from helpers.reference import attention as reference


@few
@given(seeds, leading_axes, lengths, lengths, st.integers(1, 5), st.integers(1, 5), mask_kinds, st.sampled_from("fd"))
def test_equals_torch(seed, leading, S_q, S_k, d_k, d_v, kind, dtype):
    rng = np.random.default_rng(seed)
    shapes = ((S_q, d_k), (S_k, d_k), (S_k, d_v), (S_q, d_v))
    Q, K, V, dH = (rng.standard_normal((*leading, *shape)).astype(dtype) for shape in shapes)
    M = random_mask(rng, kind, leading, S_q, S_k)
    states = attention(Q, K, V, M)
    forward, gradient = (FORWARD, GRADIENT) if dtype == "d" else (1e-5, 1e-5)
    agree(states["H"], reference.attention(Q, K, V, M), forward)
    formula = reference.attention_formula(Q, K, V, M)
    agree({name: states[name] for name in formula}, formula, forward)
    agree(attention_backward(states, dH), reference.attention_gradients(Q, K, V, dH, M), gradient)
    all_of_type(states, np.dtype(dtype))


def test_gradients_by_finite_differences():
    rng = np.random.default_rng(0)
    Q, K, V, dH = (rng.standard_normal(shape) for shape in ((3, 2), (4, 2), (4, 5), (3, 5)))
    M = random_mask(rng, "random", (), 3, 4)
    for scaled in (True, False):
        gradients = attention_backward(attention(Q, K, V, M, scaled), dH, scaled)
        numeric = {
            "Q": finite_differences(lambda moved, s=scaled: attention(moved, K, V, M, s)["H"], Q, dH),
            "K": finite_differences(lambda moved, s=scaled: attention(Q, moved, V, M, s)["H"], K, dH),
            "V": finite_differences(lambda moved, s=scaled: attention(Q, K, moved, M, s)["H"], V, dH),
        }
        agree(gradients, numeric, 1e-7)


def test_softmax_backward_by_finite_differences():
    rng = np.random.default_rng(1)
    scores, dA = rng.standard_normal((2, 3, 4))
    agree(softmax_backward(softmax(scores), dA), finite_differences(softmax, scores, dA), 1e-7)


@few
@given(seeds, leading_axes, lengths, lengths, mask_kinds)
def test_weights_are_weights(seed, leading, S_q, S_k, kind):
    rng = np.random.default_rng(seed)
    M = random_mask(rng, kind, leading, S_q, S_k)
    Q, K, V = (rng.standard_normal((*leading, S, 3)) for S in (S_q, S_k, S_k))
    A = attention(Q, K, V, M)["A"]
    assert (A >= 0).all()
    np.testing.assert_allclose(A.sum(-1), 1, atol=1e-12)
    if M is not None:
        assert (A[np.broadcast_to(np.isneginf(M), A.shape)] == 0).all()


def test_the_future_cannot_be_read():
    rng = np.random.default_rng(2)
    Q, K, V = rng.standard_normal((3, 2, 6, 4))
    H = attention(Q, K, V, causal_mask(6))["H"]
    for t in range(6):
        K_new, V_new = K.copy(), V.copy()
        K_new[:, t + 1 :] += 5
        V_new[:, t + 1 :] -= 5
        moved = attention(Q, K_new, V_new, causal_mask(6))["H"]
        assert np.array_equal(moved[:, : t + 1], H[:, : t + 1])
        assert t == 5 or (moved[:, t + 1 :] != H[:, t + 1 :]).any(axis=-1).all()


def test_padding_cannot_be_read_but_real_places_can():
    rng = np.random.default_rng(3)
    Q, K, V = rng.standard_normal((3, 2, 5, 4))
    M = padding_mask([2, 5], 5)
    H = attention(Q, K, V, M)["H"]
    V[0, 2:] = 1e6
    assert np.array_equal(attention(Q, K, V, M)["H"], H)
    V[1, 4] += 1
    moved = attention(Q, K, V, M)["H"]
    assert np.array_equal(moved[0], H[0])
    assert (moved[1] != H[1]).all()


def test_masks():
    assert (no_mask(2, 3) == np.zeros((2, 3))).all()
    assert no_mask(4).shape == (4, 4)
    assert np.isneginf(causal_mask(3)).tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert np.array_equal(causal_mask(2, 5), causal_mask(5)[3:])
    assert padding_mask([1, 3], 3).shape == (2, 1, 3)
    assert np.isneginf(padding_mask([1, 3], 3))[:, 0].tolist() == [[False, True, True], [False, False, False]]
    assert padding_mask(2, 3).shape == (1, 3)
    both = causal_mask(3) + padding_mask([1, 3], 3)
    assert both.shape == (2, 3, 3)
    assert not np.isnan(both).any()


@pytest.mark.parametrize("size", [1e-30, 1e4, 1e30])
def test_large_and_small_inputs_stay_finite(size):
    rng = np.random.default_rng(4)
    Q, K, V, dH = rng.standard_normal((4, 5, 3))
    states = attention(size * Q, K, V, causal_mask(5))
    assert np.isfinite(states["H"]).all()
    assert all(np.isfinite(gradient).all() for gradient in attention_backward(states, dH).values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softmax(np.array([[0.0, 1.0], [-np.inf, -np.inf]])), r"row \(1,\) .* every source position is masked"),
        (lambda: softmax(np.array([0.0, np.nan])), "the largest score is nan"),
        (lambda: softmax(np.array([0.0, np.inf])), "the largest score is inf"),
        (lambda: causal_mask(3, 2), "S_q = 3 .* S_k = 2"),
        (lambda: padding_mask([0, 2], 3), r"lengths must lie in 1..3, got \[0, 2\]"),
        (lambda: padding_mask([4], 3), "lengths must lie in 1..3"),
        (lambda: attention(np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4))), r"K has shape \(2, 4\).* d_k = 3"),
        (lambda: attention(np.ones((2, 3)), np.ones((4, 3)), np.ones((2, 3))), r"V has shape \(2, 3\).* S_k = 4"),
        (lambda: attention(np.ones((0, 3)), np.ones((4, 3)), np.ones((4, 3))), r"Q has shape \(0, 3\)"),
        (lambda: attention(*np.ones((3, 2, 4)), np.zeros((3, 3))), r"M has shape \(3, 3\).*\(2, 2\)"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
