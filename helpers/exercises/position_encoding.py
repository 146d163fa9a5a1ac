"""Exercises of notebook 03."""

import math

import numpy as np

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.position_encoding import frequencies, sinusoidal_positions

squared_length = Exercise(
    "3.1",
    "predict",
    "The length of a position vector",
    judge=expects(
        384,
        mistakes=[
            (768, "There are 768 components, but they come in pairs, and each pair adds 1."),
            (math.sqrt(384), "That is the length. The question asks for the dot product, its square."),
            (1, "One pair gives sin² + cos² = 1. How many pairs are there?"),
            (math.sqrt(768), "That is √768, the factor for the tokens. Here, add up the pairs of one row of P."),
            (0, "Sines and cosines may be negative, but here each is multiplied by itself."),
            (385, "The pairs are counted from 0 to 383: that makes 384."),
        ],
        otherwise="P[i] · P[i] adds sin² + cos² for every pair of components.",
        tolerance=1e-6,
    ),
    right="384 pairs, each adding sin² + cos² = 1: every position vector has the same length, about 19.6.",
    wrong=[
        (768, "come in pairs"),
        (math.sqrt(384), "asks for the dot product"),
        (1, "How many pairs"),
        (math.sqrt(768), "factor for the tokens"),
        (0, "multiplied by itself"),
        (385, "0 to 383"),
        (3, "for every pair"),
    ],
)


def one_position(position, d):
    """The right answer to 3.2."""
    return sinusoidal_positions(position + 1, d)[position]


def position_concatenated(position, d):
    return sinusoidal_positions(position + 1, d, "concatenated")[position]


def position_counted_from_one(position, d):
    return one_position(position + 1, d)


def position_cosine_first(position, d):
    angles = position * frequencies(d)  # (ceil(d / 2),)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).reshape(-1)[:d]


def position_half_exponent(position, d):
    angles = position * 10000.0 ** (-np.arange((d + 1) // 2) / d)  # (ceil(d / 2),)
    return np.stack([np.sin(angles), np.cos(angles)], axis=1).reshape(-1)[:d]


def position_own_speeds(position, d):
    angles = position * 10000.0 ** (-np.arange(d) / d)  # (d,)
    return np.where(np.arange(d) % 2 == 0, np.sin(angles), np.cos(angles))


def position_only_sines(position, d):
    return np.repeat(np.sin(position * frequencies(d)), 2)[:d]


def position_too_long(position, d):
    angles = position * frequencies(d)  # (ceil(d / 2),)
    return np.append(one_position(position, d), np.cos(angles[-1]))


def draw_position(rng):
    return int(rng.integers(1, 200)), int(2 * rng.integers(2, 6) + rng.integers(0, 2))


position_vector = Exercise(
    "3.2",
    "implement",
    "The vector of one position",
    judge=computes(
        one_position,
        draw_position,
        mistakes=[
            (position_concatenated, "All sines stand before all cosines. The paper puts each pair side by side."),
            (position_counted_from_one, "This is the vector of the next position: positions count from 0."),
            (position_cosine_first, "Sine and cosine are exchanged: even components are sines."),
            (position_half_exponent, "The exponent is half of what it should be: pair i has 2i in it."),
            (position_own_speeds, "Each component has a speed of its own. The two of a pair share one."),
            (position_only_sines, "Both components of a pair are sines. The second is a cosine."),
        ],
        what="The vector",
    ),
    right="A sine and a cosine of the same angle for each pair, and for an odd d a last sine alone.",
    wrong=[
        (position_concatenated, "All sines"),
        (position_counted_from_one, "next position"),
        (position_cosine_first, "exchanged"),
        (position_half_exponent, "half of what"),
        (position_own_speeds, "share one"),
        (position_only_sines, "Both components"),
        (position_too_long, "shapes differ"),
    ],
)


def distance_product(k, d):
    """The right answer to 3.3."""
    return np.cos(k * frequencies(d)).sum()


def product_of_sines(k, d):
    return np.sin(k * frequencies(d)).sum()


def product_averaged(k, d):
    return np.cos(k * frequencies(d)).mean()


def product_doubled(k, d):
    return 2 * distance_product(k, d)


def product_of_one_pair(k, d):
    return np.cos(k * frequencies(d)[0])


def product_without_distance(k, d):
    return d / 2


def draw_distance(rng):
    return int(rng.integers(1, 60)), int(2 * rng.integers(2, 20))


distance = Exercise(
    "3.3",
    "implement",
    "From distance to dot product",
    judge=computes(
        distance_product,
        draw_distance,
        mistakes=[
            (product_of_sines, "For k = 0 this is 0, but a vector times itself is d / 2. Which function is 1 at 0?"),
            (product_averaged, "The pairs add up; you divided by their number."),
            (product_doubled, "Each pair adds one cosine, not two."),
            (product_of_one_pair, "This is what the first pair adds. Sum over all pairs."),
            (product_without_distance, "This is the value for k = 0. It falls with distance."),
        ],
        what="The dot product",
    ),
    right="sin a sin b + cos a cos b = cos(a − b): in every pair only the difference of the two angles is left.",
    wrong=[
        (product_of_sines, "Which function"),
        (product_averaged, "divided by their number"),
        (product_doubled, "not two"),
        (product_of_one_pair, "first pair"),
        (product_without_distance, "falls with distance"),
        (lambda k, d: float(d), "differs"),
    ],
)


def wavelengths(d):
    pair = np.arange(d // 2)  # (d / 2,)
    return 2 * np.pi * 10000.0 ** (pair / d)


def wavelengths_right(d):
    """The right answer to 3.4."""
    return 2 * np.pi / frequencies(d)


def wavelengths_falling(d):
    return 2 * np.pi * frequencies(d)


def wavelengths_without_circle(d):
    return 1 / frequencies(d)


def wavelengths_linear(d):
    return np.linspace(2 * np.pi, 2 * np.pi * 10000, d // 2)


def wavelengths_to_the_end(d):
    return 2 * np.pi * np.geomspace(1, 10000, d // 2)


def wavelengths_of_components(d):
    return 2 * np.pi * 10000.0 ** (np.arange(d) / d)


def draw_width(rng):
    return (int(2 * rng.integers(2, 40)),)


wrong_exponent = Exercise(
    "3.4",
    "repair",
    "Wavelengths that end too early",
    judge=computes(
        wavelengths_right,
        draw_width,
        mistakes=[
            (wavelengths_falling, "These are 2π times the speeds. A slow pair has a long wave: divide."),
            (wavelengths_without_circle, "A wave is over after a full turn, 2π."),
            (wavelengths_linear, "Wavelengths grow by a constant factor, not by a constant difference."),
            (wavelengths_to_the_end, "The last exponent is (d − 2)/d: the last wave is shorter than 10000 · 2π."),
            (wavelengths_of_components, "One wavelength for each pair, not for each component."),
        ],
        what="The list of wavelengths",
    ),
    right="With 2i/d the exponent runs from 0 to almost 1: the slowest wave is almost 10000 · 2π long.",
    wrong=[
        (wavelengths_falling, "times the speeds"),
        (wavelengths_without_circle, "full turn"),
        (wavelengths_linear, "constant factor"),
        (wavelengths_to_the_end, "last wave is shorter"),
        (wavelengths_of_components, "not for each component"),
        (lambda d: wavelengths_right(d)[::-1], "differs"),
    ],
    broken=wavelengths,
)
