"""Counting the multiplications in matrix products while NumPy code runs."""

import numpy as np

from helpers.checks.nest import map_arrays


class Counted(np.ndarray):
    """An array that behaves as any other; its products, and those of all that is computed from it, are counted."""

    total = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if out is not None:
            options["out"] = tuple(map(plain, out))
        result = getattr(ufunc, method)(*map(plain, inputs), **options)
        if ufunc is np.matmul:
            Counted.total += result.size * inputs[0].shape[-1]
        return result.view(Counted) if isinstance(result, np.ndarray) else result


def plain(array):
    return array.view(np.ndarray) if isinstance(array, Counted) else array


def multiplications(f, parameters):
    """How many pairs of numbers the matrix products multiply while f(parameters) runs: a whole number.

    An (m, n) by (n, k) product takes m n k of them. Only products with a parameter, or with something
    computed from one, are seen.
    """
    before = Counted.total
    f(map_arrays(lambda array: array.view(Counted), parameters))
    return Counted.total - before
