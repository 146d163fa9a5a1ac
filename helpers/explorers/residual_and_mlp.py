"""Explorer of notebook 07: a stack of encoder blocks, with and without the residual."""

from functools import cache, lru_cache

import numpy as np

from helpers.explorers.attention import build_mask
from helpers.explorers.page import Arrow, Box, Curve, Diagram, Heatmap, Page, Row, ShapeTable, Table, Text, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, divisors
from helpers.layers.multi_head_attention import multi_head_attention, multi_head_attention_backward
from helpers.layers.residual_and_mlp import (
    layer_norm,
    layer_norm_backward,
    mlp,
    mlp_backward,
    new_encoder_block,
    residual,
)

LONGEST = 32
MOST_HEADS = 16
DEEPEST = 12
NORMS = ("post", "pre", "none")
WIDTH, GAP = 780, 22  # of the diagram, in pixels
TOUCHED = 1e-9  # a row that moved by less has not changed
FLOOR = 1e-12  # of a gradient norm, for the logarithmic axis


@lru_cache(8)
def drawn(d, d_ff):
    """Random blocks, a random state of the longest length, a change of one row and a gradient of the output."""
    rng = np.random.default_rng(d)
    blocks = [new_encoder_block(rng, d, d_ff) for _ in range(DEEPEST)]
    return blocks, *rng.normal(size=(3, LONGEST, d))


@cache
def mask(kind, S):
    """The additive mask (S, S)."""
    return build_mask(kind, S, 0)


def sublayers(block, heads, M):
    """The two halves of a block: norm parameters, forward, name of its output, backward to the input."""

    def attend(X):
        return multi_head_attention(block["attention"], X, X, heads, M)

    def attend_backward(states, dO):
        _, dX_q, dX_kv = multi_head_attention_backward(block["attention"], states, dO)
        return dX_q + dX_kv

    def think(Z):
        return mlp(block["mlp"], Z)

    def think_backward(states, dF):
        return mlp_backward(block["mlp"], states, dF)[1]

    return (
        (block["norm_1"], attend, "O", attend_backward),
        (block["norm_2"], think, "F", think_backward),
    )


def forward(halves, X, norm, with_residual):
    """[X, Z, X_new, Z, X_new, ...] through all halves, and what the backward pass needs."""
    passed, kept = [X], []
    for gains, run, output, _ in halves:
        X = passed[-1]
        before = layer_norm(gains, X) if norm == "pre" else None
        states = run(before["Y"] if before else X)
        Y = residual(X, states[output]) if with_residual else states[output]
        after = layer_norm(gains, Y) if norm == "post" else None
        passed.append(after["Y"] if after else Y)
        kept.append((before, states, after))
    return passed, kept


def backward(halves, kept, dY, with_residual):
    """Gradients of all that ``forward`` passed, in its order, from the gradient of the last."""
    passed = [dY]
    for (gains, _, _, run_backward), (before, states, after) in zip(halves[::-1], kept[::-1], strict=True):
        dY = passed[-1]
        if after:
            _, dY = layer_norm_backward(gains, after, dY)
        dX = run_backward(states, dY)
        if before:
            _, dX = layer_norm_backward(gains, before, dX)
        passed.append(dX + dY if with_residual else dX)
    return passed[::-1]


def row_length(X):
    """Mean length of a row."""
    return float(np.linalg.norm(X, axis=-1).mean())


def spread(X):
    """Mean distance of a row from the mean row, as a share of the mean length: 0 when all rows are equal."""
    share = row_length(X - X.mean(axis=-2)) / (row_length(X) or 1.0)
    return share if share > TOUCHED else 0.0


def rows_that_differ(before, after):
    """Positions whose rows differ."""
    return np.flatnonzero(np.abs(after - before).max(axis=-1) > TOUCHED).tolist()


def name_rows(rows, S):
    """A list of rows in words."""
    if not rows:
        return "none"
    if len(rows) == S:
        return "all" if S > 1 else "row 0, the only one"
    return f"only {rows[0]}" if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"


def block_diagram(settings):
    """The boxes of one block from left to right; the residual arrows pass above them."""
    d, d_ff, heads, norm = (settings[name] for name in ("d", "d_ff", "heads", "norm"))
    attention = ("attention", f"{heads} head{'s' if heads > 1 else ''}", 106, "parameter")
    think = ("MLP", f"{d} → {d_ff} → {d}", 116, "parameter")
    norm_box, plus = ("LayerNorm", "by row", 92, "parameter"), ("+", "", 30, "marked")
    halves = [
        {"post": [part, plus, norm_box], "pre": [norm_box, part, plus], "none": [part, plus]}[norm]
        for part in (attention, think)
    ]
    parts = [("X", "", 52, "state"), *halves[0], *halves[1], ("X_new", "", 60, "state")]
    boxes, x = [], (WIDTH - sum(part[2] for part in parts) - GAP * (len(parts) - 1)) / 2
    for label, detail, width, tone in parts:
        boxes.append(Box(x, 40, width, 42, label, detail, tone))
        x += width + GAP
    arrows = [Arrow((a.right, b.left)) for a, b in zip(boxes, boxes[1:], strict=False)]
    ends = [box for box in boxes if box.label == "+"]
    starts = [boxes[0], boxes[len(halves[0])]]  # where X and Z leave: the last box of the first half
    for start, end, symbol in zip(starts, ends, ("X", "Z"), strict=True):
        left, right = start.top[0] + (6 if start.label == "+" else 0), end.top[0] - 6
        arrows.append(Arrow(((left, 40), (left, 16), (right, 16), (right, 40)), symbol, True))
    order = ", ".join(box.label for box in boxes)
    return Diagram(
        "one block",
        WIDTH,
        84,
        boxes,
        arrows,
        f"One block from left to right: {order}. An arrow leads from X past attention to the first plus, another from "
        "Z past the MLP to the second.",
    )


def page(settings):
    """A stack of random blocks: shapes, one changed row followed, and three curves along the depth."""
    S, d, heads, d_ff, norm, depth, row = (
        settings[name] for name in ("S", "d", "heads", "d_ff", "norm", "depth", "row")
    )
    blocks, X, change, dY = drawn(d, d_ff)
    M = mask(settings["mask"], S)
    X, dY = X[:S], dY[:S] / np.linalg.norm(dY[:S])  # both (S, d)
    X_changed = X.copy()
    X_changed[row] += change[row]
    halves = [half for block in blocks[:depth] for half in sublayers(block, heads, M)]

    lengths, gradients, spreads, followed = {}, {}, {}, {}
    for name, with_residual in (("residual", True), ("without", False)):
        passed, kept = forward(halves, X, norm, with_residual)
        lengths[name] = [row_length(state) for state in passed[::2]]
        spreads[name] = [spread(state) for state in passed[::2]]
        arrived = backward(halves, kept, dY, with_residual)[::2]
        gradients[name] = [max(float(np.linalg.norm(gradient)), FLOOR) for gradient in arrived]
        followed[name] = passed, kept

    passed, kept = followed["residual"]
    changed, _ = forward(halves, X_changed, norm, True)
    moved = np.stack(
        [np.linalg.norm(b - a, axis=1) / np.linalg.norm(a, axis=1) for a, b in zip(passed, changed, strict=True)],
        axis=1,
    )  # (S, 2 * depth + 1)
    moved[moved < TOUCHED] = 0
    stages = ["X"] + [f"{symbol} {i}" for i in range(depth) for symbol in ("Z", "X_new")]

    (gains, attend, _, _), (_, think, _, _) = halves[:2]
    alone = {
        "attention": rows_that_differ(attend(X)["O"], attend(X_changed)["O"]),
        "LayerNorm": rows_that_differ(layer_norm(gains, X)["Y"], layer_norm(gains, X_changed)["Y"]),
        "MLP": rows_that_differ(think(X)["F"], think(X_changed)["F"]),
    }
    (_, attended, _), (_, thought, _) = kept[:2]
    reached = {i: rows_that_differ(passed[2 * i], changed[2 * i]) for i in (1, depth)}
    after = f"after {depth} block{'s' if depth > 1 else ''}"
    read = (
        f"Row {row} of the input is changed. Rows that differ after attention alone: "
        f"{name_rows(alone['attention'], S)}; after the MLP alone: {name_rows(alone['MLP'], S)}. "
        f"{after.capitalize()}, how different the rows are: {write_number(spreads['residual'][-1])} with the "
        f"residual, {write_number(spreads['without'][-1])} without; gradient norm at the input: "
        f"{write_number(gradients['residual'][0])} with, {write_number(gradients['without'][0])} without."
    )
    depths = np.arange(depth + 1)

    def along(title, series, alt, y_title, log_y=False):
        ends = [f"{name} {write_number(y[0])} to {write_number(y[-1])}" for name, y in series.items()]
        return Curve(title, depths, series, f"{alt}: {', '.join(ends)}.", "blocks passed", y_title, log_y=log_y)

    return Page(
        "A stack of encoder blocks",
        [
            Text(read, tone="readout"),
            block_diagram(settings),
            Row(
                along("length of a row", lengths, "Mean length of a row from the input to the last block", "length"),
                along(
                    "gradient norm",
                    gradients,
                    "Norm of the gradient from the input to the last block, where it starts with 1",
                    "norm",
                    log_y=True,
                ),
                along(
                    "how different the rows are",
                    spreads,
                    "Distance of the rows from their mean as a share of their length",
                    "share",
                ),
                columns=3,
            ),
            Heatmap(
                f"row {row} of X changed: relative change of each row, stage by stage",
                moved,
                f"Relative change of each of {S} rows from X to the last X_new. Rows that differ: in X only {row}, "
                f"after the first block {name_rows(reached[1], S)}, after the last {name_rows(reached[depth], S)}.",
                row_title="position",
                column_title="stage, with its block",
                column_labels=stages,
                mark_row=row,
            ),
            Row(
                Table(
                    f"one sub-layer alone, row {row} of its input changed",
                    ("sub-layer", "rows of its output that differ"),
                    [(name, name_rows(rows, S)) for name, rows in alone.items()],
                ),
                ShapeTable(
                    "shapes",
                    [
                        ("X, O, Z, F, X_new", X.shape, "S × d: all that is added must fit"),
                        ("gamma, beta", blocks[0]["norm_1"]["gamma"].shape, "d, in each LayerNorm"),
                        ("W_1", blocks[0]["mlp"]["W_1"].shape, "d × d_ff"),
                        ("U", thought["U"].shape, "S × d_ff, inside the MLP alone"),
                        ("W_2", blocks[0]["mlp"]["W_2"].shape, "d_ff × d"),
                        ("A", attended["A"].shape, "heads × S × S"),
                    ],
                ),
                columns=2,
            ),
            Text("State, parameters and gradient are random numbers, not trained."),
        ],
        f"S = {S}, d = {d}, heads = {heads}, d_ff = {d_ff}, norm = {norm}, depth = {depth}, "
        f"mask = {settings['mask']}. {read}",
        f"A block with norm {norm}, three curves along {depth} blocks with and without the residual, and the change "
        f"of row {row} followed through them.",
    )


CONTROLS = [
    Slider("S", 1, LONGEST, 8),
    Choice("d", [16, 32, 64], 32),
    Choice("heads", lambda settings: [h for h in divisors(settings["d"]) if h <= MOST_HEADS], 4),
    Choice("d_ff", [16, 32, 64, 128, 256], lambda settings: 4 * settings["d"]),
    Choice("norm", list(NORMS), "post"),
    Slider("depth", 1, DEEPEST, 6),
    Choice("mask", ["none", "causal"], "none"),
    Slider("row", 0, lambda settings: settings["S"] - 1, 2),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=16, norm="pre")."""
    Explorer(page, CONTROLS, "residual_and_mlp", **start).show()
