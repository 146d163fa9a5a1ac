"""What the tests of the layers share: comparing, random cases, finite differences."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from helpers.checks import numeric_gradient, shake
from helpers.layers.attention import causal_mask, padding_mask
from helpers.layers.nest import flatten, map_nest

few = settings(max_examples=25, derandomize=True, deadline=None)
seeds = st.integers(0, 10_000)
leading_axes = st.lists(st.integers(1, 3), max_size=2).map(tuple)
lengths = st.integers(1, 7)

FORWARD, GRADIENT = 1e-12, 1e-9


def agree(ours, theirs, atol):
    """Same keys, shapes and types, and no entry further apart than atol times the largest (at least 1)."""
    ours, theirs = flatten(ours), flatten(theirs)
    assert sorted(ours) == sorted(theirs)
    for path, array in ours.items():
        reference = theirs[path]
        assert array.shape == reference.shape, path
        assert array.dtype == reference.dtype, path
        size = max(1.0, float(np.abs(reference[np.isfinite(reference)]).max(initial=0)))
        np.testing.assert_allclose(array, reference, rtol=0, atol=atol * size, err_msg=path)


def shaken(parameters, rng):
    """The parameters with noise large enough to matter, so that zeros and ones hide nothing."""
    return shake(parameters, rng, size=0.3)


def as_float32(nest):
    return map_nest(lambda array: array.astype(np.float32), nest)


def all_of_type(nest, dtype):
    """Assert that every array of the nest has this type."""
    types = {path: array.dtype for path, array in flatten(nest).items() if array.dtype != dtype}
    assert not types


def random_mask(rng, kind, leading, S_q, S_k):
    """None or a mask without a head axis; every row has something to read."""
    if kind == "none":
        return None
    if kind == "causal":
        return causal_mask(S_q, max(S_q, S_k))[:, :S_k]
    if kind == "padding":
        return padding_mask(rng.integers(1, S_k + 1, leading), S_k)
    M = np.where(rng.random((*leading, S_q, S_k)) < 0.5, -np.inf, 0.0)
    M[..., rng.integers(S_k)] = 0.0
    return M


mask_kinds = st.sampled_from(["none", "causal", "padding", "random"])


def finite_differences(f, array, dOut, step=1e-6):
    """Gradient of (f(array) * dOut).sum() with respect to the array, one entry at a time."""
    return numeric_gradient(lambda moved: (f(moved) * dOut).sum(), array, step)


def differ_only_in_row(before, after, row):
    """Assert that exactly this row, counted on the last axis but one, changed."""
    changed = (before != after).any(axis=-1)
    changed = changed.reshape(-1, changed.shape[-1]).any(axis=0)
    assert np.flatnonzero(changed).tolist() == [row]
