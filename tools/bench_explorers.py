"""Explorers in JupyterLab: milliseconds from key press to changed page, 8 heads, causal mask.

Eight maps and nothing else, the same maps drawn with interactive_output and matplotlib, and the whole page of
notebook 05, all in the same browser.
"""

import itertools
import os
import shutil
import tempfile
from pathlib import Path

from tools.lab import Lab
from tools.timing import line, medians

SIZES = (16, 64)
ROUNDS = 15
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

SETUP = """
import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

from helpers.explorers.page import Heatmap, Page, Row
from helpers.explorers.shell import Explorer, Slider
from helpers.layers.attention import attention, causal_mask


def weights(S):
    Q, K = np.random.default_rng(0).normal(size=(2, 8, S, 8))
    return attention(Q, K, K, causal_mask(S))["A"]  # (8, S, S)


def page(settings):
    S = settings["S"]
    forbidden = np.isneginf(causal_mask(S))
    maps = (Heatmap(f"head {i}", A, f"weights of head {i}", mask=forbidden) for i, A in enumerate(weights(S)))
    return Page("Weights", [Row(*maps, one_scale=True)], "summary", "weights of eight heads")


def draw(S):
    figure, axes = plt.subplots(2, 4, figsize=(8, 4.2))
    for head, (A, place) in enumerate(zip(weights(S), axes.flat)):
        place.imshow(np.ma.masked_where(np.isneginf(causal_mask(S)), A), cmap="viridis", vmin=0)
        place.set_title(f"head {head}")
    plt.show()
"""
OURS = "Explorer(page, [Slider('S', 1, 64, {S})], 'bench').show()"
WHOLE = "from helpers.explorers import attention as topic; topic.explore(S={S}, heads=8)"
THEIRS = """
slider = ipywidgets.IntSlider(value={S}, min=1, max=64, description='S')
display(ipywidgets.VBox([slider, ipywidgets.interactive_output(draw, {{'S': slider}})]))
"""


# what is timed: its cell, the element that changes, whether that change brings a picture
WAYS = {
    "explorer": (OURS, ".widget-html-content", False),
    "interactive_output with matplotlib": (THEIRS, ".jp-OutputArea-output", True),
    "whole explorer of notebook 05": (WHOLE, ".widget-html-content", False),
}


def write_notebook(path):
    """A notebook with all ways at both sizes."""
    import nbformat

    sources = [SETUP, *(way.format(S=S) for S in SIZES for way, *_ in WAYS.values())]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbformat.write(notebook, path)


def pressing(notebook, cell, changing, wait_for_image):
    """A function that presses a key on the cell's slider, one step down and up in turn, and returns milliseconds."""
    element = notebook.cell(cell)
    root = element.wait_for_selector(changing)
    slider = element.query_selector("[role=slider]")
    notebook.page.wait_for_timeout(500)
    notebook.watch(root, wait_for_image)
    keys = itertools.cycle(("ArrowLeft", "ArrowRight"))

    def press():
        slider.focus()
        return notebook.press(next(keys))

    return press


def lines():
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return ["no Chromium or Chrome was found"]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        write_notebook(Path(folder) / "bench.ipynb")
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        with Lab(folder, browser) as lab:
            cell = 0
            for S in SIZES:
                times = {}
                for name, (_, changing, image) in WAYS.items():
                    cell += 1
                    notebook = lab.open("bench.ipynb")
                    notebook.run_all()
                    times |= medians({name: pressing(notebook, cell, changing, image)}, ROUNDS)
                    notebook.close()
                found.append(line(f"S = {S}", times))
    return found
