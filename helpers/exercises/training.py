"""Exercises of notebook 11."""

import math

import numpy as np

from helpers.exercises.core import Exercise, computes, expects

valid_positions = Exercise(
    "11.1",
    "predict",
    "Which positions count",
    judge=expects(
        (7, 3, 6),
        mistakes=[
            ((6, 4, 6), "The end token is a target as well: the model has to learn where to stop."),
            ((6, 4, 5), "Six words give seven targets: the end token is one of them."),
            ((7, 3, 7), "Positions count from 0: the seventh target stands at position 6."),
            ((7, 3, 5), "Position 5 reads the fifth word and is asked for the sixth. The end comes after it."),
            ((8, 2, 7), "The start token is read, never asked for: it is no target."),
            ((8, 2, 6), "The start token is read, never asked for: it is no target."),
            ((10, 0, 6), "Padded rows are computed, but they do not enter the loss."),
            ((10, 0, 9), "The rows after the end token are padding: nobody asks for anything there."),
            ((7, 4, 6), "Valid and padded rows together make the 10 rows of the batch."),
        ],
        otherwise="Write the ten positions below each other: start, the words, padding; beside them what is asked for.",
    ),
    right="Six words and the end token are asked for; the last three rows are padding; position 6 reads the last word.",
    wrong=[
        ((6, 4, 6), "learn where to stop"),
        ((6, 4, 5), "seven targets"),
        ((7, 3, 7), "count from 0"),
        ((7, 3, 5), "fifth word"),
        ((8, 2, 7), "never asked for"),
        ((10, 0, 6), "do not enter"),
        ((10, 0, 9), "nobody asks"),
        ((7, 4, 6), "together make"),
        ((1, 2, 3), "below each other"),
        (7, "a tuple of 3"),
    ],
)

first_loss = Exercise(
    "11.2",
    "predict",
    "The loss of knowing nothing",
    judge=expects(
        math.log(1000),
        mistakes=[
            (3.0, "That is the logarithm to base 10. The loss uses the natural one."),
            (math.log2(1000), "That is the logarithm to base 2. The loss uses the natural one."),
            (-math.log(1000), "p is below 1, so ln p is negative and -ln p positive."),
            (0.001, "p(y) itself is that small. The loss is -ln p(y), which is large."),
            (0.999, "That is 1 - p(y), the share of the others. The loss is -ln p(y)."),
            (1000.0, "That is 1 / p(y). The loss is its logarithm."),
        ],
        otherwise="All tokens are equally likely. How large is the probability of one of them, and what is -ln of it?",
        tolerance=0.05,
    ),
    right="-ln(1/1000) = ln 1000 = 6.91. A first loss far above that means a model that is sure of wrong things.",
    wrong=[
        (3.0, "base 10"),
        (9.97, "base 2"),
        (-6.91, "ln p is negative"),
        (0.001, "itself is that small"),
        (0.999, "share of the others"),
        (1000, "its logarithm"),
        (2.0, "equally likely"),
        ("large", "a number"),
    ],
)


def joined(dw_1, targets_1, dw_2, targets_2):
    """The right answer to 11.3."""
    return (targets_1 * dw_1 + targets_2 * dw_2) / (targets_1 + targets_2)


def joined_as_sum(dw_1, targets_1, dw_2, targets_2):
    return dw_1 + dw_2


def joined_as_mean(dw_1, targets_1, dw_2, targets_2):
    return (dw_1 + dw_2) / 2


def joined_without_dividing(dw_1, targets_1, dw_2, targets_2):
    return targets_1 * dw_1 + targets_2 * dw_2


def joined_crosswise(dw_1, targets_1, dw_2, targets_2):
    return joined(dw_1, targets_2, dw_2, targets_1)


def joined_over_all(dw_1, targets_1, dw_2, targets_2):
    return (dw_1 + dw_2) / (targets_1 + targets_2)


def joined_divided(dw_1, targets_1, dw_2, targets_2):
    return dw_1 / targets_1 + dw_2 / targets_2


def draw_halves(rng):
    shape = tuple(rng.integers(2, 6, size=2))
    few, many = sorted(rng.permutation(np.arange(3, 60))[:2])
    return rng.standard_normal(shape), int(few), rng.standard_normal(shape), int(many)


two_halves = Exercise(
    "11.3",
    "implement",
    "The gradient of a batch from two halves",
    judge=computes(
        joined,
        draw_halves,
        mistakes=[
            (joined_as_sum, "The sum is that of two steps at once. The batch has one mean over all its targets."),
            (joined_as_mean, "The halves do not weigh the same: one has more valid targets than the other."),
            (joined_without_dividing, "Now you have the gradient of the summed loss. Divide by all valid targets."),
            (joined_crosswise, "The weights are exchanged: each gradient goes with the targets of its own half."),
            (joined_over_all, "Each mean was already divided by its own number of targets: multiply it back first."),
            (joined_divided, "You divide each mean a second time. Multiply it by its targets to get the sum back."),
        ],
        what="The gradient",
    ),
    right="Mean times count gives the sums back; sums add up; one division by all valid targets makes the mean.",
    wrong=[
        (joined_as_sum, "two steps at once"),
        (joined_as_mean, "weigh the same"),
        (joined_without_dividing, "summed loss"),
        (joined_crosswise, "exchanged"),
        (joined_over_all, "already divided"),
        (joined_divided, "second time"),
        (lambda dw_1, targets_1, dw_2, targets_2: dw_1[0], "shape"),
    ],
)


def home_made_adam(w, dw, m, v, step, learning_rate):
    m = 0.9 * m + 0.1 * dw
    v = 0.98 * v + 0.02 * dw**2
    return w - learning_rate * m / (np.sqrt(v) + 1e-9), m, v


def mended_adam(w, dw, m, v, step, learning_rate):
    """The right answer to 11.4."""
    m = 0.9 * m + 0.1 * dw
    v = 0.98 * v + 0.02 * dw**2
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.98**step)
    return w - learning_rate * m_hat / (np.sqrt(v_hat) + 1e-9), m, v


def adam_correcting_m_alone(w, dw, m, v, step, learning_rate):
    _, m, v = home_made_adam(w, dw, m, v, step, learning_rate)
    return w - learning_rate * m / (1 - 0.9**step) / (np.sqrt(v) + 1e-9), m, v


def adam_correcting_v_alone(w, dw, m, v, step, learning_rate):
    _, m, v = home_made_adam(w, dw, m, v, step, learning_rate)
    return w - learning_rate * m / (np.sqrt(v / (1 - 0.98**step)) + 1e-9), m, v


def adam_that_keeps_the_corrected(w, dw, m, v, step, learning_rate):
    w, m, v = mended_adam(w, dw, m, v, step, learning_rate)
    return w, m / (1 - 0.9**step), v / (1 - 0.98**step)


def adam_a_step_late(w, dw, m, v, step, learning_rate):
    return mended_adam(w, dw, m, v, step + 1, learning_rate)


def adam_correcting_the_first_step_only(w, dw, m, v, step, learning_rate):
    return mended_adam(w, dw, m, v, 1, learning_rate)


def adam_that_multiplies(w, dw, m, v, step, learning_rate):
    _, m, v = home_made_adam(w, dw, m, v, step, learning_rate)
    m_hat, v_hat = m * (1 - 0.9**step), v * (1 - 0.98**step)
    return w - learning_rate * m_hat / (np.sqrt(v_hat) + 1e-9), m, v


def adam_uphill(w, dw, m, v, step, learning_rate):
    moved, m, v = mended_adam(w, dw, m, v, step, learning_rate)
    return 2 * w - moved, m, v


def draw_adam(rng):
    shape = tuple(rng.integers(2, 6, size=2))
    step = int(rng.integers(2, 12))
    v = rng.random(shape) * (1 - 0.98 ** (step - 1))
    return *rng.standard_normal((2, *shape)), 0.1 * rng.standard_normal(shape), v, step, float(rng.random())


slow_start = Exercise(
    "11.4",
    "repair",
    "An Adam without bias correction",
    judge=computes(
        mended_adam,
        draw_adam,
        mistakes=[
            (home_made_adam, "The numbers are those of the broken function: nothing is corrected yet."),
            (adam_correcting_m_alone, "m is right now. v starts at zero as well: divide it by 1 - 0.98**step."),
            (adam_correcting_v_alone, "v is right now. m starts at zero as well: divide it by 1 - 0.9**step."),
            (adam_that_keeps_the_corrected, "Return m and v as they were averaged: the correction is for this step."),
            (adam_a_step_late, "step counts from 1: the first step divides by 1 - 0.9, not by 1 - 0.81."),
            (adam_correcting_the_first_step_only, "The correction depends on the step: 0.9**step, not 0.9."),
            (adam_that_multiplies, "The means are too small, so divide by what has arrived; you multiply."),
            (adam_uphill, "This goes uphill: the step is subtracted from w."),
        ],
        what="The triple (w, m, v)",
    ),
    right="After t steps the weights in a mean add up to 1 - beta^t. Divided by that, it is a mean from step 1.",
    wrong=[
        (adam_correcting_m_alone, "m is right now"),
        (adam_correcting_v_alone, "v is right now"),
        (adam_that_keeps_the_corrected, "as they were averaged"),
        (adam_a_step_late, "counts from 1"),
        (adam_correcting_the_first_step_only, "depends on the step"),
        (adam_that_multiplies, "you multiply"),
        (adam_uphill, "uphill"),
        (lambda w, dw, m, v, step, learning_rate: mended_adam(w, dw, m, v, step, learning_rate)[0], "differs"),
    ],
    broken=home_made_adam,
)
