"""Explorer of notebook 06: the split into heads, every head's map, and what one head adds to O."""

from functools import cache

import numpy as np

from helpers.explorers.attention import (
    LONGEST,
    MASKS,
    MOST_HEADS,
    POSITIONS,
    RANDOM,
    SENTENCES,
    SOURCES,
    build_mask,
    entering,
    last_head,
    last_position,
    name_position,
    own_sizes,
)
from helpers.explorers.page import Arrow, Box, Diagram, Heatmap, Page, Row, ShapeTable, Text, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, Toggle, divisors
from helpers.layers.multi_head_attention import merge_heads, multi_head_attention, new_multi_head_attention
from helpers.layers.query_key_value import linear

WIDTH = 780  # of the diagram


@cache
def drawn(d):
    """Random parameters and a random state of the longest length, the same on every machine."""
    rng = np.random.default_rng(d)
    return new_multi_head_attention(rng, d, bias=False), rng.normal(size=(LONGEST, d))


def columns_of(head, d_k):
    """The columns that a head owns, in words."""
    first, last = head * d_k, (head + 1) * d_k - 1
    return f"column {first}" if d_k == 1 else f"columns {first} to {last}"


def split_diagram(S, d, heads, head, off):
    """Columns of Q, K and V go to their head, through its own weights, back side by side and through W_O."""
    d_k = d // heads
    short = heads > 8
    gap = 2 if short else 6
    width = (WIDTH - gap * (heads - 1)) / heads

    def boxes(y, height, label, detail):
        return [
            Box(i * (width + gap), y, width, height, label(i), detail(i), "marked" if i == head else "state")
            for i in range(heads)
        ]

    def columns(i):
        return f"{i * d_k}–{(i + 1) * d_k - 1}" if d_k > 1 else str(i)

    owners = boxes(24, 44, lambda i: str(i) if short else f"head {i}", columns)
    maps = boxes(92, 44, lambda i: "A" if short else f"A {S} × {S}", lambda i: "")
    joined = boxes(
        160, 44, lambda i: "H" if short else f"H {S} × {d_k}", lambda i: "off: 0" if off and i == head else columns(i)
    )
    top = Box(0, 0, WIDTH, 20, f"columns of Q, K and V ({S} × {d}): who owns which", "", "plain")
    mix = Box(0, 228, WIDTH, 24, f"side by side ({S} × {d}), times W_O ({d} × {d}): O ({S} × {d})", "", "parameter")
    arrows = [
        Arrow((a.bottom, b.top), "", i == head)
        for upper, lower in ((owners, maps), (maps, joined))
        for i, (a, b) in enumerate(zip(upper, lower, strict=True))
        if not (off and i == head and upper is maps)
    ]
    arrows += [Arrow((box.bottom, (box.bottom[0], 228)), "", i == head) for i, box in enumerate(joined)]
    return Diagram(
        "the split",
        WIDTH,
        254,
        [top, *owners, *maps, *joined, mix],
        arrows,
        f"{heads} boxes side by side, one for each head, each with its {d_k} of the {d} columns; each computes weights "
        f"of its own; the outputs stand side by side again and go through W_O. Head {head} is marked"
        f"{', its output is set to 0' if off else ''}.",
    )


def page(settings):
    """Multi-head attention of one state, random or trained; with a head switched off also what that changes in O."""
    settings = own_sizes(settings)
    S, d, heads, head = (settings[name] for name in ("S", "d", "heads", "head"))
    row, column, off = settings["row"], settings["column"], settings["switch the head off"]
    d_k = d // heads
    parameters, X, labels, note = entering(settings, drawn)
    positions = POSITIONS | {"row_labels": labels, "column_labels": labels}
    if not settings["W_O"]:
        parameters = parameters | {"W_O": np.eye(d)}
    M = build_mask(settings["mask"], S, settings["padding"])  # (S, S)
    states = multi_head_attention(parameters, X, X, heads, M)
    A = states["A"]
    forbidden = np.isneginf(M)
    H, O = states["H"], states["O"]  # noqa: E741
    if off:
        H = H.copy()
        H[head] = 0
        O = linear(merge_heads(H), parameters["W_O"], parameters.get("b_O"))  # (S, d)  # noqa: E741
    change = np.abs(states["O"] - O)  # (S, d)
    touched = np.flatnonzero(change.max(axis=0) > 1e-9)

    def columns_map(title, values, alt, kind="signed", columns=None):
        return Heatmap(
            title,
            values,
            alt,
            kind=kind,
            row_title="position",
            column_title="column",
            row_labels=labels,
            column_labels=columns,
            mark_row=row,
            numbers=False,
        )

    own = range(head * d_k, (head + 1) * d_k)
    detail = Row(
        *(
            columns_map(
                f"{name} of head {head}",
                states[name][head],
                f"{name} of head {head}: {S} positions, {columns_of(head, d_k)}.",
                columns=own,
            )
            for name in "QK"
        ),
        Heatmap(
            f"weights A of head {head}",
            A[head],
            f"Attention weights of head {head}; each row sums to 1; the largest is {write_number(A[head].max())}.",
            mask=forbidden,
            titles=True,
            mark_row=row,
            mark_column=column,
            **positions,
        ),
        columns_map(
            f"H of head {head}",
            states["H"][head],
            f"Output of head {head}: {S} positions, {columns_of(head, d_k)} of the concatenation.",
            columns=own,
        ),
        columns=4 if settings["source"] == RANDOM else 2,
    )
    all_maps = Row(
        *(
            Heatmap(
                f"head {i}" + (" (off)" if off and i == head else ""),
                weights,
                f"Attention weights of head {i}.",
                mask=forbidden,
                numbers=False,
                mark_row=row,
                **positions,
            )
            for i, weights in enumerate(A)
        ),
        columns=min(heads, 8),
        one_scale=True,
    )
    through = "through W_O" if settings["W_O"] else "with W_O = I"
    output = [
        columns_map(
            "H side by side", merge_heads(H), f"The heads' outputs side by side: {S} positions by {d} columns."
        ),
        columns_map(f"O, {through}", O, f"Output O: {S} positions by {d} columns."),
    ]
    read = (
        f"Position {name_position(row, labels)} reads position {name_position(column, labels)} with weight "
        + ", ".join(f"{write_number(weight)} (head {i})" for i, weight in enumerate(A[:, row, column]))
        + f". Head {head} owns {columns_of(head, d_k)}; its position {row} reads most from position "
        f"{name_position(int(A[head, row].argmax()), labels)} (weight {write_number(A[head, row].max())})."
    )
    panels = [Text(read, tone="readout"), Text(note), split_diagram(S, d, heads, head, off), all_maps, detail]
    effect = ""
    if off:
        where = "all of them" if len(touched) == d else f"{touched[0]} to {touched[-1]}"
        effect = f"Head {head} is off: {len(touched)} of {d} columns of O change, {where}."
        output.append(columns_map("|change of O|", change, f"Absolute change of O. {effect}", kind="weights"))
        panels.append(Text(effect))
    panels += [
        Row(*output, columns=3),
        ShapeTable(
            "shapes",
            [
                ("X", X.shape, "S × d, the state that every head reads in full"),
                ("W_Q, W_K, W_V", parameters["W_Q"].shape, f"d × d, {heads} times d × d_k side by side"),
                ("Q, K, V, H", states["Q"].shape, "heads × S × d_k"),
                ("A", A.shape, "heads × S × S"),
                ("M", M.shape, "S × S, the same for every head"),
                ("H side by side", states["H_concat"].shape, "S × d"),
                ("W_O", parameters["W_O"].shape, "d × d"),
                ("O", O.shape, "S × d, as X"),
            ],
        ),
    ]
    count = sum(array.size for array in parameters.values())
    return Page(
        "Multi-head attention",
        panels,
        f"S = {S}, d = {d}, heads = {heads}, d_k = {d_k}, mask = {settings['mask']}; {count} parameters, whatever "
        f"the number of heads. {read} {effect}".strip(),
        f"The split of {d} columns among {heads} heads, the heads' attention maps for S = {S} and mask "
        f"{settings['mask']}, and the output O; head {head} is marked{' and switched off' if off else ''}.",
    )


CONTROLS = [
    Slider("S", 1, LONGEST, 8),
    Choice("d", [8, 16, 32, 64, 128, 256, 512], 32),
    Choice("heads", lambda settings: [h for h in divisors(settings["d"]) if h <= MOST_HEADS], 4),
    Choice("source", SOURCES, RANDOM),
    Choice("sentence", SENTENCES, 5),
    Choice("mask", list(MASKS), "causal"),
    Slider("padding", 0, last_position, 2),
    Slider("head", 0, last_head, 1),
    Toggle("switch the head off", False),
    Toggle("W_O", True),
    Slider("row", 0, last_position, 5),
    Slider("column", 0, last_position, 3),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=16, heads=8)."""
    Explorer(page, CONTROLS, "multi_head_attention", **start).show()
