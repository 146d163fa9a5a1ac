"""Explorer of notebook 04: one state X seen as queries, keys and values."""

from functools import cache

import numpy as np

from helpers.explorers.page import Column, Heatmap, Page, Row, ShapeTable, Text, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, Toggle, divisors
from helpers.layers.query_key_value import new_projections, project

LONGEST = 32
MOST_HEADS = 16
SHOWN = 3  # numbers of a row that are written out


@cache
def drawn(d):
    """Random projections of all heads, a random state and a random change of one row, the same on every machine."""
    rng = np.random.default_rng(d)
    parameters = new_projections(rng, d, d, bias=True)
    for name in ("b_Q", "b_K", "b_V"):
        parameters[name] += rng.normal(size=d)
    return parameters, rng.normal(size=(LONGEST, d)), 2 * rng.normal(size=d)


def parameters_of(head, d_k, parameters, bias):
    """One head's columns of the projections: W (d, d_k), and b (d_k,) if wanted."""
    columns = slice(head * d_k, (head + 1) * d_k)
    return {name: array[..., columns] for name, array in parameters.items() if bias or name.startswith("W")}


def write_row(row):
    """The first numbers of a row."""
    return "(" + ", ".join(write_number(value) for value in row[:SHOWN]) + (", …)" if len(row) > SHOWN else ")")


def page(settings):
    """X, the projections of one head, and Q, K, V; with a changed row also what it changes."""
    S, d, heads, head, row = (settings[name] for name in ("S", "d", "heads", "head", "row"))
    d_k = d // heads
    everything, X, change = drawn(d)
    parameters = parameters_of(head, d_k, everything, settings["bias"])
    before = project(parameters, X[:S])
    X = X[:S].copy()  # (S, d)
    if settings["change the row"]:
        X[row] += change
    states = project(parameters, X)

    def positions(symbol, values, column_title):
        return Heatmap(
            symbol,
            values,
            f"{symbol}: {S} positions by {values.shape[1]} {column_title}s, row {row} marked.",
            kind="signed",
            row_title="position",
            column_title=column_title,
            mark_row=row,
            numbers=False,
        )

    products = Row(
        positions("X", X, "component"),
        *(
            Column(
                Heatmap(
                    f"W_{name}",
                    parameters[f"W_{name}"],
                    f"W_{name} of head {head}: {d} rows by {d_k} columns.",
                    kind="signed",
                    row_title="component of X",
                    column_title=f"component of {name}",
                    numbers=False,
                ),
                positions(f"{name} = X W_{name}", states[name], "component"),
            )
            for name in "QKV"
        ),
        columns=4,
    )
    read = " ".join(
        [f"Position {row}: X[{row}] = {write_row(X[row])}, {d} numbers."]
        + [f"{name}[{row}] = {write_row(states[name][row])}, {d_k} numbers." for name in "QKV"]
    )
    panels = [Text(read, tone="readout"), products]
    changed = {name: np.abs(states[name] - before[name]) for name in "QKV"}
    rows = sorted({int(i) for difference in changed.values() for i in np.flatnonzero(difference.any(axis=1))})
    if settings["change the row"]:
        panels += [
            Text(f"Row {row} of X was changed. Rows of Q, K and V that differ from before: {rows}."),
            Row(
                *(
                    Heatmap(
                        f"|change of {name}|",
                        difference,
                        f"Absolute change of {name}: only row {row} differs from 0.",
                        row_title="position",
                        column_title="component",
                        mark_row=row,
                        numbers=False,
                    )
                    for name, difference in changed.items()
                ),
                columns=3,
            ),
        ]
    shapes = [("X", X.shape, "S × d")]
    shapes += [(name, array.shape, "d × d_k" if name.startswith("W") else "d_k") for name, array in parameters.items()]
    shapes += [(name, states[name].shape, "S × d_k") for name in "QKV"]
    panels += [
        ShapeTable(f"shapes, head {head}", shapes),
        Text("X, the projections and the change are random numbers, not trained."),
    ]
    count = sum(array.size for array in parameters.values())
    return Page(
        "Queries, keys and values of one head",
        panels,
        f"S = {S}, d = {d}, heads = {heads}, d_k = {d_k}: X {X.shape}, W_Q {parameters['W_Q'].shape}, "
        f"Q {states['Q'].shape}; {count} parameters in head {head}. {read}",
        f"Heat maps of X, of the projections of head {head} and of Q, K and V for S = {S}, d = {d}, {heads} heads; "
        f"position {row} is marked. Rows that changed: {rows or 'none'}.",
    )


CONTROLS = [
    Slider("S", 1, LONGEST, 6),
    Choice("d", [8, 16, 32, 64, 128, 256, 512], 16),
    Choice("heads", lambda settings: [h for h in divisors(settings["d"]) if h <= MOST_HEADS], 2),
    Slider("head", 0, lambda settings: settings["heads"] - 1, 0),
    Slider("row", 0, lambda settings: settings["S"] - 1, 2),
    Toggle("change the row", False),
    Toggle("bias", False),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=16, d=64)."""
    Explorer(page, CONTROLS, "query_key_value", **start).show()
