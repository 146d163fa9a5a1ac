"""Pages and an explorer for the tests: every panel, every control. It stands beside a notebook in the browser test."""

import numpy as np

from helpers.explorers.page import (
    Arrow,
    Bars,
    Box,
    Column,
    Curve,
    Diagram,
    Heatmap,
    Page,
    Row,
    ShapeTable,
    Table,
    Text,
    Tokens,
)
from helpers.explorers.shell import Choice, Explorer, Slider, Stepper, TextBox, Toggle, divisors
from helpers.layers.attention import attention, causal_mask, no_mask


def head_maps(S, heads, causal=True, row=None):
    """A Row of attention maps of random Q and K: the picture whose latency is measured."""
    rng = np.random.default_rng(0)
    Q, K = rng.normal(size=(2, heads, S, 8))  # two of (heads, S, 8)
    M = causal_mask(S) if causal else no_mask(S)
    A = attention(Q, K, K, M)["A"]  # (heads, S, S)
    maps = (
        Heatmap(
            f"head {head}",
            A[head],
            f"Random weights of head {head}, {S} by {S}",
            mask=np.isneginf(M),
            row_title="receiving position",
            column_title="source position",
            mark_row=row,
            numbers=False,
        )
        for head in range(heads)
    )
    return Row(*maps, columns=4, one_scale=True)


def page(settings):
    S, d, heads, row, text = (settings[name] for name in ("S", "d", "heads", "row", "text"))
    if text.startswith("!"):
        raise ValueError(f"a text must not start with !, got {text}")
    return Page(
        f"Sample: {text}",
        [
            head_maps(S, heads, settings["causal"], row),
            Text(f"Row {row} of {S}. Width {d}, rate {settings['rate']:.2f}.", tone="readout"),
            Tokens(f"words of {text}", text.split()),
        ],
        f"S = {S}, d = {d}, heads = {heads}, row = {row}",
        f"{heads} attention maps of random numbers, {S} by {S}",
    )


CONTROLS = [
    Slider("S", 1, 64, 16),
    Choice("d", [8, 16, 32, 64], 64),
    Choice("heads", lambda settings: [n for n in divisors(settings["d"]) if n <= 8], 8),
    Stepper("row", 0, lambda settings: settings["S"] - 1, 3),
    Slider("rate", 0.0, 1.0, 0.5, step=0.25),
    Toggle("causal", True),
    TextBox("text", "two words", limit=40),
]


def explore(**start):
    Explorer(page, CONTROLS, "sample", **start).show()


def every_panel_page(text="plain"):
    """A page with every kind of panel, ``text`` in every place that takes text."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4, 6))
    values[1, 2], values[3, 3:] = np.nan, -np.inf
    words = [text, "kleine", "Katze", "schläft", "中文", "🙂"]
    first = Box(20, 40, 120, 44, text, text, "parameter")
    second = Box(240, 40, 140, 44, text, "", "state")
    third = Box(460, 40, 100, 44, text, text, "marked")
    x = np.arange(1.0, 200.0)
    axes = {"row_title": text, "column_title": text}
    causal = causal_mask(6)
    return Page(
        text,
        [
            Heatmap(
                text, values, text, "signed", None, words[:4], words, mark_row=2, mark_column=4, titles=True, **axes
            ),
            Row(
                Column(Text(text), Text(text, "readout"), Text(text, "warning"), Text(text, "code")),
                ShapeTable(text, [(text, (4, 8), text), ("b", (4,), text)]),
            ),
            Row(
                Heatmap(text, causal, text, "mask", **axes),
                Heatmap(text, rng.random((8, 128)), text, **axes),
                Heatmap(text, rng.random((64, 64)), text, mask=np.isneginf(causal_mask(64)), mark_row=3, **axes),
            ),
            Row(*(Heatmap(text, rng.random((16, 16)), text, **axes) for _ in range(8)), columns=8, one_scale=True),
            Tokens(text, [*words, text, "\n", "", "\x07"], [1, 2, 3, 4, 5, 6, 1, 7, 8, 9], marked=[1]),
            Tokens(text, []),
            Row(
                Bars(text, [text, "b", "c"], [0.5, -1.2, np.nan], text, marked=[1]),
                Table(
                    text, [text, "count", "share"], [(text, 1000, 0.5), ("$x$", 123456, np.float64(0.25))], marked=[1]
                ),
            ),
            Row(
                Curve(text, x, {text: 4 / x, "other": 5 / x + 0.1}, text, text, text, True, True, mark_x=30),
                Curve(text, x, {text: np.where((x > 50) & (x < 80), np.nan, np.sin(x / 20))}, text),
                Curve(text, [1.0], {text: [2.0]}, text),
            ),
            Diagram(
                text,
                600,
                130,
                [first, second, third],
                [
                    Arrow((first.right, second.left), text),
                    Arrow((second.right, third.left), text, marked=True),
                    Arrow((first.bottom, (80, 120), (510, 120), third.bottom), text),
                ],
                text,
            ),
        ],
        f"summary of {text}",
        f"every panel, with {text}",
    )


def show_every_panel():
    Explorer(lambda settings: every_panel_page(), [], "every panel").show()
