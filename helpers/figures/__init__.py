"""Still pictures: showing a matplotlib figure with its description, in one modest style."""

import base64
import io
import sys
import warnings
from functools import cache, wraps

import numpy as np

from helpers.explorers.layout import GROUND, INK, LINE, MUTED, SERIES

STYLE = {
    "figure.facecolor": GROUND,
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}
COLOURS = tuple(colour for colour, _ in SERIES)


@cache
def styled_axes():
    """Axes that keep to STYLE whatever is drawn on them later: matplotlib reads its settings again at each call."""
    import matplotlib
    from matplotlib.axes import Axes

    def styled(method):
        @wraps(method)
        def call(self, *arguments, **options):
            with matplotlib.rc_context(STYLE):
                return method(self, *arguments, **options)

        return call

    late = ("set_title", "legend", "plot", "text", "annotate")
    return type("StyledAxes", (Axes,), {name: styled(getattr(Axes, name)) for name in late})


def new(width=8.0, height=3.6, rows=1, columns=1, **subplots):
    """(figure, axes) in the course's style, ``width`` x ``height`` inches at 100 pixels an inch.

    ``axes`` is one Axes, or an array of them for several rows or columns. The
    figure belongs to no pyplot window, so nothing is shown twice or left open.
    """
    import matplotlib
    from cycler import cycler
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, **subplots, subplot_kw={"axes_class": styled_axes()})


def png(figure):
    """The figure as the bytes of a PNG file, drawn by Agg whatever backend is active."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        # a token in a script that no installed font has is drawn as a box, and not worth a warning
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        canvas.draw()
    indices, colours = few_colours(np.asarray(canvas.buffer_rgba())[..., :3])
    picture = Image.fromarray(indices).convert("P")
    picture.putpalette(colours.tobytes())
    file = io.BytesIO()
    picture.save(file, "png", optimize=True)
    return file.getvalue()


def few_colours(pixels, most=256):
    """(indices, colours): each pixel takes the nearest of ``most`` colours, so that a byte a pixel is enough.

    Half of them are the most frequent ones; the others are chosen one by one,
    each the colour that is farthest from all before it.
    """
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)  # (height, width)
    found, inverse, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = (found[:, None] >> np.array([16, 8, 0], dtype=np.uint32) & 255).astype(np.int32)  # (found, 3)
    frequent = np.argsort(-counts, kind="stable")[: most // 2]
    kept = []
    nearest = np.zeros(len(found), dtype=np.uint8)
    distance = np.full(len(found), 3 * 256**2)
    while len(kept) < min(most, len(found)):
        new = frequent[len(kept)] if len(kept) < len(frequent) else distance.argmax()
        to_new = ((colours - colours[new]) ** 2).sum(axis=1)
        nearest[to_new < distance] = len(kept)
        np.minimum(distance, to_new, out=distance)
        kept.append(new)
    return nearest[inverse].reshape(packed.shape), colours[kept].astype(np.uint8)


def bundle(figure, alt):
    """(data, metadata) for IPython's display(..., raw=True): a PNG with alt text, and the alt text as plain text."""
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("figures: a figure needs an alt text that says what it shows")
    data = {"image/png": base64.b64encode(png(figure)).decode(), "text/plain": alt}
    return data, {"image/png": {"alt": alt}}


def show(figure, alt):
    """Display a figure with its alt text, and close it."""
    from IPython import get_ipython
    from IPython.display import display

    data, metadata = bundle(figure, alt)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    if get_ipython() is None:
        print(alt)
    else:
        display(data, metadata=metadata, raw=True)
