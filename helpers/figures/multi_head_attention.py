"""Drawings for notebook 06: where numbers go when heads are split off, and what trained heads do."""

import numpy as np
from matplotlib.patches import Rectangle

from helpers import figures
from helpers.explorers.layout import GROUPS, INK

GAP = 0.7  # between two heads, in cells


def draw_split(panels, d_k):
    """A figure with one panel for each array in ``panels`` (title -> array), side by side.

    An array is (S, d), or (heads, S, d_k) with the heads drawn side by side; an
    entry 10 · position + column is written as two digits, position first. The
    colour of a cell tells the head that owns its column.
    """
    blocks = {title: array[None] if array.ndim == 2 else array for title, array in panels.items()}
    widths = [len(array) * (array.shape[2] + GAP) for array in blocks.values()]
    figure, axes = figures.new(
        0.62 * sum(widths) + 0.4, 2.4, columns=len(blocks), squeeze=False, gridspec_kw={"width_ratios": widths}
    )
    for axis, (title, array) in zip(axes[0], blocks.items(), strict=True):
        for block, cells in enumerate(array):
            left = block * (array.shape[2] + GAP)
            for (row, column), entry in np.ndenumerate(cells):
                owner = GROUPS[int(entry) % 10 // d_k]
                axis.add_patch(Rectangle((left + column, row), 1, 1, facecolor=owner, edgecolor=INK, linewidth=0.8))
                axis.text(left + column + 0.5, row + 0.5, f"{int(entry):02d}", ha="center", va="center")
            if panels[title].ndim == 3:
                axis.text(left + array.shape[2] / 2, array.shape[1] + 0.35, f"head {block}", ha="center", va="center")
        axis.set(title=title, xlim=(-0.1, left + array.shape[2] + 0.1), ylim=(array.shape[1] + 0.8, -0.1))
        axis.set_aspect("equal", anchor="W")
        axis.axis("off")
    return figure


def draw_roles(reads, overlap, alone, with_all):
    """Three panels about the heads of a trained layer.

    ``reads`` (heads, 2): weight on the first and on the second fact; ``overlap``
    (heads, heads); ``alone`` (heads,): the error with one head off, beside the
    error ``with_all`` heads on.
    """
    heads = np.arange(len(reads))
    figure, (left, middle, right) = figures.new(10, 2.8, columns=3)
    left.bar(heads - 0.2, reads[:, 0], 0.36, label="first fact")
    left.bar(heads + 0.2, reads[:, 1], 0.36, label="second fact")
    left.set(title="weight on the two facts", xlabel="head", xticks=heads, ylim=(0, 1.35))
    left.legend(ncols=2)
    middle.imshow(overlap, cmap="viridis", vmin=0, vmax=1)
    for (i, j), value in np.ndenumerate(overlap):
        ink = "black" if value > 0.5 else "white"
        middle.text(j, i, f"{value:.1f}", ha="center", va="center", color=ink)
    middle.set(title="overlap of two heads", xlabel="head", ylabel="head", xticks=heads, yticks=heads)
    middle.grid(False)
    right.bar(heads, alone, 0.6)
    right.axhline(with_all, color=INK, linestyle="--", label="all heads on")
    right.set(title="error with one head off", xlabel="head", xticks=heads)
    right.legend()
    return figure


def draw_maps(A, row_words, column_words):
    """The weights A (heads, S_q, S_k) of a sentence, one map for each head, with words at rows and columns."""
    figure, axes = figures.new(11, 3.2, columns=len(A), sharey=True)
    for head, (axis, weights) in enumerate(zip(axes, A, strict=True)):
        axis.imshow(weights, cmap="viridis", vmin=0, vmax=1)
        axis.set(title=f"head {head}", xticks=range(len(column_words)), yticks=range(len(row_words)))
        axis.set_xticklabels(column_words, rotation=90)
        axis.set_yticklabels(row_words)
        axis.grid(False)
    return figure
