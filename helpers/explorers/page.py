"""What an explorer shows, as plain data: a Page of panels.

A panel knows its content and nothing of how it is drawn. Two writers turn any
Page into output: ``helpers.explorers.html`` for the live widget and
``helpers.figures.page`` for the still picture in a saved notebook. Whatever a
panel cannot show raises ValueError here, before anything is drawn.
"""

import numbers
from dataclasses import dataclass, replace

import numpy as np

KINDS = ("weights", "signed", "mask")
TONES = ("plain", "readout", "warning", "code")
BOX_TONES = ("plain", "parameter", "state", "marked")


def need(condition, message):
    """Raise ValueError(message) unless the condition holds."""
    if not condition:
        raise ValueError(message)


def freeze(panel, **values):
    """Set fields of a frozen dataclass, for use in __post_init__ only."""
    for name, value in values.items():
        object.__setattr__(panel, name, value)


def need_text(panel, *names):
    for name in names:
        value = getattr(panel, name)
        need(isinstance(value, str) and value.strip(), f"{type(panel).__name__}: {name} must be text, got {value!r}")


def as_floats(panel, name, values, axes):
    """A read-only float64 copy, so that a panel cannot change after it is made."""
    array = np.array(values, dtype=np.float64)
    kind = type(panel).__name__
    need(array.ndim == axes and array.size, f"{kind}: {name} has shape {array.shape}; expected {axes} non-empty axes")
    need(not np.isposinf(array).any(), f"{kind}: {name} holds +inf, which cannot be drawn")
    array.flags.writeable = False
    return array


def as_places(panel, name, places, count):
    """A tuple of valid indices; negative ones are refused because labels count from 0."""
    places = tuple(int(place) for place in places)
    for place in places:
        need(0 <= place < count, f"{type(panel).__name__}: {name} holds {place}; expected 0 to {count - 1}")
    return places


def write_number(value):
    """A number as a person reads it: three significant digits, integers in full."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    value = float(value)
    if not np.isfinite(value):
        return {"nan": "NaN", "inf": "+inf", "-inf": "-inf"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{value:.1e}"


def write_shape(shape):
    """(4, 8) as text; a string passes through."""
    return shape if isinstance(shape, str) else str(tuple(int(n) for n in shape))


@dataclass(frozen=True, eq=False)
class Heatmap:
    """A matrix as colours. One row is one receiving place, one column one source.

    values: (R, C) floats; NaN is shown and named, -inf is drawn as masked.
    kind: "weights" (viridis from 0), "signed" (blue below zero, orange above) or
    "mask" (the additive mask itself: 0 plain, -inf hatched).
    mask: (R, C) booleans, True where reading is forbidden: drawn hatched.
    limits: (low, high) of the colours; without it 0 to the largest value, and
    for "signed" the same distance on both sides of 0.
    numbers: "auto" (written into the cells when they fit), True or False.
    titles: True gives every row a hover text with its values, if it is thick enough to point at; use it for one map
    on a page.
    """

    title: str
    values: np.ndarray
    alt: str
    kind: str = "weights"
    mask: np.ndarray | None = None
    row_labels: tuple | None = None
    column_labels: tuple | None = None
    row_title: str = "row"
    column_title: str = "column"
    mark_row: int | None = None
    mark_column: int | None = None
    limits: tuple | None = None
    numbers: str | bool = "auto"
    titles: bool = False

    def __post_init__(self):
        need_text(self, "title", "alt", "row_title", "column_title")
        need(self.kind in KINDS, f"Heatmap: kind is {self.kind!r}; expected one of {KINDS}")
        need(
            self.numbers in ("auto", True, False), f"Heatmap: numbers is {self.numbers!r}; expected auto, True or False"
        )
        values = as_floats(self, "values", self.values, 2)
        masked = np.isneginf(values)
        if self.mask is not None:
            mask = np.asarray(self.mask)
            need(mask.dtype == bool, f"Heatmap: mask has dtype {mask.dtype}; expected bool, True where forbidden")
            need(mask.shape == values.shape, f"Heatmap: mask has shape {mask.shape}; expected {values.shape} as values")
            masked |= mask
        masked.flags.writeable = False
        freeze(self, values=values, mask=masked)
        for name, count in (("row", values.shape[0]), ("column", values.shape[1])):
            labels = getattr(self, f"{name}_labels")
            labels = tuple(map(str, range(count) if labels is None else labels))
            need(len(labels) == count, f"Heatmap: {len(labels)} {name}_labels for {count} {name}s")
            mark = getattr(self, f"mark_{name}")
            if mark is not None:
                (mark,) = as_places(self, f"mark_{name}", (mark,), count)
            freeze(self, **{f"{name}_labels": labels, f"mark_{name}": mark})
        freeze(self, limits=self._limits())

    def _limits(self):
        if self.limits is not None:
            low, high = map(float, self.limits)
            need(-np.inf < low < high < np.inf, f"Heatmap: limits are {self.limits}; expected (low, high), low < high")
            need(
                self.kind == "weights" or low == -high, f"Heatmap: limits are {self.limits}; a signed map needs (-x, x)"
            )
            return low, high
        shown = self.values[~self.mask & ~np.isnan(self.values)]
        if self.kind == "mask":
            need(not shown.any(), "Heatmap: kind 'mask' takes an additive mask, which holds only 0 and -inf")
        if self.kind == "signed":
            reach = float(np.abs(shown).max()) if shown.size else 0.0
            reach = reach or 1.0
            return -reach, reach
        need(not shown.size or shown.min() >= 0, "Heatmap: negative values; use kind='signed' or give limits")
        return 0.0, (float(shown.max()) if shown.size else 0.0) or 1.0


@dataclass(frozen=True, eq=False)
class ShapeTable:
    """Rows of (symbol, shape, meaning); a shape is a tuple of numbers, taken from a live array."""

    title: str
    rows: tuple

    def __post_init__(self):
        need_text(self, "title")
        rows = tuple(tuple(row) for row in self.rows)
        for row in rows:
            need(len(row) == 3, f"ShapeTable: row {row!r}; expected (symbol, shape, meaning)")
            need(isinstance(row[1], (str, tuple)), f"ShapeTable: shape of {row[0]} is {row[1]!r}; expected a tuple")
        freeze(self, rows=tuple((str(symbol), write_shape(shape), str(meaning)) for symbol, shape, meaning in rows))


@dataclass(frozen=True, eq=False)
class Table:
    """A table of text and numbers. The first column names the row."""

    title: str
    columns: tuple
    rows: tuple
    marked: tuple = ()

    def __post_init__(self):
        need_text(self, "title")
        columns = tuple(map(str, self.columns))
        rows = tuple(tuple(row) for row in self.rows)
        need(columns, "Table: columns is empty")
        for row in rows:
            need(len(row) == len(columns), f"Table: row {row!r} has {len(row)} cells for {len(columns)} columns")
        freeze(self, columns=columns, rows=rows, marked=as_places(self, "marked", self.marked, len(rows)))


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokens as chips with their ids below. Tokens that occur more than once share a colour.

    "Equal" means the same id, or without ids the same text. ``marked`` places are outlined.
    """

    title: str
    tokens: tuple
    ids: tuple | None = None
    marked: tuple = ()

    def __post_init__(self):
        need_text(self, "title")
        tokens = tuple(map(str, self.tokens))
        freeze(self, tokens=tokens, marked=as_places(self, "marked", self.marked, len(tokens)))
        if self.ids is not None:
            need(len(self.ids) == len(tokens), f"Tokens: {len(self.ids)} ids for {len(tokens)} tokens")
            freeze(self, ids=tuple(int(i) for i in self.ids))


@dataclass(frozen=True, eq=False)
class Text:
    """Lines of text. tone: "plain", "readout" (follows the row and column controls), "warning" or "code"."""

    text: str
    tone: str = "plain"

    def __post_init__(self):
        need_text(self, "text")
        need(self.tone in TONES, f"Text: tone is {self.tone!r}; expected one of {TONES}")


@dataclass(frozen=True, eq=False)
class Bars:
    """One horizontal bar a label; negative values point left. At most 64 bars."""

    title: str
    labels: tuple
    values: np.ndarray
    alt: str
    marked: tuple = ()
    limit: float | None = None

    def __post_init__(self):
        need_text(self, "title", "alt")
        values = as_floats(self, "values", self.values, 1)
        need(not np.isneginf(values).any(), "Bars: values holds -inf, which cannot be drawn")
        labels = tuple(map(str, self.labels))
        need(len(labels) == len(values), f"Bars: {len(labels)} labels for {len(values)} values")
        need(len(values) <= 64, f"Bars: {len(values)} bars; at most 64 can be read")
        need(
            self.limit is None or self.limit > 0, f"Bars: limit is {self.limit}; expected the longest bar's value, > 0"
        )
        finite = np.abs(values[~np.isnan(values)])
        limit = self.limit or (float(finite.max()) if finite.size else 0.0) or 1.0
        marked = as_places(self, "marked", self.marked, len(values))
        freeze(self, values=values, labels=labels, limit=float(limit), marked=marked)


@dataclass(frozen=True, eq=False)
class Curve:
    """Lines over one x axis; series is {name: y}. NaN leaves a gap. At most six series.

    mark_x draws a vertical line, where the current setting stands.
    """

    title: str
    x: np.ndarray
    series: dict
    alt: str
    x_title: str = "x"
    y_title: str = "y"
    log_x: bool = False
    log_y: bool = False
    mark_x: float | None = None

    def __post_init__(self):
        need_text(self, "title", "alt", "x_title", "y_title")
        x = as_floats(self, "x", self.x, 1)
        need(np.isfinite(x).all(), "Curve: x must be finite")
        need(not self.log_x or x.min() > 0, "Curve: a logarithmic x axis needs x > 0")
        need(1 <= len(self.series) <= 6, f"Curve: {len(self.series)} series; expected 1 to 6")
        series = {str(name): as_floats(self, f"series {name!r}", y, 1) for name, y in self.series.items()}
        for name, y in series.items():
            need(len(y) == len(x), f"Curve: series {name!r} has {len(y)} values for {len(x)} of x")
            need(not np.isneginf(y).any(), f"Curve: series {name!r} holds -inf, which cannot be drawn")
            need(not self.log_y or not (y <= 0).any(), f"Curve: a logarithmic y axis needs values > 0 in {name!r}")
        need(self.mark_x is None or np.isfinite(self.mark_x), f"Curve: mark_x is {self.mark_x}")
        need(self.mark_x is None or not self.log_x or self.mark_x > 0, "Curve: a logarithmic x axis needs mark_x > 0")
        freeze(self, x=x, series=series)


@dataclass(frozen=True)
class Box:
    """A box of a Diagram; x and y are its upper left corner, y grows downwards, units are pixels."""

    x: float
    y: float
    width: float
    height: float
    label: str
    detail: str = ""
    tone: str = "plain"

    def __post_init__(self):
        need(self.width > 0 and self.height > 0, f"Box {self.label!r}: width and height must be positive")
        need(self.tone in BOX_TONES, f"Box {self.label!r}: tone is {self.tone!r}; expected one of {BOX_TONES}")

    @property
    def top(self):
        return self.x + self.width / 2, self.y

    @property
    def bottom(self):
        return self.x + self.width / 2, self.y + self.height

    @property
    def left(self):
        return self.x, self.y + self.height / 2

    @property
    def right(self):
        return self.x + self.width, self.y + self.height / 2


@dataclass(frozen=True)
class Arrow:
    """A line through two or more points with its head at the last, e.g. Arrow((a.bottom, b.top), "(S, d)")."""

    points: tuple
    label: str = ""
    marked: bool = False

    def __post_init__(self):
        points = tuple((float(x), float(y)) for x, y in self.points)
        need(len(points) >= 2, f"Arrow: {len(points)} points; expected two or more")
        freeze(self, points=points)


@dataclass(frozen=True, eq=False)
class Diagram:
    """Boxes and arrows at given places, width x height pixels (at most 800 wide)."""

    title: str
    width: float
    height: float
    boxes: tuple
    arrows: tuple
    alt: str

    def __post_init__(self):
        need_text(self, "title", "alt")
        need(0 < self.width <= 800 and self.height > 0, f"Diagram: {self.width} x {self.height}; at most 800 wide")
        boxes, arrows = tuple(self.boxes), tuple(self.arrows)
        corners = [(b.x, b.y) for b in boxes] + [(b.x + b.width, b.y + b.height) for b in boxes]
        for x, y in corners + [point for arrow in arrows for point in arrow.points]:
            inside = 0 <= x <= self.width and 0 <= y <= self.height
            need(inside, f"Diagram: ({x}, {y}) lies outside {self.width} x {self.height}")
        freeze(self, boxes=boxes, arrows=arrows)


@dataclass(frozen=True, eq=False, init=False)
class Column:
    """Panels one below the other, for use inside a Row: Column(panel, panel, ...)."""

    panels: tuple

    def __init__(self, *panels):
        freeze(self, panels=tuple(panels))
        need(panels, "Column: no panels")
        for panel in panels:
            need(isinstance(panel, LEAVES), f"Column: {type(panel).__name__} is not a panel that fits into a column")


@dataclass(frozen=True, eq=False, init=False)
class Row:
    """Panels side by side: Row(panel, panel, ...), ``columns`` to a line (all, up to four); the rest wraps.

    one_scale=True gives heat maps of one kind the same limits and one colour
    scale below them all: small multiples that can be compared.
    """

    panels: tuple
    columns: int
    one_scale: bool

    def __init__(self, *panels, columns=None, one_scale=False):
        need(panels, "Row: no panels")
        for panel in panels:
            need(isinstance(panel, (Column, *LEAVES)), f"Row: {type(panel).__name__} is not a panel for a row")
        columns = min(len(panels), 4) if columns is None else columns
        need(1 <= columns <= 8, f"Row: columns is {columns}; expected 1 to 8")
        if one_scale:
            kinds = {getattr(panel, "kind", None) for panel in panels}
            need(len(kinds) == 1 and kinds <= set(KINDS), "Row: one_scale needs heat maps of one kind")
            limits = min(panel.limits[0] for panel in panels), max(panel.limits[1] for panel in panels)
            panels = [replace(panel, limits=limits) for panel in panels]
        freeze(self, panels=tuple(panels), columns=columns, one_scale=one_scale)


LEAVES = (Heatmap, ShapeTable, Table, Tokens, Text, Bars, Curve, Diagram)


@dataclass(frozen=True, eq=False)
class Page:
    """All that one setting of an explorer shows.

    summary: the main numbers as plain text, rounded, the same on every machine;
    it stands in the saved notebook. alt: what the still picture shows.
    """

    title: str
    panels: tuple
    summary: str
    alt: str

    def __post_init__(self):
        need_text(self, "title", "summary", "alt")
        panels = tuple(self.panels)
        need(panels, "Page: no panels")
        for panel in panels:
            need(isinstance(panel, (Row, *LEAVES)), f"Page: {type(panel).__name__} is not a panel")
        freeze(self, panels=panels)


def every_panel(panels):
    """The leaves of a sequence of panels, rows and columns opened, in reading order."""
    for panel in panels:
        if isinstance(panel, (Row, Column)):
            yield from every_panel(panel.panels)
        else:
            yield panel
