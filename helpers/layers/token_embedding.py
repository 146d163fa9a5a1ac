"""Token embedding: rows of a table, chosen by token id (notebook 02).

``ids`` is (..., S), whole numbers from 0 to N_vocab - 1; the table E is
(N_vocab, d). Source: document section 2; "Attention Is All You Need", section 3.4.
"""

import math

import numpy as np


def new_embedding(rng, N_vocab, d, padding_id=None):
    """A random table E, (N_vocab, d), with standard deviation d^-1/2.

    A row of E then has length about 1. The row of ``padding_id`` is zero.
    """
    E = rng.standard_normal((N_vocab, d)) / math.sqrt(d)  # (N_vocab, d)
    if padding_id is not None:
        E[padding_id] = 0.0
    return E


def one_hot(ids, N_vocab):
    """Rows of zeros with a single 1 in the column of the token: (..., S) to (..., S, N_vocab).

    Raises ValueError as `embed` does.
    """
    ids = check_ids(ids, N_vocab)
    return (ids[..., None] == np.arange(N_vocab)).astype(float)  # (..., S, N_vocab)


def embed(E, ids):
    """Take the rows of E in the order of the ids: X_token, (..., S, d).

    Raises ValueError when ids are not whole numbers, when there are none,
    and for an id that has no row in E, naming it and its place.
    """
    ids = check_ids(ids, len(E))
    return E[ids]  # (..., S, d)


def embed_backward(E, ids, dX_token, padding_id=None):
    """Gradient of E, (N_vocab, d), from the gradient of X_token, (..., S, d).

    A token that occurs several times gets the sum over its places. A token
    that does not occur gets zero, and so does ``padding_id``: its row is not
    trained.
    """
    d = E.shape[1]
    dE = np.zeros(E.shape, dX_token.dtype)  # (N_vocab, d)
    # entry by entry in the flat table: there np.add.at is several times faster than with whole rows
    entries = check_ids(ids, len(E))[..., None] * d + np.arange(d)  # (..., S, d)
    np.add.at(dE.reshape(-1), entries.reshape(-1), dX_token.reshape(-1))
    if padding_id is not None:
        dE[padding_id] = 0.0
    return dE


def check_ids(ids, N_vocab):
    """The ids as an array; ValueError unless they are whole numbers from 0 to N_vocab - 1, and at least one."""
    ids = np.asarray(ids)
    if ids.ndim == 0 or ids.size == 0:
        raise ValueError(f"ids have shape {ids.shape}; expected (..., S) with S of at least 1")
    if ids.dtype.kind not in "iu":
        raise ValueError(f"ids are of type {ids.dtype}; expected whole numbers")
    if ids.min() < 0 or ids.max() >= N_vocab:
        place = tuple(int(i) for i in np.argwhere((ids < 0) | (ids >= N_vocab))[0])
        raise ValueError(f"ids{list(place)} is {ids[place]}; expected an id from 0 to N_vocab - 1 = {N_vocab - 1}")
    return ids.astype(np.intp, copy=False)  # a narrow type would overflow in products
