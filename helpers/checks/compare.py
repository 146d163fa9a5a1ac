"""The comparison itself: values of any kind to arrays, arrays to a Difference or to None."""

import math
from dataclasses import dataclass

import numpy as np

from helpers.checks.diagnoses import explain


@dataclass(frozen=True)
class Difference:
    """Why two values do not agree.

    ``where`` says what differs (one line), ``reason`` why, if a known reason
    fits (else None), ``extent`` how far apart they are, if that can be said.
    """

    where: str
    reason: str | None = None
    extent: str | None = None


def to_array(value):
    """A NumPy array of an array, a tensor on any device, a number, or nested lists of numbers.

    Raises TypeError for everything else, complex numbers included.
    """
    if hasattr(value, "detach"):  # a tensor; torch itself is not needed to say so
        value = value.detach()
        if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
            value = value.float()
        value = value.numpy(force=True)
    if isinstance(value, (list, tuple)):
        value = [to_array(item) for item in value]
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        kind = type(value).__name__ if array.ndim == 0 else f"{type(value).__name__} of {array.dtype}"
        raise TypeError(f"cannot compare a {kind}; expected real numbers, arrays, tensors, or dicts and lists of them")
    return array


def leaves(nest):
    """The arrays of a nest by path: {"encoder/0/W_Q": array}; a single array has the path ""."""
    if isinstance(nest, dict):
        items = list(nest.items())
    elif isinstance(nest, (list, tuple)) and shape_of_numbers(nest) is None:
        items = list(enumerate(nest))
    else:
        return {"": None if nest is None else to_array(nest)}
    found = {}
    for key, value in items:
        for path, array in leaves(value).items():
            found[f"{key}/{path}" if path else str(key)] = array
    return found or {"": np.empty(0)}  # an empty nest is as empty as an empty array


def shape_of_numbers(value):
    """The shape of (nested) lists of numbers that make one array; None if they are a nest of several."""
    if isinstance(value, (list, tuple)):
        shapes = {shape_of_numbers(item) for item in value} or {()}
        return None if None in shapes or len(shapes) > 1 else (len(value), *shapes.pop())
    is_several = value is None or isinstance(value, dict) or getattr(value, "shape", ()) != ()
    return None if is_several else ()


def difference(ours, reference, atol=1e-12, relative=False):
    """The first Difference between two values or nests of values; None if they agree.

    Numbers agree within ``atol``, or with ``relative`` within atol times the
    largest finite |reference| in the whole nest. Integers and booleans agree
    only exactly. Equal infinities agree; NaN agrees with nothing, and empty
    arrays are a difference, because nothing was compared.

    Raises ValueError for an ``atol`` that is no tolerance.
    """
    if not 0 <= atol < math.inf:
        raise ValueError(f"atol must be a number of 0 or more, got {atol}")
    ours, reference = leaves(ours), leaves(reference)
    if ours.keys() != reference.keys():
        return Difference(describe_keys(ours, reference))
    limit = atol * largest(reference.values()) if relative else atol
    found = {}
    for path in reference:
        one = compare_arrays(ours[path], reference[path], limit)
        if one is not None:
            found[path] = one
    if not found:
        return None
    path, first = next(iter(found.items()))
    if not path:
        return first
    reason = first.reason
    if len(found) > 1:
        others = f"{len(found)} of {len(reference)} arrays differ: {', '.join(found)}"
        reason = others if reason is None else f"{reason}\n{others}"
    return Difference(f"{path}: {first.where}", reason, first.extent)


def describe_keys(ours, reference):
    """What is missing and what is too much, by path."""
    parts = []
    for label, some, others in (("missing", reference, ours), ("not in the reference", ours, reference)):
        paths = [path or "a single array" for path in some if path not in others]
        if paths:
            parts.append(f"{label}: {', '.join(paths)}")
    return "ours and the reference hold different arrays; " + "; ".join(parts)


def largest(arrays):
    """The largest finite |value| in the arrays, 0 if there is none."""
    finite = [np.abs(array[np.isfinite(array)]) for array in arrays if array is not None]
    return max((float(values.max()) for values in finite if values.size), default=0.0)


def compare_arrays(ours, reference, limit):
    """Difference of two arrays, None if every number agrees within ``limit``."""
    for label, array in (("ours", ours), ("the reference", reference)):
        if array is None:
            return Difference(f"{label} is None, so nothing was compared")
        if array.size == 0:
            return Difference(f"{label} is empty, shape {array.shape}, so nothing was compared")
    if (ours.dtype.kind == "b") != (reference.dtype.kind == "b"):
        which = "ours is" if ours.dtype.kind == "b" else "the reference is"
        return Difference(f"only {which} boolean, and booleans are compared with booleans alone")
    exact = ours.dtype.kind in "biu" and reference.dtype.kind in "biu"
    if not exact:
        ours, reference = ours.astype(np.float64), reference.astype(np.float64)
    if ours.shape != reference.shape:
        where = f"shapes differ: ours is {ours.shape}, the reference is {reference.shape}"
        return Difference(where, explain(ours, reference))

    if exact:
        differs = ours != reference
    else:
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf; such places are equal by the first test
            gaps = np.abs(ours - reference)
            differs = ~((ours == reference) | (gaps <= limit))
    if not differs.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(np.argmax(differs), differs.shape))
    at = f"at {list(index)} " if index else ""
    mine, theirs = readable(ours[index].item(), reference[index].item(), 0 if exact else limit)
    where = f"{at}ours is {mine}, the reference is {theirs}"
    extent = f"{int(differs.sum())} of {differs.size} numbers differ"
    if not exact and np.isfinite(gaps[differs]).any():
        extent += f", by at most {np.nanmax(gaps[differs]):.3g}; allowed is {limit:.3g}"
    return Difference(where, explain(ours, reference), extent)


def readable(mine, theirs, limit):
    """Both values in six digits; what cannot be told from 0 is 0, so that rounding noise is not printed."""
    values = [0.0 if abs(value) < limit / 2 else value for value in (mine, theirs)] if limit else [mine, theirs]
    texts = [format(value, ".6g") if isinstance(value, float) else str(value) for value in values]
    texts = [text.replace("nan", "NaN") for text in texts]
    if texts[0] == texts[1] and mine == mine and theirs == theirs:
        texts = [format(value, ".17g") for value in (mine, theirs)]
    return texts
