"""A Page as a matplotlib figure: the still picture that a saved notebook shows.

One axes covers the figure and counts in pixels from the upper left corner, so
that everything stands where the shared layout puts it.
"""

import math
from functools import lru_cache, singledispatch

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

from helpers.explorers import drawing, palette
from helpers.explorers.layout import (
    BODY,
    CHIP,
    CHIP_EDGE,
    GAP,
    GROUND,
    GROUPS,
    INK,
    LABEL,
    LINE,
    MUTED,
    TONES,
    WIDTH,
    MapLayout,
    Scale,
    column_width,
    fit,
    numeric_columns,
    text_width,
    token_groups,
    visible,
    write_cell,
)
from helpers.explorers.page import (
    Bars,
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

DPI = 100
MARGIN = 20
LINE_HEIGHT = 18
FALLBACKS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei")


def draw(page: Page):
    """The figure of a page, 840 pixels wide and as high as its panels need."""
    with matplotlib.rc_context({"text.parse_math": False}):  # a token may hold dollar signs
        sheet = Sheet()
        sheet.text(0, 0, page.title, size=15, bold=True)
        y = 26
        for panel in page.panels:
            y += 12 + place(panel, sheet, 0, y + 12, WIDTH)
        return sheet.finish(y)


class Sheet:
    """A canvas that counts in pixels; (0, 0) is the upper left corner inside the margin."""

    def __init__(self):
        self.figure = Figure(dpi=DPI, facecolor=GROUND)
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.axis("off")

    def finish(self, height):
        width, height = WIDTH + 2 * MARGIN, math.ceil(height) + 2 * MARGIN
        self.figure.set_size_inches(width / DPI, height / DPI)
        self.axes.set(xlim=(-MARGIN, width - MARGIN), ylim=(height - MARGIN, -MARGIN))
        return self.figure

    def text(self, x, y, text, size=BODY, colour=INK, *, bold=False, anchor="start", mono=False):
        """Lines of text whose first line's top is at y."""
        for number, line in enumerate(text.split("\n")):
            self.line_of_text(x, y + 0.95 * size + number * LINE_HEIGHT, line, size, colour, bold, anchor, mono)

    def label(self, x, y, text, size=LABEL, colour=INK, *, bold=False, anchor="middle", turned=False, mono=False):
        """One line of text around (x, y): its middle is there, or its start or end; turned, it reads upwards."""
        drop = 0.36 * size  # from the middle of the letters to their base line
        x, y = (x + drop, y) if turned else (x, y + drop)
        self.line_of_text(x, y, text, size, colour, bold, anchor, mono, turned)

    def line_of_text(self, x, y, text, size, colour, bold, anchor, mono, turned=False):
        self.axes.text(
            x,
            y,
            text,
            fontsize=size * 72 / DPI,
            color=colour,
            weight="bold" if bold else "normal",
            family=(["DejaVu Sans Mono"] if mono else []) + families(),
            ha={"start": "left", "middle": "center", "end": "right"}[anchor],
            va="baseline",
            rotation=90 if turned else 0,
            rotation_mode="anchor",
        )

    def area(self, points, fill, edge, width=1.0):
        self.axes.add_patch(Polygon(points, closed=True, fc=fill, ec=edge, lw=width * 72 / DPI, joinstyle="round"))

    def line(self, points, colour, width=1.0, dashes=()):
        style = (0, tuple(dash / width for dash in dashes)) if dashes else "-"
        xs, ys = zip(*points, strict=True)
        self.axes.plot(xs, ys, color=colour, lw=width * 72 / DPI, ls=style, solid_capstyle="butt")

    def image(self, levels, kind, x, y, width, height):
        self.axes.imshow(
            palette.TABLES[kind][levels], extent=(x, x + width, y + height, y), interpolation="nearest", aspect="auto"
        )

    def shapes(self, shapes, x, y):
        """Draw the shapes of helpers.explorers.drawing with their origin at (x, y)."""
        for shape in shapes:
            if isinstance(shape, drawing.Label):
                how = {"bold": shape.bold, "anchor": shape.anchor, "turned": shape.turned}
                self.label(x + shape.x, y + shape.y, shape.text, shape.size, shape.colour, **how)
                continue
            points = [(x + a, y + b) for a, b in shape.points]
            if isinstance(shape, drawing.Line):
                self.line(points, shape.colour, shape.width, shape.dashes)
            else:
                self.area(points, shape.fill, shape.edge, shape.width)


@lru_cache
def families():
    """DejaVu Sans comes with matplotlib; others help with Chinese where they are installed."""
    installed = set(font_manager.get_font_names())
    return ["DejaVu Sans", *(name for name in FALLBACKS if name in installed)]


@singledispatch
def place(panel, sheet, x, y, width):
    """Draw a panel with its upper left corner at (x, y); returns its height."""
    raise TypeError(f"no way to draw {type(panel).__name__}")


@place.register
def _(row: Row, sheet, x, y, width):
    width = column_width(row)
    top = y
    for start in range(0, len(row.panels), row.columns):
        line = row.panels[start : start + row.columns]
        heights = []
        for number, panel in enumerate(line):
            left = x + number * (width + GAP)
            if row.one_scale:
                heights.append(place_map(panel, sheet, left, y, width, scale=False))
            else:
                heights.append(place(panel, sheet, left, y, width))
        y += max(heights) + 12
    if row.one_scale:
        y += place_scale(Scale(row.panels, width), sheet, x, y - 4)
    return y - 12 - top


@place.register
def _(column: Column, sheet, x, y, width):
    top = y
    for panel in column.panels:
        y += place(panel, sheet, x, y, width) + 12
    return y - 12 - top


@place.register
def _(heatmap: Heatmap, sheet, x, y, width):
    return place_map(heatmap, sheet, x, y, width, scale=True)


def place_map(whole, sheet, x, y, width, scale):
    heatmap, _ = fit(whole, width)
    layout = MapLayout(heatmap, width)
    height = place_title(heatmap.title, sheet, x, y, width)
    image = palette.paint(heatmap.values, heatmap.mask, heatmap.limits, layout.cell)
    sheet.image(image, heatmap.kind, x + layout.left, y + height + layout.top, *layout.size)
    sheet.shapes(drawing.map_shapes(heatmap, layout), x, y + height)
    height += layout.total[1]
    return height + (place_scale(Scale([whole], width), sheet, x, y + height + 5) + 5 if scale else 0)


def place_scale(scale, sheet, x, y):
    """The colours between their limits, and samples of what else a cell may be; returns the height."""
    x += scale.left

    def note(text, gap=12):
        nonlocal x
        sheet.label(x, y + 8, text, LABEL, MUTED, anchor="start")
        x += text_width(text, LABEL) + gap

    def sample(levels, width):
        nonlocal x
        sheet.image(levels, scale.kind, x, y + 4, width, 9)
        x += width + 6

    if scale.colours:
        note(scale.ends[0], 5)
        sample(palette.levels([[i / 95 for i in range(96)]], (0, 1)), scale.colours)
        note(scale.ends[1])
    for text, kind in scale.notes:
        if kind:
            corners = drawing.rectangle(x, y + 4, 14, 9)
            value = math.nan if kind == "nan" else 0.0
            sample(palette.paint([[value]], [[kind == "masked"]], (0, 1), (14, 9)), 14)
            sheet.area(corners, "none", CHIP_EDGE)
        note(text)
    return LINE_HEIGHT


def place_title(title, sheet, x, y, width):
    lines = wrap(title, width, BODY)
    sheet.text(x, y, "\n".join(lines), bold=True)
    return LINE_HEIGHT * len(lines) + 4


@place.register
def _(panel: Bars, sheet, x, y, width):
    return place_drawing(panel.title, drawing.bars_shapes(panel, width), sheet, x, y, width)


@place.register
def _(panel: Curve, sheet, x, y, width):
    return place_drawing(panel.title, drawing.curve_shapes(panel, width), sheet, x, y, width)


@place.register
def _(panel: Diagram, sheet, x, y, width):
    return place_drawing(panel.title, drawing.diagram_shapes(panel), sheet, x, y, width)


def place_drawing(title, drawn, sheet, x, y, width):
    shapes, _, height = drawn
    above = place_title(title, sheet, x, y, width)
    sheet.shapes(shapes, x, y + above)
    return above + height


@place.register
def _(table: ShapeTable, sheet, x, y, width):
    return place_table(table.title, ("symbol", "shape", "meaning"), table.rows, sheet, x, y, width, mono=(0, 1))


@place.register
def _(table: Table, sheet, x, y, width):
    return place_table(table.title, table.columns, table.rows, sheet, x, y, width, marked=table.marked)


def place_table(title, columns, rows, sheet, x, y, width, mono=(), marked=()):
    """A table; its last column is wrapped when the lines would be too long."""
    right = numeric_columns(rows)
    texts = [[write_cell(value) for value in row] for row in rows]
    widths = [
        18 + math.ceil(max([text_width(name, 12)] + [text_width(row[c], 12) for row in texts]))
        for c, name in enumerate(columns)
    ]
    widths[-1] = max(min(widths[-1], width - sum(widths[:-1])), 60)
    lefts = [x + sum(widths[:c]) for c in range(len(columns))]
    top = y
    y += place_title(title, sheet, x, y, width)

    def put(c, y, text, **how):
        if c in right:
            sheet.text(lefts[c] + widths[c] - 18, y, text, 12, anchor="end", **how)
        else:
            sheet.text(lefts[c], y, text, 12, **how)

    for c, name in enumerate(columns):
        put(c, y, name, colour=MUTED)
    y += LINE_HEIGHT + 2
    for r, row in enumerate(texts):
        last = wrap(row[-1], widths[-1], 12)
        height = LINE_HEIGHT * len(last) + 4
        if r in marked:
            sheet.axes.add_patch(Rectangle((x - 3, y), sum(widths) - 6, height, fc=TONES["readout"][0], ec="none"))
        sheet.line([(x, y), (x + sum(widths) - 18, y)], LINE)
        for c, text in enumerate([*row[:-1], "\n".join(last)]):
            put(c, y + 4, text, bold=c == 0 or r in marked, mono=c in mono)
        y += height
    return y - top


@place.register
def _(panel: Tokens, sheet, x, y, width):
    top = y
    y += place_title(panel.title, sheet, x, y, width)
    left, pitch = x, 24 if panel.ids is None else 42
    for number, (token, group) in enumerate(zip(panel.tokens, token_groups(panel), strict=True)):
        text = visible(token)
        below = "" if panel.ids is None else str(panel.ids[number])
        wide = math.ceil(max(text_width(text, 12) + 12, text_width(below, LABEL)))
        if left + wide > x + width and left > x:
            left, y = x, y + pitch + 6
        ground = CHIP if group is None else GROUPS[group % len(GROUPS)]
        edge, thick = (INK, 2) if number in panel.marked else (CHIP_EDGE, 1)
        sheet.axes.add_patch(
            FancyBboxPatch(
                (left, y), wide, 22, boxstyle="round,pad=0,rounding_size=4", fc=ground, ec=edge, lw=thick * 72 / DPI
            )
        )
        sheet.label(left + wide / 2, y + 11, text, 12, mono=True)
        sheet.label(left + wide / 2, y + 33, below, LABEL, MUTED)
        left += wide + 6
    if not panel.tokens:
        sheet.text(x, y, "no tokens", colour=MUTED)
    return y + pitch - top


@place.register
def _(panel: Text, sheet, x, y, width):
    ground, ink, edge = TONES[panel.tone]
    padding = 0 if panel.tone == "plain" else 8
    size = 12 if panel.tone == "code" else BODY
    lines = panel.text.splitlines()
    if panel.tone != "code":
        lines = [piece for line in lines for piece in wrap(line, width - 2 * padding - 4, size)]
    height = LINE_HEIGHT * len(lines) + 2 * padding - (4 if padding else 0)
    if panel.tone != "plain":
        sheet.axes.add_patch(Rectangle((x, y), width, height, fc=ground, ec="none"))
        sheet.axes.add_patch(Rectangle((x, y), 3, height, fc=edge, ec="none"))
    sheet.text(x + padding + (4 if padding else 0), y + padding, "\n".join(lines), size, ink, mono=panel.tone == "code")
    return height


def wrap(text, width, size):
    """Lines of words that fit into ``width`` pixels."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
