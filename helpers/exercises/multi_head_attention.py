"""Exercises of notebook 06."""

import numpy as np

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.multi_head_attention import merge_heads

count_parameters = Exercise(
    "6.1",
    "predict",
    "Parameters with 4 and with 16 heads",
    judge=expects(
        (263_168, 263_168),
        mistakes=[
            ((263_168, 1_052_672), "Four times as many heads, each a quarter as wide: 16 · 256 · 16 is 4 · 256 · 64."),
            ((263_168, 65_792), "The heads are a quarter as wide, but there are four times as many of them."),
            ((262_144, 262_144), "The four weights are counted. Each map also has a bias of 256 numbers."),
            ((197_376, 197_376), "That is W_Q, W_K and W_V with their biases. W_O belongs to the layer as well."),
            ((196_608, 196_608), "That is W_Q, W_K and W_V alone: W_O and the biases are missing."),
            ((1_052_672, 4_210_688), "256 × 256 holds the columns of all heads already: do not multiply by heads."),
            ((65_792, 16_448), "That is one head's part. Add up all heads."),
        ],
        otherwise="Count four 256 × 256 weights and four biases, then ask what the number of heads changes in them.",
    ),
    right="Four maps of 256 · 256 + 256 numbers. The number of heads only says how the columns are cut.",
    wrong=[
        ((263_168, 1_052_672), "each a quarter as wide"),
        ((263_168, 65_792), "four times as many of them"),
        ((262_144, 262_144), "also has a bias"),
        ((197_376, 197_376), "W_O belongs"),
        ((196_608, 196_608), "biases are missing"),
        ((1_052_672, 4_210_688), "do not multiply"),
        ((65_792, 16_448), "one head's part"),
        (263_168, "a tuple of 2"),
        ((1, 1), "Count four"),
    ],
)

find_number = Exercise(
    "6.2",
    "predict",
    "Where a number goes when the heads are split",
    judge=expects(
        (1, 3, 3),
        mistakes=[
            ((3, 1, 3), "These are the right three numbers before the transpose: (position, head, component)."),
            ((1, 3, 2), "That cuts the columns into (d_k, heads), head by head in turn. A head owns a whole block."),
            ((2, 0, 3), "That is the reshape without a transpose: it counts 3 · 12 + 7 = 43 places on into (3, 5, 4)."),
            ((1, 3, 7), "Head and position are right. Inside the head the columns count from 0 again."),
            ((2, 3, 3), "Head 0 owns columns 0 to 3, head 1 columns 4 to 7: heads count from 0."),
            ((3, 7, 1), "The order of the axes is head, position, component."),
        ],
        otherwise="Which head owns column 7 when each owns four? Which of that head's columns is it? The row is kept.",
    ),
    right="Column 7 is the last of head 1's columns 4 to 7, and the position is still 3.",
    wrong=[
        ((3, 1, 3), "before the transpose"),
        ((1, 3, 2), "a whole block"),
        ((2, 0, 3), "without a transpose"),
        ((1, 3, 7), "count from 0 again"),
        ((2, 3, 3), "heads count from 0"),
        ((3, 7, 1), "order of the axes"),
        ((0, 0, 0), "Which head owns"),
    ],
)


def parts_of(H, W_O):
    """The right answer to 6.3."""
    heads, _, d_k = H.shape
    return H @ W_O.reshape(heads, d_k, -1)


def parts_from_columns(H, W_O):
    heads, _, d_k = H.shape
    return np.stack([H[i] @ W_O[:, i * d_k : (i + 1) * d_k].T for i in range(heads)])


def parts_from_every_head_th_row(H, W_O):
    heads = len(H)
    return np.stack([H[i] @ W_O[i::heads] for i in range(heads)])


def parts_all_from_the_first_rows(H, W_O):
    return H @ W_O[: H.shape[-1]]


def parts_summed(H, W_O):
    return parts_of(H, W_O).sum(axis=0)


def parts_shared_equally(H, W_O):
    heads = len(H)
    return np.stack([parts_summed(H, W_O) / heads] * heads)


def parts_of_everything(H, W_O):
    return np.stack([parts_summed(H, W_O)] * len(H))


def draw_outputs(rng):
    S, heads, d_k = (int(n) for n in rng.permutation(np.arange(2, 7))[:3])
    return rng.standard_normal((heads, S, d_k)), rng.standard_normal((heads * d_k, heads * d_k))


contributions = Exercise(
    "6.3",
    "implement",
    "What each head adds to O",
    judge=computes(
        parts_of,
        draw_outputs,
        mistakes=[
            (
                parts_from_columns,
                "You take columns of W_O. A head's columns of the concatenation meet rows of W_O.",
            ),
            (
                parts_from_every_head_th_row,
                "Head i owns a block of d_k rows that follow each other, not every row i, i + heads, ...",
            ),
            (parts_all_from_the_first_rows, "Every head goes through the rows of head 0: head i has its own."),
            (parts_summed, "That is O itself. Keep the heads' parts apart: the result is (heads, S, d)."),
            (parts_shared_equally, "The parts sum to O, but each is the average: head i's part may use H[i] alone."),
            (parts_of_everything, "Each entry is the whole of O: head i's part may use H[i] alone."),
        ],
        what="The array of parts",
    ),
    right="Head i meets rows i · d_k to (i + 1) · d_k - 1 of W_O, and O is the sum of the parts.",
    wrong=[
        (parts_from_columns, "meet rows"),
        (parts_from_every_head_th_row, "follow each other"),
        (parts_all_from_the_first_rows, "rows of head 0"),
        (parts_summed, "Keep the heads' parts apart"),
        (parts_shared_equally, "each is the average"),
        (parts_of_everything, "whole of O"),
        (lambda H, W_O: parts_of(H, W_O)[..., :-1], "shapes differ"),
    ],
)


def put_side_by_side(H):
    heads, S, d_k = H.shape
    return H.reshape(S, heads * d_k)  # (S, d)


def side_by_side_transposed_too_far(H):
    return H.transpose(1, 2, 0).reshape(H.shape[1], -1)


def side_by_side_heads_on_top(H):
    return H.reshape(-1, H.shape[-1])


def side_by_side_summed(H):
    return H.sum(axis=0)


def side_by_side_components_swapped(H):
    return H.swapaxes(-1, -2).reshape(H.shape[1], -1)


def side_by_side_backwards(H):
    return merge_heads(H[::-1])


def draw_heads(rng):
    S, heads, d_k = (int(n) for n in rng.permutation(np.arange(2, 7))[:3])
    return (rng.standard_normal((heads, S, d_k)),)


side_by_side = Exercise(
    "6.4",
    "repair",
    "A concatenation that mixes the positions",
    judge=computes(
        merge_heads,
        draw_heads,
        mistakes=[
            (put_side_by_side, "This still runs through head 0 position by position before it comes to head 1."),
            (
                side_by_side_transposed_too_far,
                "The heads' components are interleaved. A row holds all of head 0, then all of head 1.",
            ),
            (
                side_by_side_heads_on_top,
                "The heads stand one above the other. They belong side by side: (S, heads · d_k).",
            ),
            (side_by_side_summed, "The heads are added up. Concatenation keeps every number."),
            (
                side_by_side_components_swapped,
                "You swap positions and components. Heads and positions must change places.",
            ),
            (side_by_side_backwards, "The last head comes first. Head 0 owns the first columns."),
        ],
        what="The concatenation",
    ),
    right="Once the position is the first axis, the reshape joins what belongs to one position.",
    wrong=[
        (lambda H: put_side_by_side(H) + 0, "still runs through head 0"),
        (side_by_side_transposed_too_far, "interleaved"),
        (side_by_side_heads_on_top, "one above the other"),
        (side_by_side_summed, "added up"),
        (side_by_side_components_swapped, "positions and components"),
        (side_by_side_backwards, "last head comes first"),
        (lambda H: merge_heads(H)[:, :-1], "shapes differ"),
    ],
    broken=put_side_by_side,
)
