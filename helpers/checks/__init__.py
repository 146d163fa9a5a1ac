"""Comparing ours with torch's, and saying what is wrong when they differ.

``check`` and ``check_gradients`` compare, ``fails_with`` shows on purpose how a
check fails, ``shake`` moves parameters away from 0 and 1, ``numeric_gradient``
is the slow gradient that needs no derivation. The comparison stands in
compare.py, the reasons in diagnoses.py. torch is not imported: a tensor brings
its own methods.
"""

from contextlib import contextmanager

import numpy as np

from helpers.checks.compare import difference, leaves
from helpers.checks.nest import map_arrays

__all__ = ["check", "check_gradients", "difference", "fails_with", "numeric_gradient", "shake"]


def check(ours, torchs, name, atol=1e-12, relative=False):
    """Compare and print one line with the name, the shape and the bound that holds.

    ``ours`` and ``torchs`` are arrays, tensors, numbers, lists of numbers, or
    dicts and lists of these. With ``relative`` the bound is atol times the
    largest |reference|. Integers and booleans must be equal.

    Raises AssertionError: the first line names the check, the first index that
    differs and both values; the lines below say why, if a known reason fits.
    """
    found = difference(ours, torchs, atol, relative)
    if found is not None:
        lines = [f"✗ {name}: {found.where}"]
        if found.reason is not None:
            lines += [f"  {line}" for line in found.reason.split("\n")]
        if found.extent is not None:
            lines.append(f"  {found.extent}")
        raise AssertionError("\n".join(lines))
    arrays = leaves(ours)
    exact = all(array.dtype.kind in "biu" for nest in (arrays, leaves(torchs)) for array in nest.values())
    bound = "equal" if exact else f"max |difference| ≤ {atol:g}" + (" × max |reference|" if relative else "")
    print(f"✓ {name} {extent(arrays)}: {bound}")


def extent(arrays):
    """The shape of a single array; of several, how many they are."""
    if set(arrays) == {""}:
        return str(arrays[""].shape) if arrays[""].shape else "(number)"
    numbers = sum(array.size for array in arrays.values())
    return f"({len(arrays)} array{'s' if len(arrays) > 1 else ''}, {numbers:,} number{'s' if numbers > 1 else ''})"


def check_gradients(ours, torchs, name, atol=1e-9, relative=False):
    """``check`` for gradients: two nests with the same keys, and a bound of 1e-9."""
    check(ours, torchs, name, atol, relative)


@contextmanager
def fails_with(text):
    """Expect a failed check, or a ValueError, whose message holds ``text``; print its first line and that reason.

    Raises AssertionError if nothing failed, or if the message does not hold the text.
    """
    if not text:
        raise ValueError("fails_with: an empty text stands in every message")
    try:
        yield
    except (AssertionError, ValueError) as error:
        message = str(error)
        if text not in message:
            raise AssertionError(f"the check failed, but not with «{text}»:\n{message}") from error
        lines = message.split("\n")
        print("\n".join([lines[0], *(line for line in lines[1:] if text in line)]))
    else:
        raise AssertionError(f"the check passed; expected it to fail with «{text}»")


def shake(parameters, rng, size=0.1):
    """The same nest with normal noise of standard deviation ``size`` added, so that zeros and ones hide nothing."""

    def add_noise(array):
        if array.dtype.kind != "f":
            raise ValueError(f"shake: expected arrays of floats, got {array.dtype} of shape {array.shape}")
        return array + (size * rng.standard_normal(array.shape)).astype(array.dtype)

    return map_arrays(add_noise, parameters)


def numeric_gradient(f, array, step=1e-6):
    """Gradient of the number f(array) by central differences, same shape as the array; two calls for each entry.

    Raises ValueError unless the array is float64: in float32 the step drowns in rounding.
    """
    if array.dtype != np.float64:
        raise ValueError(f"numeric_gradient: expected float64, got {array.dtype}")
    moved = array.copy()
    gradient = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        moved[index] = array[index] + step
        above = float(f(moved))
        moved[index] = array[index] - step
        below = float(f(moved))
        moved[index] = array[index]
        gradient[index] = (above - below) / (2 * step)
    return gradient
