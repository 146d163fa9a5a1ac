"""Explorer of notebook 03: position vectors, their wavelengths and their dot products."""

import math
from functools import cache

import numpy as np

from helpers.explorers.page import Curve, Heatmap, Page, Row, ShapeTable, Text, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, Toggle
from helpers.layers.position_encoding import add_positions, frequencies, new_positions, sinusoidal_positions
from helpers.layers.token_embedding import embed, new_embedding

LONGEST = 128
KINDS = ("interleaved", "concatenated", "learned table", "none")
WORDS = ("the", "cat", "sees", "the", "dog")  # repeated up to length S


@cache
def drawn(d):
    """A random token table and a random position table, the same on every machine."""
    rng = np.random.default_rng(d)
    return new_embedding(rng, len(WORDS), d), new_positions(rng, LONGEST, d)


def positions(kind, S, d):
    """P (S, d) of one of KINDS."""
    if kind == "none":
        return np.zeros((S, d))
    if kind == "learned table":
        return drawn(d)[1][:S]
    return sinusoidal_positions(S, d, kind)


def wavelength_of(kind, d, component):
    """Positions until component repeats, or None when there is no such number."""
    if kind not in ("interleaved", "concatenated"):
        return None
    waves = (d + 1) // 2
    pair = component // 2 if kind == "interleaved" else component % waves
    return 2 * math.pi / frequencies(d)[pair]


def page(settings):
    """P, X and what P says about distance."""
    S, d, kind, row, component = (settings[name] for name in ("S", "d", "positions", "row", "component"))
    P = positions(kind, S, d)  # (S, d)
    names = sorted(set(WORDS), key=WORDS.index)
    tokens = [WORDS[i % len(WORDS)] for i in range(S)]
    X_token = embed(drawn(d)[0], [names.index(token) for token in tokens])  # (S, d)
    X = add_positions(X_token, P, scaled=settings["√d scaling"])  # (S, d)
    dots = P @ P.T  # (S, S)

    wavelength = wavelength_of(kind, d, component)
    wave = f", wavelength {write_number(wavelength)} positions" if wavelength else ""
    twin = next((i for i in range(S) if i != row and tokens[i] == tokens[row]), None)
    same = ""
    if twin is not None:
        gap = float(np.linalg.norm(X[row] - X[twin]))
        same = f" «{tokens[row]}» also stands at {twin}; their rows of X differ by a length of {write_number(gap)}."
    read = f"P[{row}, {component}] = {write_number(P[row, component])}{wave}.{same}"
    by_position = {"row_title": "position", "mark_row": row, "numbers": False}
    maps = Row(
        Heatmap(
            f"P, {kind}",
            P,
            f"P: {S} positions by {d} components, {kind}.",
            kind="signed",
            column_title="component",
            mark_column=component,
            **by_position,
        ),
        Heatmap(
            "X = √d X_token + P" if settings["√d scaling"] else "X = X_token + P",
            X,
            f"X: {S} positions by {d} components; the tokens repeat every {len(WORDS)} positions.",
            kind="signed",
            column_title="component",
            row_labels=[f"{i} {token}" for i, token in enumerate(tokens)],
            **by_position,
        ),
        Heatmap(
            "P[i] · P[j]",
            dots,
            f"Dot products of all {S} position vectors, each with each.",
            kind="signed",
            column_title="position",
            mark_column=row,
            **by_position,
        ),
        columns=3,
    )
    panels = [Text(read, tone="readout"), maps]
    curves = [
        Curve(
            f"P[{row}] · P[j]",
            np.arange(S),
            {"dot product": dots[row]},
            f"Dot product of position {row} with every position.",
            x_title="position j",
            y_title="dot product",
            mark_x=row,
        )
    ]
    if wavelength:
        curves.append(
            Curve(
                "wavelength of each pair",
                np.arange(len(frequencies(d))),
                {"wavelength": 2 * math.pi / frequencies(d)},
                f"Wavelengths from {write_number(2 * math.pi)} to "
                f"{write_number(2 * math.pi / frequencies(d)[-1])} positions, on a logarithmic axis.",
                x_title="pair",
                y_title="positions",
                log_y=True,
            )
        )
    panels.append(Row(*curves, columns=2))
    trained = {"learned table": P.size, "none": 0}.get(kind, 0)
    panels.append(
        ShapeTable(
            "shapes",
            [
                ("X_token", X_token.shape, "S × d"),
                ("P", P.shape, f"S × d, {trained} of its numbers are trained"),
                ("X", X.shape, "S × d"),
            ],
        )
    )
    panels.append(Text("Tokens, and a learned table, are random here. Sinusoids are the same everywhere."))
    return Page(
        "Position encoding",
        panels,
        f"S = {S}, d = {d}, positions = {kind}: P {P.shape}, X {X.shape}. {read}",
        f"Heat maps of P, X and the dot products of positions for S = {S}, d = {d}, {kind}; "
        f"curves of the dot products of position {row} and of the wavelengths.",
    )


CONTROLS = [
    Slider("S", 1, LONGEST, 32),
    Choice("d", [4, 5, 8, 16, 32, 64, 128, 256, 512], 32),
    Choice("positions", list(KINDS), "interleaved"),
    Toggle("√d scaling", True),
    Slider("row", 0, lambda settings: settings["S"] - 1, 6),
    Slider("component", 0, lambda settings: settings["d"] - 1, 4),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=64, d=128)."""
    Explorer(page, CONTROLS, "position_encoding", **start).show()
