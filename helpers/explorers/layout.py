"""Where things stand and what they look like, shared by the HTML and the figure writer. Units are pixels."""

import math
import numbers
import unicodedata
from collections import Counter
from dataclasses import replace

import numpy as np

from helpers.explorers.page import Heatmap, write_number

# --- style ---------------------------------------------------------------------

GROUND, INK, MUTED, LINE = "#fbfbf9", "#1d2329", "#535c66", "#d5d9de"
ACCENT = "#1f5fa8"
TONES = {  # tone of a Text: ground, ink, edge
    "plain": (GROUND, INK, GROUND),
    "readout": ("#eaf1fa", INK, ACCENT),
    "warning": ("#fdf0da", "#5c3200", "#b45f00"),
    "code": ("#f0f1f3", INK, "#f0f1f3"),
}
BOX_TONES = {  # tone of a Box: ground, edge
    "plain": ("#ffffff", "#7b8590"),
    "parameter": ("#fbe9d3", "#b45f00"),
    "state": ("#dfeaf7", ACCENT),
    "marked": ("#fff3a8", "#1d2329"),
}
CHIP, CHIP_EDGE = "#ffffff", "#b4bbc3"
GROUPS = ("#cfe3f7", "#fbdcb8", "#d3ecc9", "#f3d1e4", "#e3d8f5", "#f4ecaa", "#c9ece8", "#ead9c8")
SERIES = (  # of a curve: colour, dashes
    ("#1f5fa8", ()),
    ("#b45f00", (7, 3)),
    ("#2d7d46", (2, 3)),
    ("#a3257a", (9, 3, 2, 3)),
    ("#535c66", (4, 2)),
    ("#000000", (1, 2)),
)

WIDTH = 800  # of a page's content: what JupyterLab with its side bar leaves on a screen of 1280
ROW_WIDTH = 720  # of panels side by side: they also stay on one line where less room is left
GAP = 16  # between panels side by side
BOX = 384  # largest side of a heat map
LARGEST_CELL = 44
NARROW = 130  # a heat map with less room has no labels
MOST_IN_TITLE = 16  # values in the hover text of a row
THINNEST_TITLED = 4  # height of a row that one can point at
LABEL, BODY = 11, 13  # font sizes

# --- text ----------------------------------------------------------------------

VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def visible(text):
    """A token's text with its spaces and line breaks to be seen; a control character becomes the replacement sign."""
    return "".join(VISIBLE.get(c) or (c if unicodedata.category(c)[0] != "C" else "\ufffd") for c in text) or "∅"


def text_width(text, size):
    """Width of text, a little generous: fonts differ between machines."""
    units = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.61 for c in text)
    return units * size


def shorten(text, most=14):
    """The text, cut to ``most`` characters with a … at its end."""
    return text if len(text) <= most else text[: most - 1] + "…"


def token_groups(tokens):
    """For each place of a Tokens panel the number of its group, None where a token occurs once."""
    keys = tokens.ids if tokens.ids is not None else tokens.tokens
    counts = Counter(keys)
    order = {key: number for number, key in enumerate(key for key in counts if counts[key] > 1)}
    return [order.get(key) for key in keys]


def write_cell(value):
    """A cell of a table as text."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return write_number(value) if isinstance(value, numbers.Real) else str(value)


def numeric_columns(rows):
    """Numbers of the columns that hold nothing but numbers; they are set to the right."""
    columns = zip(*rows, strict=True)
    return {c for c, column in enumerate(columns) if c and all(isinstance(v, numbers.Real) for v in column)}


# --- rows of panels ------------------------------------------------------------


def column_width(row):
    """Width of one panel in a Row."""
    return (ROW_WIDTH - GAP * (row.columns - 1)) // row.columns


# --- heat maps -----------------------------------------------------------------


class MapLayout:
    """Geometry of one heat map, after fit(), within ``width`` pixels.

    left, top: where the cells start; cell: (width, height) of a cell; size: of
    all cells; rows, columns: the labels to write, as (index, text); upright:
    column labels run upwards; titled: the titles of the axes fit beside the
    cells; total: (width, height) with labels, without scale and title.
    A map of less than NARROW pixels has no labels at all.
    """

    def __init__(self, heatmap: Heatmap, width):
        R, C = heatmap.values.shape
        narrow = width < NARROW
        row_texts = [shorten(label) for label in heatmap.row_labels]
        column_texts = [shorten(label) for label in heatmap.column_labels]
        self.left = 2 if narrow else 23 + math.ceil(max(text_width(text, LABEL) for text in row_texts))
        box = max(min(width - self.left, BOX), 48)
        side = min(LARGEST_CELL, max(box // C, 1)), min(LARGEST_CELL, max(box // R, 1))
        # square cells, unless the map is so oblong that they would vanish
        self.cell = min(side[0], max(side[1], 14)), min(side[1], max(side[0], 14))
        self.size = C * self.cell[0], R * self.cell[1]
        widest = max(text_width(text, LABEL) for text in column_texts)
        counted = all(text.isdigit() for text in column_texts)
        self.upright = not counted and widest > self.cell[0] - 2
        self.top = 2 if narrow else 18 + (math.ceil(widest) + 4 if self.upright else 15)
        column_need = 13 if self.upright or not counted else widest + 4
        self.columns = [] if narrow else thin_out(column_texts, column_need / self.cell[0], heatmap.mark_column)
        self.rows = [] if narrow else thin_out(row_texts, 13 / self.cell[1], heatmap.mark_row)
        self.titled = not narrow and all(
            text_width(title, LABEL) <= room + 24
            for title, room in zip((heatmap.column_title, heatmap.row_title), self.size, strict=True)
        )
        self.total = self.left + self.size[0], self.top + self.size[1]
        self.numbers = cell_numbers(heatmap, self.cell)


def fit(heatmap, width):
    """(heat map, note): a map with more rows or columns than pixels keeps every second, third, ... of them."""
    most = max(min(width - (2 if width < NARROW else 60), BOX), 48)
    R, C = heatmap.values.shape
    every_row, every_column = math.ceil(R / most), math.ceil(C / most)
    if every_row == every_column == 1:
        return heatmap, ""
    rows, columns = kept(R, every_row, heatmap.mark_row), kept(C, every_column, heatmap.mark_column)
    cut = np.ix_(rows, columns)
    thinner = replace(
        heatmap,
        values=heatmap.values[cut],
        mask=heatmap.mask[cut],
        row_labels=[heatmap.row_labels[i] for i in rows],
        column_labels=[heatmap.column_labels[i] for i in columns],
        mark_row=None if heatmap.mark_row is None else rows.index(heatmap.mark_row),
        mark_column=None if heatmap.mark_column is None else columns.index(heatmap.mark_column),
    )
    return thinner, f"{len(rows)} of {R} rows and {len(columns)} of {C} columns are drawn"


def kept(count, every, mark):
    """Every ``every``-th index, and the marked one."""
    return sorted({*range(0, count, every)} | ({mark} if mark is not None else set()))


def thin_out(texts, need, mark):
    """The labels that fit when one label needs the room of ``need`` cells; a marked one always stays."""
    every = next(step for step in (1, 2, 4, 5, 8, 10, 16, 20, 32, 64, 128, 256, 512, 1 << 30) if step >= need)
    return [
        (i, text)
        for i, text in enumerate(texts)
        if i == mark or (i % every == 0 and (mark is None or abs(i - mark) >= math.ceil(need)))
    ]


def cell_numbers(heatmap, cell):
    """Text for every cell as rows of strings, or None when it does not fit or is not wanted."""
    if heatmap.numbers is False or heatmap.kind == "mask":
        return None
    if heatmap.numbers == "auto" and (cell[0] < 20 or cell[1] < 14):
        return None
    values = heatmap.values
    shown = np.abs(values[~heatmap.mask & ~np.isnan(values)])
    largest = float(shown.max()) if shown.size else 0.0
    digits = 0 if largest >= 100 else 1 if largest >= 10 else 2
    tiny = 0 < largest < 0.01
    write = (lambda v: f"{v:.0e}") if tiny else (lambda v: f"{v:.{digits}f}")
    texts = [
        ["" if masked or np.isnan(v) else write(v) for v, masked in zip(values_row, mask_row, strict=True)]
        for values_row, mask_row in zip(values.tolist(), heatmap.mask.tolist(), strict=True)
    ]
    widest = max(text_width(text, 10) for row in texts for text in row)
    return None if heatmap.numbers == "auto" and widest > cell[0] - 2 else texts


def row_titles(heatmap):
    """Hover text for every row: its values that are not masked, only the largest where they are many."""
    titles = []
    for name, values, masked in zip(heatmap.row_labels, heatmap.values, heatmap.mask, strict=True):
        (columns,) = np.nonzero(~masked)
        head = f"{heatmap.row_title} {name}"
        if len(columns) > MOST_IN_TITLE:
            head += f", the {MOST_IN_TITLE} largest of {len(columns)}"
            sizes = np.nan_to_num(np.abs(values[columns]), nan=np.inf)
            columns = np.sort(columns[np.argsort(-sizes, kind="stable")[:MOST_IN_TITLE]])
        lines = [f"{heatmap.column_title} {heatmap.column_labels[c]}: {write_number(values[c])}" for c in columns]
        titles.append("\n".join([head, *(lines or ["all masked"])]))
    return titles


class Scale:
    """What stands below one heat map, or below several that share their limits.

    colours: width of the strip of colours, 0 without one; ends: its limits as
    text; notes: (text, kind of sample or None) in order.
    """

    def __init__(self, heatmaps, width):
        first, thinned = fit(heatmaps[0], width)
        layout = MapLayout(first, width)
        masked = any(h.mask.any() for h in heatmaps)
        nan = sum(int((np.isnan(h.values) & ~h.mask).sum()) for h in heatmaps)
        self.kind = first.kind
        self.left = layout.left if len(heatmaps) == 1 and width > 240 else 0  # a narrow scale needs all the room
        self.colours = 0 if first.kind == "mask" else 96 if layout.size[0] > 240 or len(heatmaps) > 1 else 48
        self.ends = [write_number(limit) for limit in first.limits]
        self.notes = [("allowed", "allowed")] if first.kind == "mask" else []
        if masked:
            self.notes.append(("masked", "masked"))
        if nan:
            self.notes.append((f"NaN: {nan} cell{'s' if nan > 1 else ''}", "nan"))
        if thinned:
            self.notes.append((thinned, None))
        if not layout.titled:
            self.notes.append((f"rows: {first.row_title}, columns: {first.column_title}", None))


# --- axes ----------------------------------------------------------------------


def ticks(low, high, log=False, most=6):
    """Round numbers from low to high at which an axis is labelled."""
    if log:
        powers = np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        every = max(1, math.ceil(len(powers) / most))
        parts = (1, 2, 5) if len(powers) <= 3 else (1,)  # a short axis gets 2 and 5 times the powers too
        found = [m * 10.0**p for p in powers[::every] for m in parts if low * 0.999 <= m * 10.0**p <= high * 1.001]
        if len(found) >= 2:
            return found  # else the axis is so short that even steps serve
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
