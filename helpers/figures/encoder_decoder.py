"""Drawing for notebook 08: the whole model, with the shapes of a run on its arrows."""

from matplotlib.patches import Rectangle

from helpers import figures
from helpers.explorers.layout import ACCENT, BOX_TONES, INK, LINE, MUTED

WIDTH, STEP, THIN_STEP = 860, 62, 50  # in pixels; thin steps lead to and from the blocks that stay closed
ENCODER, DECODER, TRUNK = 190, 640, 415  # middle of the columns, and of the line that takes C to the decoder
HALF, HIGH, LOW = 112, 34, 24  # half the width of a box, height of an open and of a closed one


class Sheet:
    """Boxes and arrows in pixels, y growing downwards."""

    def __init__(self, height):
        self.figure, self.axes = figures.new(WIDTH / 100, height / 100)
        self.axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        self.axes.axis("off")

    def text(self, x, y, text, ha="center", colour=INK, **style):
        self.axes.text(x, y, text, ha=ha, va="center", fontsize=8.5, color=colour, zorder=4, **style)

    def box(self, x, y, text, tone, height):
        ground, edge = BOX_TONES[tone]
        corner = x - HALF, y - height / 2
        self.axes.add_patch(Rectangle(corner, 2 * HALF, height, facecolor=ground, edgecolor=edge, zorder=3))
        self.text(x, y, text)

    def frame(self, x, top, bottom):
        size = 2 * HALF + 76, bottom - top
        left = x - HALF - 38
        self.axes.add_patch(Rectangle((left, top), *size, facecolor="none", edgecolor=LINE, linewidth=1.5))
        self.text(left - 10, top + 30, "block 0", colour=MUTED, rotation=90)

    def arrow(self, points, marked=False):
        """A line through the points with its head at the last."""
        colour, width = (ACCENT, 2.2) if marked else (MUTED, 1.2)
        self.axes.plot(*zip(*points[:-1], strict=True), color=colour, linewidth=width, zorder=2)
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
        self.axes.annotate("", points[-1], points[-2], arrowprops=style, zorder=2)


def named(symbol, array):
    """A symbol with the shape of its array."""
    return f"{symbol} {array.shape}".replace(",)", ")")


def draw_column(sheet, x, side, boxes, marked):
    """Boxes below each other with labelled arrows between them; returns the middle of every box.

    ``boxes`` are (text, tone, label of the arrow below). The residual paths run on
    the left (``side`` -1) or on the right (1): a box that begins with + ends one, which
    starts before the box above it. Arrows with a label in ``marked`` stand out, and so
    do the residual paths that start from them.
    """
    ys, y = [], 52.0
    for i, (text, tone, _) in enumerate(boxes):
        closed = text.startswith("block ")
        height = LOW if closed else HIGH
        sheet.box(x, y, text, tone, height)
        ys.append(y)
        if i:
            label = boxes[i - 1][2]
            above = ys[i - 1] + (LOW if boxes[i - 1][0].startswith("block ") else HIGH) / 2
            sheet.arrow([(x, above), (x, y - height / 2)], label in marked)
            colour = ACCENT if label in marked else INK
            sheet.text(x - 8 * side, (above + y - height / 2) / 2, label, "left" if side < 0 else "right", colour)
        if text.startswith("+"):
            start, out = ys[i - 1] - HIGH / 2 - 18, x + side * (HALF + 24)
            around = [(x, start), (out, start), (out, y), (x + side * HALF, y)]
            sheet.arrow(around, boxes[i - 2][2] in marked)
        y += THIN_STEP if closed or boxes[min(i + 1, len(boxes) - 1)][0].startswith("block ") else STEP
    return ys


def closed_blocks(blocks, last):
    """Boxes for the blocks after the first; the last of them hands on ``last``."""
    return [
        (f"block {i}", "plain", named(last if block is blocks[-1] else "X_new", block["X_new"]))
        for i, block in enumerate(blocks)
        if i
    ]


def draw_model(states):
    """Encoder and decoder of a run of `transformer` side by side, data from top to bottom.

    The first block of each stack is open, the others are closed. The paths of B and C stand out.
    """
    read, written = states["encoder"]["blocks"], states["decoder"]["blocks"]
    first, block = read[0], written[0]
    B, C = named("B", block["B"]), named("C", states["C"])
    E = f"({states['logits'].shape[-1]}, {states['D'].shape[-1]})"
    cross, itself = block["cross_attention"], block["self_attention"]
    left = [
        ("source ids", "state", named("src", states["src"])),
        (f"√d E[src] + P\nE {E}", "parameter", named("X_src", states["X_src"])),
        (f"self-attention\n{named('A', first['attention']['A'])}", "parameter", named("O", first["attention"]["O"])),
        ("+ and LayerNorm", "parameter", named("Z", first["Z"])),
        (f"MLP\n{named('U', first['mlp']['U'])}", "parameter", named("F", first["mlp"]["F"])),
        ("+ and LayerNorm", "parameter", named("X_new", first["X_new"])),
        *closed_blocks(read, "C"),
        ("C, the encoder's output", "marked", ""),
    ]
    right = [
        ("target ids after the start token", "state", named("tgt_in", states["tgt_in"])),
        ("√d E[tgt_in] + P\nthe same E", "parameter", named("X_tgt", states["X_tgt"])),
        (f"causal self-attention\n{named('A', itself['A'])}", "parameter", named("O", itself["O"])),
        ("+ and LayerNorm", "parameter", B),
        (f"cross-attention\n{named('A', cross['A'])}", "parameter", named("O", cross["O"])),
        ("+ and LayerNorm", "parameter", named("Z", block["Z"])),
        (f"MLP\n{named('U', block['mlp']['U'])}", "parameter", named("F", block["mlp"]["F"])),
        ("+ and LayerNorm", "parameter", named("X_new", block["X_new"])),
        *closed_blocks(written, "D"),
        ("scores D Eᵀ\nthe same E again", "parameter", named("logits", states["logits"])),
        ("softmax of each row", "parameter", ""),
    ]
    sheet = Sheet(52 + 8 * STEP + len(written) * THIN_STEP + 30)
    rows_left = draw_column(sheet, ENCODER, -1, left, (C,))
    rows_right = draw_column(sheet, DECODER, 1, right, (B,))
    for x, name, blocks in ((ENCODER, "encoder", read), (DECODER, "decoder", written)):
        sheet.text(x, 16, f"{name}: {len(blocks)} blocks", fontweight="bold")
    sheet.frame(ENCODER, rows_left[2] - 42, rows_left[5] + 23)
    sheet.frame(DECODER, rows_right[2] - 42, rows_right[7] + 23)

    # C goes to the cross-attention of every block
    readers = [rows_right[4], *rows_right[8 : 7 + len(written)]]
    sheet.axes.plot([TRUNK, TRUNK], [readers[0], readers[-1]], color=ACCENT, linewidth=2.2, zorder=2)
    sheet.axes.plot([ENCODER + HALF, TRUNK], [rows_left[-1], rows_left[-1]], color=ACCENT, linewidth=2.2, zorder=2)
    for y in readers:
        sheet.arrow([(TRUNK, y), (DECODER - HALF, y)], True)
    sheet.text(TRUNK - 4, readers[0] - 14, C, colour=ACCENT)
    sheet.text(TRUNK - 10, (readers[0] + rows_left[-1]) / 2, "keys and values\nfor every block", "right", ACCENT)
    return sheet.figure
