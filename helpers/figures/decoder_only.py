"""Drawings of notebook 09."""

import numpy as np

from helpers.figures import COLOURS


def span_map(axis, values, spans, title, **image):
    """Draw a square map over one sequence, with lines between its spans and their names on both axes.

    ``spans`` is {name: slice}; ``image`` goes to matplotlib's ``imshow``.
    """
    axis.imshow(values, vmin=0, **image)
    for span in list(spans.values())[1:]:
        axis.axhline(span.start - 0.5, color=COLOURS[1], linewidth=1.5)
        axis.axvline(span.start - 0.5, color=COLOURS[1], linewidth=1.5)
    middles = [np.mean([span.start, span.stop - 1]) for span in spans.values()]
    axis.set(title=title, xlabel="source position", ylabel="receiving position")
    axis.set_xticks(middles, list(spans))
    axis.set_yticks(middles, list(spans), rotation=90, va="center")
    axis.tick_params(length=0)
    axis.grid(False)
