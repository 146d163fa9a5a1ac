"""Drawings for notebook 06: where the numbers of a matrix go when heads are split off."""

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
