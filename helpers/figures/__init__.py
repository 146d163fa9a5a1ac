"""Still pictures: showing a matplotlib figure with its description, in one modest style."""

import base64
import io
import sys
import warnings

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
        return figure, figure.subplots(rows, columns, **subplots)


def png(figure):
    """The figure as the bytes of a PNG file, drawn by Agg whatever backend is active.

    256 colours are enough for our drawings and make a saved notebook a third as large.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        # a token in a script that no installed font has is drawn as a box, and not worth a warning
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    file = io.BytesIO()
    few = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, "png", optimize=True)
    return file.getvalue()


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
