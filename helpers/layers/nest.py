"""Nests: dicts and lists of arrays, the form of parameters and gradients.

A path names an array inside a nest: ``"encoder/0/attention/W_Q"`` is
``nest["encoder"][0]["attention"]["W_Q"]``.
"""

import numpy as np


def walk(nest, path=""):
    """Yield (path, array) for every array in the nest, in the order of its dicts and lists."""
    if isinstance(nest, dict | list):
        for key, part in nest.items() if isinstance(nest, dict) else enumerate(nest):
            yield from walk(part, f"{path}/{key}" if path else str(key))
    else:
        yield path, nest


def flatten(nest):
    """The nest as one flat dict from path to array."""
    return dict(walk(nest))


def unflatten(flat):
    """The nest of a flat dict from path to array: the inverse of `flatten`.

    A level whose keys are 0, 1, 2, ... becomes a list.
    """
    if "" in flat:
        return flat[""]
    parts = {}
    for path, array in flat.items():
        key, _, rest = path.partition("/")
        parts.setdefault(key, {})[rest] = array
    nest = {key: unflatten(part) for key, part in parts.items()}
    indices = [str(i) for i in range(len(nest))]
    if nest and set(nest) == set(indices):
        return [nest[i] for i in indices]
    return nest


def map_nest(f, *nests):
    """A nest of f(array of the first, array of the second, ...) for each place in the nests.

    Raises ValueError when the nests do not have the same keys.
    """
    first = nests[0]
    if not isinstance(first, dict | list):
        return f(*nests)
    for other in nests[1:]:
        check_same_keys(first, other)
    if isinstance(first, dict):
        return {key: map_nest(f, *(nest[key] for nest in nests)) for key in first}
    return [map_nest(f, *parts) for parts in zip(*nests, strict=True)]


def count(nest):
    """How many numbers the arrays of the nest hold together."""
    return sum(array.size for _, array in walk(nest))


def save(path, nest):
    """Write the nest to an .npz file, one entry for each path, without pickle."""
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **flatten(nest))


def load(path):
    """The nest that `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        return unflatten(dict(file))


def check_same_keys(nest, other):
    """Raise ValueError unless both are dicts with the same keys or lists of the same length."""

    def keys(part):
        return sorted(part) if isinstance(part, dict) else list(range(len(part))) if isinstance(part, list) else None

    if type(nest) is not type(other) or keys(nest) != keys(other):
        raise ValueError(f"nests differ: one has the keys {keys(nest)}, another {keys(other)}")
