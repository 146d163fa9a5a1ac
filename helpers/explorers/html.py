"""A Page as one string of HTML: everything inline, no script, no id, nothing from outside, all text escaped.

The card has its own light ground and dark ink, so it reads the same in
JupyterLab's light and dark theme and in Colab, whatever variables they define.
"""

import base64
from functools import singledispatch
from html import escape

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
    THINNEST_TITLED,
    TONES,
    WIDTH,
    MapLayout,
    Scale,
    column_width,
    fit,
    numeric_columns,
    row_titles,
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
    write_number,
)

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
CARD = (
    f"box-sizing:border-box;max-width:{WIDTH + 36}px;padding:14px 17px 16px;border:1px solid {LINE};border-radius:8px;"
    f"background:{GROUND};color:{INK};color-scheme:light;font:{BODY}px/1.5 {SANS};overflow-x:auto"
)
CELL = (
    f"padding:3px 18px 3px 0;border:0;border-top:1px solid {LINE};"
    f"text-align:left;vertical-align:top;background:none;color:{INK}"
)
CAPTION = f"caption-side:top;padding:0 0 4px;text-align:left;font-weight:600;color:{INK}"


def write(page: Page, warning=None):
    """HTML of a page; ``warning`` is text to show above it."""
    panels = ([Text(warning, "warning")] if warning else []) + list(page.panels)
    body = "".join(f'<div style="margin-top:12px">{write_panel(panel, WIDTH)}</div>' for panel in panels)
    heading = f'<div role="heading" aria-level="4" style="font-size:15px;font-weight:600">{escape(page.title)}</div>'
    return f'<div role="group" aria-label="{escape(page.title)}" style="{escape(CARD)}">{heading}{body}</div>'


@singledispatch
def write_panel(panel, width):
    """HTML of one panel that may be ``width`` pixels wide."""
    raise TypeError(f"no way to write {type(panel).__name__} as HTML")


@write_panel.register
def _(row: Row, width):
    width = column_width(row)
    cells = []
    for panel in row.panels:
        grow = "0 0" if isinstance(panel, Heatmap) else "1 1"
        inside = write_map(panel, width, scale=False) if row.one_scale else write_panel(panel, width)
        cells.append(f'<div style="flex:{grow} {width}px;min-width:0">{inside}</div>')
    scale = write_scale(Scale(row.panels, width)) if row.one_scale else ""
    flow = f"display:flex;flex-wrap:wrap;gap:12px {GAP}px;align-items:flex-start"
    return f'<div style="{flow}">{"".join(cells)}</div>{scale}'


@write_panel.register
def _(column: Column, width):
    parts = (f'<div style="margin-bottom:12px">{write_panel(panel, width)}</div>' for panel in column.panels)
    return "".join(parts)


@write_panel.register
def _(heatmap: Heatmap, width):
    return write_map(heatmap, width, scale=True)


def write_map(whole, width, scale):
    heatmap, _ = fit(whole, width)
    layout = MapLayout(heatmap, width)
    image = palette.paint(heatmap.values, heatmap.mask, heatmap.limits, layout.cell)
    source = "data:image/png;base64," + base64.b64encode(palette.png(image, heatmap.kind)).decode()
    (full_width, full_height), (map_width, map_height) = layout.total, layout.size
    picture = (
        f'<img alt="{escape(heatmap.alt)}" src="{source}" width="{map_width}" height="{map_height}" '
        f'style="position:absolute;left:{layout.left}px;top:{layout.top}px;width:{map_width}px;height:{map_height}px;'
        f'max-width:none;margin:0;image-rendering:pixelated">'
    )
    over = write_shapes(drawing.map_shapes(heatmap, layout)) + (write_titles(heatmap, layout) if heatmap.titles else "")
    svg = (
        f'<svg aria-hidden="true" width="{full_width + 2}" height="{full_height + 2}" '
        f'style="position:absolute;left:0;top:0;overflow:visible">{over}</svg>'
    )
    return write_figure(
        heatmap.title,
        f'<div style="position:relative;width:{full_width}px;height:{full_height}px">{picture}{svg}</div>'
        + (write_scale(Scale([whole], width)) if scale else ""),
    )


def write_titles(heatmap, layout):
    """A transparent area with a hover text over every row, unless rows are too thin to point at.

    One over every cell would make the browser slow.
    """
    width, height = layout.size[0], layout.cell[1]
    if height < THINNEST_TITLED:
        return ""
    rows = (
        f'<path d="M{layout.left} {layout.top + r * height}h{width}v{height}h-{width}z">'
        f"<title>{escape(text)}</title></path>"
        for r, text in enumerate(row_titles(heatmap))
    )
    return f'<g fill="none" pointer-events="all">{"".join(rows)}</g>'


def write_scale(scale):
    """The colours between their limits, and samples of what else a cell may be."""
    parts = []
    if scale.colours:
        stops = ",".join("rgb({},{},{})".format(*colour) for colour in palette.ANCHORS[scale.kind])
        strip = f"width:{scale.colours}px;height:9px;background:linear-gradient(90deg,{stops})"
        low, high = (f"<span>{escape(end)}</span>" for end in scale.ends)
        parts.append(f'{low}<span style="{strip}"></span>{high}')
    for text, sample in scale.notes:
        shown = f'<span style="width:14px;height:9px;background:{SAMPLES[sample]}"></span>' if sample else ""
        inside = f"{shown}<span>{escape(text)}</span>"
        parts.append(f'<span style="display:inline-flex;align-items:center;gap:6px;margin-right:6px">{inside}</span>')
    return (
        f'<div style="display:flex;flex-wrap:wrap;align-items:center;gap:2px 6px;margin:5px 0 0 {scale.left}px;'
        f'font-size:{LABEL}px;color:{MUTED}">{"".join(parts)}</div>'
    )


def stripes(ground, line, *angles):
    """CSS background like the stripes of palette.paint."""
    ground, line = ("rgb({},{},{})".format(*palette.SPECIAL[level]) for level in (ground, line))
    layers = [f"repeating-linear-gradient({a}deg,{line} 0 1.4px,transparent 1.4px 4.2px)" for a in angles]
    return ",".join([*layers, ground])


SAMPLES = {
    "allowed": f"#fff;outline:1px solid {CHIP_EDGE}",
    "masked": stripes(palette.MASKED, palette.MASKED_LINE, 135),
    "nan": stripes(palette.NAN, palette.NAN_LINE, 45, 135),
}


@write_panel.register
def _(panel: Bars, width):
    values = "; ".join(
        f"{label}: {write_number(value)}" for label, value in zip(panel.labels, panel.values.tolist(), strict=True)
    )
    return write_drawing(panel.title, f"{panel.alt} {values}", *drawing.bars_shapes(panel, width))


@write_panel.register
def _(panel: Curve, width):
    return write_drawing(panel.title, panel.alt, *drawing.curve_shapes(panel, width))


@write_panel.register
def _(panel: Diagram, width):
    return write_drawing(panel.title, panel.alt, *drawing.diagram_shapes(panel))


def write_drawing(title, alt, shapes, width, height):
    return write_figure(
        title,
        f'<svg role="img" aria-label="{escape(alt)}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="display:block;max-width:100%;height:auto;overflow:visible">{write_shapes(shapes)}</svg>',
    )


def write_figure(title, inside):
    caption = f'<figcaption style="margin:0 0 4px;font-weight:600">{escape(title)}</figcaption>'
    return f'<figure style="margin:0;padding:0">{caption}{inside}</figure>'


def write_shapes(shapes):
    inside = "".join(map(write_shape, shapes))
    return f'<g font-size="{LABEL}" text-anchor="middle" dominant-baseline="central">{inside}</g>'


@singledispatch
def write_shape(shape):
    raise TypeError(f"no way to write {type(shape).__name__} as SVG")


@write_shape.register
def _(line: drawing.Line):
    dashes = f' stroke-dasharray="{" ".join(map(str, line.dashes))}"' if line.dashes else ""
    return (
        f'<polyline points="{write_points(line.points)}" fill="none" stroke="{line.colour}" '
        f'stroke-width="{line.width}"{dashes}/>'
    )


@write_shape.register
def _(area: drawing.Area):
    return (
        f'<polygon points="{write_points(area.points)}" fill="{area.fill}" stroke="{area.edge}" '
        f'stroke-width="{area.width}" stroke-linejoin="round"/>'
    )


@write_shape.register
def _(label: drawing.Label):
    x, y = f"{label.x:g}", f"{label.y:g}"
    anchor = f' text-anchor="{label.anchor}"' if label.anchor != "middle" else ""
    size = f' font-size="{label.size:g}"' if label.size != LABEL else ""
    bold = ' font-weight="600"' if label.bold else ""
    turned = f' transform="rotate(-90 {x} {y})"' if label.turned else ""
    return f'<text x="{x}" y="{y}" fill="{label.colour}"{anchor}{size}{bold}{turned}>{escape(label.text)}</text>'


def write_points(points):
    return " ".join(f"{x:g},{y:g}" for x, y in points)


@write_panel.register
def _(table: ShapeTable, width):
    return write_table(table.title, ("symbol", "shape", "meaning"), table.rows, mono=(0, 1))


@write_panel.register
def _(table: Table, width):
    return write_table(table.title, table.columns, table.rows, marked=table.marked)


def write_table(title, columns, rows, mono=(), marked=()):
    """A table whose first column names the row; numbers stand at the right."""
    right = numeric_columns(rows)
    head = f"{CELL};border-top:0;color:{MUTED};font-weight:400"
    heads = "".join(
        f'<th scope="col" style="{head}{aligned(c in right)}">{escape(name)}</th>' for c, name in enumerate(columns)
    )
    lines = []
    for r, row in enumerate(rows):
        ground = f";background:{TONES['readout'][0]};font-weight:600" if r in marked else ""
        cells = []
        for c, value in enumerate(row):
            tag, scope = ("th", ' scope="row"') if c == 0 else ("td", "")
            weight = ";font-weight:600" if c == 0 else ""
            font = f";font-family:{MONO};white-space:nowrap" if c in mono else ""
            style = escape(f"{CELL}{weight}{font}{ground}{aligned(c in right)}")
            cells.append(f'<{tag}{scope} style="{style}">{escape(write_cell(value))}</{tag}>')
        lines.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    return (
        f'<table style="border-collapse:collapse;border:0;margin:0;font-size:{BODY}px;table-layout:auto;color:{INK}">'
        f'<caption style="{CAPTION}">{escape(title)}</caption>'
        f'<thead style="border:0"><tr style="background:none">{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def aligned(right):
    return ";text-align:right;font-variant-numeric:tabular-nums" if right else ""


@write_panel.register
def _(panel: Tokens, width):
    chips = []
    for place, (token, group) in enumerate(zip(panel.tokens, token_groups(panel), strict=True)):
        ground = CHIP if group is None else GROUPS[group % len(GROUPS)]
        edge, margin = (f"2px solid {INK}", 0) if place in panel.marked else (f"1px solid {CHIP_EDGE}", 1)
        chip = (
            f"display:block;margin:{margin}px;padding:1px 6px;border:{edge};border-radius:5px;"
            f"background:{ground};color:{INK};font-family:{MONO};white-space:pre"
        )
        number = ""
        if panel.ids is not None:
            number = f'<span style="display:block;font-size:{LABEL}px;color:{MUTED}">{panel.ids[place]}</span>'
        chips.append(
            '<li style="list-style:none;margin:0;text-align:center;font-variant-numeric:tabular-nums">'
            f'<span style="{escape(chip)}">{escape(visible(token))}</span>{number}</li>'
        )
    empty = "" if chips else f'<span style="color:{MUTED}">no tokens</span>'
    strip = f'<ol style="display:flex;flex-wrap:wrap;gap:6px 4px;margin:0;padding:0">{"".join(chips)}</ol>{empty}'
    return write_figure(panel.title, strip)


@write_panel.register
def _(panel: Text, width):
    ground, ink, edge = TONES[panel.tone]
    style = f"background:{ground};color:{ink};border-left:3px solid {edge}"
    role = {"readout": ' role="status" aria-live="polite"', "warning": ' role="alert"'}.get(panel.tone, "")
    if panel.tone == "plain":
        style = f"color:{ink}"
    else:
        style += ";padding:6px 10px;border-radius:4px"
    if panel.tone == "code":
        style += f";white-space:pre;overflow-x:auto;font-family:{MONO};font-size:12px"
        return f'<div style="{escape(style)}">{escape(panel.text)}</div>'
    lines = "".join(f"<div>{escape(line)}</div>" for line in panel.text.splitlines())
    return f'<div{role} style="{escape(style)}">{lines}</div>'
