"""Token embedding against nn.Embedding, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import FORWARD, GRADIENT, agree, few, finite_differences, leading_axes, lengths, seeds

from helpers.layers.token_embedding import embed, embed_backward, new_embedding, one_hot
from helpers.reference import token_embedding as reference


@few
@given(seeds, leading_axes, lengths, st.integers(1, 9), st.integers(1, 6), st.booleans(), st.sampled_from("fd"))
def test_equals_torch(seed, leading, S, N_vocab, d, padded, dtype):
    rng = np.random.default_rng(seed)
    padding_id = int(rng.integers(N_vocab)) if padded else None
    E = new_embedding(rng, N_vocab, d, padding_id).astype(dtype)
    ids = rng.integers(N_vocab, size=(*leading, S))
    dX = rng.standard_normal((*ids.shape, d)).astype(dtype)
    agree(embed(E, ids), reference.embed(E, ids, padding_id), FORWARD)
    atol = GRADIENT if dtype == "d" else 1e-5
    agree(embed_backward(E, ids, dX, padding_id), reference.embed_gradient(E, ids, dX, padding_id), atol)


def test_look_up_is_the_one_hot_product():
    rng = np.random.default_rng(0)
    E, ids = rng.standard_normal((7, 3)), rng.integers(7, size=(2, 5))
    rows = one_hot(ids, 7)
    assert rows.shape == (2, 5, 7)
    assert (rows.sum(-1) == 1).all()
    assert np.array_equal(rows.argmax(-1), ids)
    agree(embed(E, ids), rows @ E, 0)
    dX = rng.standard_normal((2, 5, 3))
    agree(embed_backward(E, ids, dX), rows.reshape(-1, 7).T @ dX.reshape(-1, 3), FORWARD)


def test_gradient_sums_over_occurrences():
    dX = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    assert embed_backward(np.zeros((4, 2)), [3, 0, 3], dX).tolist() == [[10, 20], [0, 0], [0, 0], [101, 202]]
    assert embed_backward(np.zeros((4, 2)), [3, 0, 3], dX, padding_id=3).tolist() == [[10, 20], [0, 0], [0, 0], [0, 0]]


def test_ids_of_a_narrow_type():
    rng = np.random.default_rng(2)
    ids, dX = np.array([199, 3, 199], np.uint8), rng.standard_normal((3, 6))
    wide = embed_backward(np.zeros((200, 6)), ids.astype(int), dX)
    assert np.array_equal(embed_backward(np.zeros((200, 6)), ids, dX), wide)
    assert np.flatnonzero(wide.any(axis=-1)).tolist() == [3, 199]
    assert one_hot(ids, 200).argmax(-1).tolist() == [199, 3, 199]


def test_gradient_by_finite_differences():
    rng = np.random.default_rng(1)
    E, ids, dX = rng.standard_normal((4, 3)), np.array([2, 0, 2, 2]), rng.standard_normal((4, 3))
    agree(embed_backward(E, ids, dX), finite_differences(lambda table: embed(table, ids), E, dX), 1e-7)


def test_new_embedding_has_rows_of_length_one_and_no_padding():
    E = new_embedding(np.random.default_rng(0), 2000, 64, padding_id=5)
    assert abs(E.std() * np.sqrt(64) - 1) < 0.01
    assert not E[5].any()
    assert E[4].any()


@pytest.mark.parametrize("f", [lambda ids: embed(np.zeros((4, 2)), ids), lambda ids: one_hot(ids, 4)])
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([[0, 1], [4, -1]], r"ids\[1, 0\] is 4; expected an id from 0 to N_vocab - 1 = 3"),
        ([0, -1, 9], r"ids\[1\] is -1"),
        ([0, -1], r"ids\[1\] is -1"),
        ([3, 4], r"ids\[1\] is 4"),
        ([0.0, 1.0], "float64; expected whole numbers"),
        ([True, False], "bool; expected whole numbers"),
        ([], r"shape \(0,\); expected .* S of at least 1"),
        (3, r"shape \(\)"),
    ],
)
def test_refuses_ids(f, ids, message):
    with pytest.raises(ValueError, match=message):
        f(ids)
