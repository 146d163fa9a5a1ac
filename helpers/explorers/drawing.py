"""What a panel looks like as a list of simple shapes, so that both writers draw the same picture. Units are pixels."""

import math
from dataclasses import dataclass

import numpy as np

from helpers.explorers import palette
from helpers.explorers.layout import (
    ACCENT,
    BOX_TONES,
    CHIP_EDGE,
    INK,
    LABEL,
    LINE,
    MUTED,
    SERIES,
    shorten,
    text_width,
    ticks,
)
from helpers.explorers.page import write_number


@dataclass(frozen=True)
class Line:
    """A line through points, a list of (x, y)."""

    points: list
    colour: str = INK
    width: float = 1.0
    dashes: tuple = ()


@dataclass(frozen=True)
class Area:
    """A filled polygon with an edge."""

    points: list
    fill: str
    edge: str
    width: float = 1.0


@dataclass(frozen=True)
class Label:
    """Text at (x, y); anchor: "start", "middle" or "end"; y is the middle of the line; turned: reads upwards."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    size: float = LABEL
    colour: str = INK
    bold: bool = False
    turned: bool = False


def rectangle(x, y, width, height):
    """The four corners."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def map_shapes(heatmap, layout):
    """Everything of a heat map but its colours: labels, marks, and the numbers in the cells."""
    (cell_width, cell_height), (width, height) = layout.cell, layout.size
    left, top = layout.left, layout.top
    shapes = []
    if layout.titled:
        shapes.append(Label(left + width / 2, 8, heatmap.column_title, colour=MUTED))
        shapes.append(Label(8, top + height / 2, heatmap.row_title, colour=MUTED, turned=True))
    for i, text in layout.rows:
        marked = i == heatmap.mark_row
        y = top + (i + 0.5) * cell_height
        shapes.append(Label(left - 5, y, text, "end", colour=INK if marked else MUTED, bold=marked))
    for i, text in layout.columns:
        marked = i == heatmap.mark_column
        x, y = left + (i + 0.5) * cell_width, top - (4 if layout.upright else 8)
        anchor = "start" if layout.upright else "middle"
        colour = INK if marked else MUTED
        shapes.append(Label(x, y, text, anchor, colour=colour, bold=marked, turned=layout.upright))
    if heatmap.kind == "mask":
        shapes.append(Area(rectangle(left, top, width, height), "none", CHIP_EDGE))  # white cells need an edge
    shapes += number_shapes(heatmap, layout)
    if heatmap.mark_row is not None:
        shapes += frame(left, top + heatmap.mark_row * cell_height, width, cell_height)
    if heatmap.mark_column is not None:
        shapes += frame(left + heatmap.mark_column * cell_width, top, cell_width, height)
    return shapes


def number_shapes(heatmap, layout):
    """The numbers in the cells, black or white by the cell's colour."""
    if layout.numbers is None:
        return []
    inks = palette.INKS[heatmap.kind]
    levels = palette.levels(heatmap.values, heatmap.limits).tolist()
    width, height = layout.cell
    return [
        Label(
            layout.left + (c + 0.5) * width, layout.top + (r + 0.5) * height, text, colour=inks[levels[r][c]], size=10
        )
        for r, row in enumerate(layout.numbers)
        for c, text in enumerate(row)
        if text
    ]


def frame(x, y, width, height):
    """An outline around cells that is seen on any colour: dark, with white around it."""

    def ring(by, colour, thick):
        return Area(rectangle(x - by, y - by, width + 2 * by, height + 2 * by), "none", colour, thick)

    return [ring(2.0, "#ffffff", 1.5), ring(0.75, INK, 1.5)]


def bars_shapes(bars, width):
    """(shapes, width, height) of Bars."""
    width = min(width, 520)
    pitch = 20 if len(bars.values) <= 24 else 14
    labels = [shorten(label, 24) for label in bars.labels]
    label_width = math.ceil(max(text_width(label, LABEL) for label in labels)) + 8
    below = bool((bars.values < 0).any())
    room = width - label_width - 52 * (2 if below else 1)  # a number stands beside each bar
    zero = label_width + (52 + room / 2 if below else 0)
    unit = (room / 2 if below else room) / bars.limit
    shapes = []
    for i, (label, value) in enumerate(zip(labels, bars.values.tolist(), strict=True)):
        y, marked = pitch * (i + 0.5), i in bars.marked
        length = 0.0 if math.isnan(value) else min(max(value, -bars.limit), bars.limit) * unit
        shapes.append(Label(label_width - 6, y, label, "end", bold=marked))
        fill, edge = (SERIES[1][0] if value < 0 else ACCENT), (INK if marked else "none")
        corners = rectangle(round(zero + min(length, 0.0), 1), y - pitch * 0.35, round(abs(length), 1), pitch * 0.7)
        shapes.append(Area(corners, fill, edge, 2.0))
        end = zero + length + (5 if length >= 0 else -5)
        shapes.append(Label(round(end, 1), y, write_number(value), "start" if length >= 0 else "end", bold=marked))
    shapes.append(Line([(zero, 0), (zero, pitch * len(labels))], MUTED))
    return shapes, width, pitch * len(labels)


def curve_shapes(curve, width):
    """(shapes, width, height) of a Curve."""
    width = min(width, 520)
    height = 250
    x_low, x_high = axis_range(curve.x if curve.mark_x is None else np.append(curve.x, curve.mark_x), curve.log_x, 0.0)
    y_low, y_high = axis_range(np.concatenate(list(curve.series.values())), curve.log_y, 0.05)
    x_ticks, y_ticks = ticks(x_low, x_high, curve.log_x), ticks(y_low, y_high, curve.log_y)
    legend = 18 * math.ceil(len(curve.series) / 3) if len(curve.series) > 1 else 0
    left = 30 + math.ceil(max(text_width(write_tick(t), LABEL) for t in y_ticks))
    right, top, bottom = width - 14, 8 + legend, height - 40

    def place_x(x):
        return left + (right - left) * share(x, x_low, x_high, curve.log_x)

    def place_y(y):
        return bottom - (bottom - top) * share(y, y_low, y_high, curve.log_y)

    shapes = []
    for t in x_ticks:
        shapes += [
            Line([(place_x(t), top), (place_x(t), bottom)], LINE),
            Label(place_x(t), bottom + 11, write_tick(t), colour=MUTED),
        ]
    for t in y_ticks:
        shapes += [
            Line([(left, place_y(t)), (right, place_y(t))], LINE),
            Label(left - 5, place_y(t), write_tick(t), "end", colour=MUTED),
        ]
    shapes.append(Line([(left, top), (left, bottom), (right, bottom)], MUTED))
    shapes.append(Label((left + right) / 2, height - 9, curve.x_title, colour=MUTED))
    shapes.append(Label(8, (top + bottom) / 2, curve.y_title, colour=MUTED, turned=True))
    if curve.mark_x is not None:
        shapes.append(Line([(place_x(curve.mark_x), top), (place_x(curve.mark_x), bottom)], INK, 1.5, (3, 3)))
    for number, (name, y) in enumerate(curve.series.items()):
        colour, dashes = SERIES[number]
        for run in finite_runs(curve.x, y):
            points = [(round(place_x(a), 1), round(place_y(b), 1)) for a, b in run]
            if len(points) == 1:
                (a, b) = points[0]
                points = [(a - 2, b), (a + 2, b)]
            shapes.append(Line(points, colour, 2.0, dashes))
        if legend:
            x, y = left + (number % 3) * (right - left) / min(len(curve.series), 3), 9 + 18 * (number // 3)
            shapes += [Line([(x, y), (x + 24, y)], colour, 2.0, dashes), Label(x + 30, y, name, "start")]
    return shapes, width, height


def axis_range(values, log, margin):
    """Low and high end of an axis with a little room, never of zero length."""
    values = values[np.isfinite(values)]
    if not values.size:
        return (0.1, 10.0) if log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        return (low / 2, high * 2) if low == high else (low / (high / low) ** margin, high * (high / low) ** margin)
    room = (high - low) * margin or (abs(high) * 0.1 or 0.5) * (low == high)
    return low - room, high + room


def share(value, low, high, log):
    """How far along the axis a value stands, 0 to 1."""
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def write_tick(value):
    return write_number(round(value, 12))


def finite_runs(x, y):
    """Stretches of (x, y) without NaN; long ones are thinned to what a screen can show."""
    good = np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        keep = np.unique(np.linspace(start, stop - 1, min(stop - start, 400)).astype(int))
        yield list(zip(x[keep].tolist(), y[keep].tolist(), strict=True))


def diagram_shapes(diagram):
    """(shapes, width, height) of a Diagram."""
    shapes = []
    for arrow in diagram.arrows:
        shapes += arrow_shapes(arrow)
    for box in diagram.boxes:
        ground, edge = BOX_TONES[box.tone]
        thick = 2.5 if box.tone == "marked" else 1.2
        shapes.append(Area(rectangle(box.x, box.y, box.width, box.height), ground, edge, thick))
        middle = box.x + box.width / 2, box.y + box.height / 2
        if box.detail:
            shapes.append(Label(middle[0], middle[1] - 8, box.label, bold=True, size=12))
            shapes.append(Label(middle[0], middle[1] + 8, box.detail))
        else:
            shapes.append(Label(*middle, box.label, bold=True, size=12))
    return shapes, diagram.width, diagram.height


def arrow_shapes(arrow):
    """The line, its head, and the label beside the middle of the longest piece."""
    (x0, y0), (x1, y1) = arrow.points[-2:]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    base = x1 - 8 * ux, y1 - 8 * uy
    head = [(x1, y1), (base[0] - 4 * uy, base[1] + 4 * ux), (base[0] + 4 * uy, base[1] - 4 * ux)]
    colour = ACCENT if arrow.marked else MUTED
    shapes = [
        Line([*arrow.points[:-1], base], colour, 2.5 if arrow.marked else 1.4),
        Area([(round(x, 2), round(y, 2)) for x, y in head], colour, colour),
    ]
    if arrow.label:
        pieces = list(zip(arrow.points, arrow.points[1:], strict=False))
        (ax, ay), (bx, by) = max(pieces, key=lambda p: math.dist(*p))
        x, y = (ax + bx) / 2, (ay + by) / 2
        if abs(bx - ax) < abs(by - ay):
            shapes.append(Label(x + 6, y, arrow.label, "start", colour=MUTED))
        else:
            shapes.append(Label(x, y - 9, arrow.label, colour=MUTED))
    return shapes
