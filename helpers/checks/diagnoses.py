"""Reasons why two arrays differ, each a small pure function.

A diagnosis takes (ours, reference, limit) and returns a sentence without a
full stop, or None if it does not fit. Both arrays are float64. ``limit`` is the
largest difference that counts as agreement once a mistake is undone; it is far
below the difference to be explained, so that a diagnosis has to explain nearly
all of it. To add a reason, write such a function, put it into SAME_SHAPE or
OTHER_SHAPE where it is more special than what follows (the first that fits is
told), and plant the mistake in tests/test_checks.py.
"""

import itertools
import math

import numpy as np

FLOAT32 = 1e-5  # relative error that a computation in float32 may reach


def explain(ours, reference):
    """The first reason that fits, or None."""
    ours, reference = ours.astype(np.float64), reference.astype(np.float64)
    finite = reference[np.isfinite(reference)]
    limit = FLOAT32 * float(np.abs(finite).max(initial=0))
    diagnoses = OTHER_SHAPE
    if ours.shape == reference.shape:
        diagnoses = SAME_SHAPE
        both = np.isfinite(ours) & np.isfinite(reference)
        gap = float(np.abs(ours[both] - reference[both]).max(initial=0))
        limit = min(limit, gap / 1000) if gap > 0 else limit
    with np.errstate(all="ignore"):
        reasons = (diagnose(ours, reference, limit) for diagnose in diagnoses)
        return next((reason for reason in reasons if reason is not None), None)


def finite_together(ours, reference):
    """True if the arrays are finite in the same places."""
    return np.array_equal(np.isfinite(ours), np.isfinite(reference))


def agree(fixed, reference, limit):
    """True if the arrays have one shape and their numbers are as close as ``limit``; NaN agrees with nothing."""
    if fixed.shape != reference.shape:
        return False
    return bool(np.all((fixed == reference) | (np.abs(fixed - reference) <= limit)))


def all_ones(sums):
    return bool(np.all(np.abs(sums - 1) <= FLOAT32))


def are_weights(array):
    """True if no number is negative and every row sums to 1."""
    return array.ndim >= 2 and bool(np.all(array >= 0)) and all_ones(array.sum(axis=-1))


def is_forbidden(array):
    """Where nothing may be read: -inf in masks and scores, 0 in weights; None if the array is neither."""
    if np.isneginf(array).any():
        return np.isneginf(array)
    if are_weights(array) and (array == 0).any():
        return array == 0
    return None


def is_read(array, reference):
    """Where ``array`` reads, if the reference is a mask, scores or weights."""
    return ~np.isneginf(array) if np.isneginf(reference).any() else array != 0


def first(mask):
    """Index of the first True as a tuple of ints."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(mask), mask.shape))


def short(number):
    return format(float(number), ".6g")


# --- NaN and infinity


def reference_is_nan(ours, reference, limit):
    if not np.isnan(reference).any():
        return None
    who = "both are NaN there" if np.isnan(ours[np.isnan(reference)]).any() else "the reference is NaN there"
    return f"{who}: NaN never counts as equal"


def mask_from_zero_times_infinity(ours, reference, limit):
    forbidden = np.isneginf(reference)
    if forbidden.any() and np.isneginf(ours[forbidden]).all() and np.isnan(ours[~forbidden]).all():
        return "NaN wherever reading is allowed: 0 times -inf is NaN; choose between 0 and -inf with np.where"
    return None


def nan_or_infinity(ours, reference, limit):
    nan = np.isnan(ours)
    if nan.all() and nan.size > 1:
        return "NaN everywhere in ours"
    if nan.any():
        rows = nan.all(axis=-1) if nan.ndim else nan
        whole_rows = nan.ndim >= 2 and np.array_equal(nan.any(axis=-1), rows)
        if whole_rows:
            row = index_text(first(rows))
            return f"NaN from a fully masked row: row {row} is all NaN, as when it has nothing to read"
        zero_beside = (ours == 0) | nan
        if nan.ndim and zero_beside[nan.any(axis=-1)].all() and are_weights(reference):
            return "NaN beside zeros: exp has overflowed; subtract the row's maximum before exp"
        return f"NaN in ours, {int(nan.sum())} of {nan.size} numbers"
    infinite = np.isinf(ours) & (ours != reference)
    if infinite.any():
        return f"infinity in ours where the reference is {short(reference[first(infinite)])}"
    return None


def index_text(index):
    return str(index[0]) if len(index) == 1 else str(list(index))


# --- masks and rows of weights


def mask_upside_down(ours, reference, limit):
    if reference.size > 1 and set(np.unique(reference)) == {0.0, 1.0} and np.array_equal(ours, 1 - reference):
        return "every 0 is a 1 and every 1 is a 0: the mask is upside down"
    forbidden = is_forbidden(reference)
    if forbidden is None or forbidden.ndim < 2 or (ours < 0)[~np.isneginf(ours)].any() and are_weights(reference):
        return None
    read = is_read(ours, reference)
    rows, columns = forbidden.shape[-2:]
    # a causal mask turned round may keep the diagonal or lose it, and then its last row has nothing to read
    judged = ~np.isnan(ours) & ~np.eye(rows, columns, k=columns - rows, dtype=bool)
    if len(set(forbidden[judged])) == 2 and np.array_equal(read[judged], forbidden[judged]):
        return "the mask is upside down: ours reads what the reference forbids, and forbids what it reads"
    return None


def wrong_axis(ours, reference, limit):
    if not are_weights(reference) or (ours < 0).any() or all_ones(ours.sum(axis=-1)):
        return None
    for axis in range(-2, -ours.ndim - 1, -1):
        sums = ours.sum(axis=axis)
        slices = np.isnan(sums)  # a column that is masked as a whole
        if not slices.all() and all_ones(sums[~slices]) and np.isnan(ours).all(axis=axis)[slices].all():
            return (
                f"rows sum to 1 over the wrong axis: ours sums to 1 over axis {axis}, the reference over the last; "
                "softmax belongs on the last axis, over the sources"
            )
    for axes, what in (((-2, -1), "each whole matrix sums to 1"), (None, "the whole array sums to 1")):
        if all_ones(ours.sum(axis=axes)):
            return f"rows sum to 1 over the wrong axis: {what}, not each row; softmax belongs on the last axis alone"
    return None


def not_renormalised(ours, reference, limit):
    """Each row a multiple of the reference's: ours / its own sum is the reference, or so for an output."""
    if ours.ndim < 2 or ours.shape[-1] < 2 or not np.isfinite(ours).all() or not np.isfinite(reference).all():
        return None
    squares = (reference**2).sum(axis=-1)
    factors = (ours * reference).sum(axis=-1) / np.where(squares == 0, 1, squares)
    safe = np.where(factors == 0, 1, factors)
    constrained = (np.ptp(reference, axis=-1) > limit) & (np.abs(factors - 1) > FLOAT32)
    if not constrained.any() or (factors < 0).any() or not agree(ours / safe[..., None], reference, limit):
        return None
    row = first(constrained)
    if are_weights(reference) and (reference == 0).any() and (ours.sum(axis=-1) <= 1 + FLOAT32).all():
        return (
            f"the mask came after the softmax without renormalising: rows sum to less than 1 (row {index_text(row)} "
            f"to {short(factors[row])}), and divided by their sums they equal the reference"
        )
    if np.abs(reference.sum(axis=-1)).max() <= max(limit, FLOAT32) * np.abs(reference).max():
        cause = "a LayerNorm whose epsilon is another, or stands outside the root, does this"  # its rows sum to 0
    else:
        cause = "a mask after the softmax without renormalising does this to the output"
    return (
        f"each row is the reference's times a factor of its own (row {index_text(row)}: {short(factors[row])}): the "
        f"rows are normalised differently; {cause}"
    )


def leak_through_mask(ours, reference, limit):
    forbidden = is_forbidden(reference)
    if forbidden is None or forbidden.ndim < 2 or np.isnan(ours).any():
        return None
    if are_weights(reference) and not are_weights(ours):
        return None
    leaks = is_read(ours, reference) & forbidden
    if not leaks.any():
        return None
    rows, columns = forbidden.shape[-2:]
    future = np.triu(np.ones((rows, columns), dtype=bool), k=columns - rows + 1)
    from_future = leaks & future & ~forbidden.all(axis=-2, keepdims=True)  # a column closed to all rows is padding
    is_future = forbidden[..., future].all() and from_future.any()
    *_, row, column = first(from_future if is_future else leaks)
    what = "the future leaks through the mask" if is_future else "a masked position is read"
    return f"{what}: row {row} reads position {column}, which the reference forbids"


# --- the right numbers in the wrong places


def transposed(ours, reference, limit):
    if ours.ndim >= 2 and agree(ours.swapaxes(-1, -2), reference, limit):
        is_mask = np.isneginf(reference).any() and not reference[np.isfinite(reference)].any()
        return "equal after transposing the last two axes" + (": the mask is upside down" if is_mask else "")
    return None


def permuted(ours, reference, limit):
    """Equal after a transpose of any axes, in one shape or another."""
    if sorted(ours.shape) != sorted(reference.shape) or not 2 <= ours.ndim <= 5:
        return None
    for axes in itertools.permutations(range(ours.ndim)):
        if agree(ours.transpose(axes), reference, limit):
            moved = [axis for axis, source in enumerate(axes) if axis != source]
            how = f"swapping axes {moved[0]} and {moved[1]}" if len(moved) == 2 else f"transposing with axes {axes}"
            return f"equal after {how}"
    if ours.shape != reference.shape:
        name = "the transpose" if ours.ndim == 2 else "a permutation of the axes"
        return f"one shape is {name} of the other, but the values differ after transposing too"
    return None


def split_without_transpose(ours, reference, limit):
    """(…, S, d) reshaped at once to (…, heads, S, d_k)."""
    if ours.ndim < 3:
        return None
    *lead, heads, S, d_k = ours.shape
    if agree(ours.reshape(*lead, S, heads, d_k).swapaxes(-2, -3), reference, limit):
        return (
            "equal after swapping head and position axes: reshape to (S, heads, d_k) first, then transpose; "
            "a reshape without a transpose cuts the heads out of the rows"
        )
    return None


def merge_without_transpose(ours, reference, limit):
    """(…, heads, S, d_k) reshaped at once to (…, S, d)."""
    if ours.ndim < 2:
        return None
    *lead, S, d = ours.shape
    for heads in divisors(d):
        if agree(ours.reshape(*lead, heads, S, d // heads).swapaxes(-2, -3).reshape(ours.shape), reference, limit):
            return (
                f"equal after swapping head and position axes, heads = {heads}: transpose to (S, heads, d_k) first, "
                "then reshape; a reshape without a transpose mixes the positions"
            )
    return None


def heads_and_channels_swapped(ours, reference, limit):
    """The columns were split as (d_k, heads) in place of (heads, d_k)."""
    if ours.ndim >= 3:
        *lead, heads, S, d_k = ours.shape
        columns = np.moveaxis(ours, -3, -1).reshape(*lead, S, d_k * heads)  # the input of the split
        if agree(np.moveaxis(columns.reshape(*lead, S, heads, d_k), -2, -3), reference, limit):
            return "equal after swapping head and channel axes: a row holds d_k numbers of head 0, then of head 1"
    if ours.ndim >= 1:
        *lead, d = ours.shape
        for heads in divisors(d):
            if agree(ours.reshape(*lead, d // heads, heads).swapaxes(-1, -2).reshape(ours.shape), reference, limit):
                halves = ": two halves, as of sines and cosines, are interleaved in one and side by side in the other"
                told = halves if 2 in (heads, d // heads) else ""
                return f"equal after swapping head and channel axes, heads = {heads}, within each row{told}"
    return None


def divisors(d):
    return [n for n in range(2, d) if d % n == 0]


def shifted(ours, reference, limit):
    for axis in range(ours.ndim):
        mine, theirs = np.moveaxis(ours, axis, 0), np.moveaxis(reference, axis, 0)
        for one, other, how in ((mine[1:], theirs[:-1], "later"), (mine[:-1], theirs[1:], "earlier")):
            if len(one) >= 2 and np.ptp(other, axis=0).max() > limit and agree(one, other, limit):
                return f"equal after a shift: along axis {axis} ours comes one place {how} than the reference"
    return None


def repeated_rows_overwritten(ours, reference, limit):
    """A look-up's gradient whose repeated ids were written, not added."""
    if ours.ndim != 2:
        return None
    unused = ~reference.any(axis=-1)
    differs = np.abs(ours - reference) > limit
    rows = differs.any(axis=-1)
    agreeing = ~rows & ~unused
    if not unused.any() or not rows.any() or not agreeing.any() or ours[unused].any() or not differs[rows].all():
        return None
    names = ", ".join(str(row) for row in np.flatnonzero(rows)[:5])
    return f"only some rows differ ({names}): if their ids repeat, their contributions must be added, not overwritten"


# --- the right numbers, scaled or moved


def constant_factor(ours, reference, limit):
    if not finite_together(ours, reference):
        return None
    mine, theirs = ours[np.isfinite(ours)], reference[np.isfinite(reference)]
    factor = best_factor(mine, theirs)
    if not factor or not agree(mine / factor, theirs, limit):
        return None
    if math.isclose(factor, -1, rel_tol=FLOAT32):
        return "equal after changing the sign: the sign is flipped"
    is_constant = np.ptp(theirs) <= limit  # then every error has a factor, and only a telling one is told
    names = known_factors(factor, ours.shape, only_means=is_constant)
    if is_constant and (not names or np.all(mine == np.round(mine)) and np.all(theirs == np.round(theirs))):
        return None
    return "; ".join([f"equal up to a constant factor: ours is {short(factor)} times the reference", *names])


def best_factor(mine, theirs):
    """The factor c for which c * theirs is nearest to mine; 0 if there is none."""
    square = float(theirs @ theirs)
    return float(mine @ theirs) / square if square else 0.0


def known_factors(factor, shape, only_means=False):
    """What usually causes this factor, in words."""
    size = abs(factor)
    names = []
    for root, inverse in ((size, False), (1 / size, True)):
        square = round(root**2)
        if not only_means and 2 <= square <= 1024 and math.isclose(root**2, square, rel_tol=1e-6):
            what = "1/√d_k applied twice, or a forgotten √d," if inverse else "a forgotten 1/√d_k,"
            names.append(f"{what} {'d' if inverse else 'd_k'} = {square}, is a factor of {short(size)}")
        whole = round(root)
        if whole >= 2 and math.isclose(root, whole, rel_tol=1e-6):
            what = "a mean in place of a sum" if inverse else "a sum in place of a mean"
            names.append(f"{what} over {whole} numbers is a factor of {short(size)}")
    for n in sorted({*range(3, 65), *shape} - {1}):
        tolerance = FLOAT32 if n in shape else 1e-9  # an epsilon beside the variance blurs the factor
        for power, told in ((1, "n/(n-1)"), (0.5, "√(n/(n-1))")):
            if not only_means and math.isclose(max(size, 1 / size), (n / (n - 1)) ** power, rel_tol=tolerance):
                names.append(f"a variance over n = {n} divided by n - 1 in place of n is a factor of {told}")
    return names


def constant_offset(ours, reference, limit):
    finite = np.isfinite(reference)
    if finite.sum() < 2 or not finite_together(ours, reference) or np.ptp(reference[finite]) <= limit:
        return None
    offsets = ours - reference
    if np.ptp(offsets[finite]) <= limit:
        return f"equal up to a constant offset: ours is the reference plus {short(offsets[finite][0])}"
    if ours.ndim < 2 or not finite.all():
        return None
    rows = offsets.reshape(-1, offsets.shape[-1])
    if rows.shape[1] >= 2 and np.ptp(rows, axis=1).max() <= limit:
        return "equal up to a constant offset in each row: a row's maximum or logarithm of its sum left in or out"
    if rows.shape[0] >= 2 and np.ptp(rows, axis=0).max() <= limit:
        return "equal up to a constant offset in each column: a bias left out, or added twice"
    return None


def factor_around_offset(ours, reference, limit):
    """One factor before an offset per column was added, as of a variance inside a layer norm with a beta."""
    if ours.ndim < 2 or not np.isfinite(ours).all() or not np.isfinite(reference).all():
        return None
    mine, theirs = (array.reshape(-1, array.shape[-1]) for array in (ours, reference))
    if (mine.shape[0] - 1) * mine.shape[1] < 2:
        return None
    mine, theirs = mine - mine.mean(axis=0), theirs - theirs.mean(axis=0)
    factor = best_factor(mine.ravel(), theirs.ravel())
    if not factor or not agree(mine / factor, theirs, limit):
        return None
    names = known_factors(factor, ours.shape)
    return "; ".join([f"equal up to a constant factor, {short(factor)}, and an offset in each column", *names])


# --- precision


def float32(ours, reference, limit):
    """Differences of float32's size, and not for a rounded reference alone."""
    if not np.isfinite(ours).all() or not np.isfinite(reference).all():
        return None
    gap = float(np.abs(ours - reference).max()) / max(float(np.abs(reference).max()), np.finfo(float).tiny)
    if not 1e-9 < gap < FLOAT32:
        return None
    for who, array in (("ours", ours), ("the reference", reference)):
        if np.array_equal(array, array.astype(np.float32)):
            return f"{who} computed in float32? the numbers agree to about seven digits, and {who} holds no more"
    return "computed in float32? the numbers agree to about seven digits"


# --- other shapes


def only_reshaped(ours, reference, limit):
    if ours.size == reference.size and agree(ours.ravel(), reference.ravel(), limit):
        return "the same numbers in the same order: only the axes are cut differently"
    return None


def would_broadcast(ours, reference, limit):
    try:
        shape = np.broadcast_shapes(ours.shape, reference.shape)
    except ValueError:
        return None
    if agree(np.broadcast_to(ours, shape), np.broadcast_to(reference, shape), limit):
        return "equal if broadcast, which a comparison must not do silently"
    return None


def averaged(ours, reference, limit):
    for more, fewer, who in ((ours, reference, "the reference"), (reference, ours, "ours")):
        for axis in range(more.ndim):
            if more.ndim == fewer.ndim + 1 and agree(more.mean(axis=axis), fewer, limit):
                return f"{who} is the mean over axis {axis} of the other, as when weights are averaged over heads"
    return None


SAME_SHAPE = [
    reference_is_nan,
    mask_from_zero_times_infinity,
    transposed,
    mask_upside_down,
    wrong_axis,
    nan_or_infinity,
    constant_factor,
    constant_offset,
    heads_and_channels_swapped,
    permuted,
    split_without_transpose,
    merge_without_transpose,
    not_renormalised,
    factor_around_offset,
    leak_through_mask,
    shifted,
    repeated_rows_overwritten,
    float32,
]
OTHER_SHAPE = [only_reshaped, permuted, would_broadcast, averaged]
