"""Explorer of notebook 02: a sentence, its ids, the table E and the rows taken from it."""

from collections import Counter
from functools import cache

import numpy as np

from helpers.explorers.page import Heatmap, Page, Row, ShapeTable, Text, Tokens
from helpers.explorers.shell import Choice, Explorer, Slider, TextBox, Toggle
from helpers.layers.token_embedding import embed, embed_backward, new_embedding

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")
WORDS = (
    "the", "a", "cat", "dog", "mouse", "bird", "sees", "chases", "feeds", "sleeps",
    "old", "small", "and", "because", "is", "hungry", "not", "who", "in", "garden",
)  # fmt: skip
VOCABULARY = SPECIAL + WORDS
SENTENCE = "the cat chases the mouse because the cat is hungry"
LONGEST = 16


@cache
def drawn(d):
    """A random table, the same on every machine."""
    return new_embedding(np.random.default_rng(d), len(VOCABULARY), d, padding_id=PAD)


def ids_of(sentence, S):
    """The ids of the first S words, filled up with the padding token."""
    ids = [VOCABULARY.index(word) if word in WORDS else UNKNOWN for word in sentence.lower().split()[:S]]
    return np.array(ids + [PAD] * (S - len(ids)))  # (S,)


def row_label(token, ids):
    """The id and word of a row of E, and the positions that take it."""
    places = ", ".join(str(int(i)) for i in np.flatnonzero(ids == token))
    return f"{token} {VOCABULARY[token]}" + (f" → {places}" if places else "")


def page(settings):
    """The rows of E that a sentence takes, or the gradient it sends back to them."""
    S, d, row = (settings[name] for name in ("S", "d", "row"))
    ids = ids_of(settings["sentence"], S)
    E = drawn(d)
    X_token = embed(E, ids)  # (S, d)
    words = settings["sentence"].split()
    tokens = [words[i] if token == UNKNOWN else VOCABULARY[token] for i, token in enumerate(ids)]
    unknown = sorted({word for word, token in zip(words, ids, strict=False) if token == UNKNOWN})
    chosen = int(ids[row])
    others = [int(i) for i in np.flatnonzero(ids == chosen) if i != row]
    same = f"Positions {', '.join(map(str, others))} take the same row." if others else "No other position takes it."
    read = f"Position {row} holds «{tokens[row]}», id {chosen}: X_token[{row}] is row {chosen} of E. {same}"

    table, title = E, "E"
    if settings["gradient"]:
        table, title = embed_backward(E, ids, np.ones_like(X_token), padding_id=PAD), "gradient of E"
    used = len(set(ids.tolist()))
    panels = [
        Text(read, tone="readout"),
        Tokens("tokens and ids", tokens, ids, marked=(row,)),
        Row(
            Heatmap(
                title,
                table,
                f"{title}: {len(VOCABULARY)} rows of {d} components; {used} rows are used. "
                f"The row of position {row}, id {chosen}, is marked.",
                kind="signed",
                row_labels=[row_label(token, ids) for token in range(len(VOCABULARY))],
                row_title="id, token → positions that take it",
                column_title="component",
                mark_row=chosen,
                numbers=False,
            ),
            Heatmap(
                "X_token",
                X_token,
                f"X_token: {S} rows of {d} components, row {row} marked.",
                kind="signed",
                row_labels=[f"{i} {token}" for i, token in enumerate(tokens)],
                row_title="position, token",
                column_title="component",
                mark_row=row,
                limits=(-np.abs(E).max(), np.abs(E).max()),
                numbers=False,
            ),
            columns=2,
        ),
        ShapeTable(
            "shapes",
            [
                ("E", E.shape, "N_vocab × d, parameters: the same for every sentence"),
                ("ids", ids.shape, "S"),
                ("X_token", X_token.shape, "S × d, state: a row for each position"),
            ],
        ),
    ]
    if unknown:
        panels.insert(1, Text(f"Not in the vocabulary, read as <unknown>: {', '.join(unknown)}.", tone="warning"))
    if settings["gradient"]:
        counts = Counter(ids.tolist())
        most = max(counts.values())
        panels.append(
            Text(
                "Each position sends back a gradient of ones. A row of E collects the sum over the positions that "
                f"took it: at most {most} here. Rows not taken get 0, and so does <pad>, which is not trained."
            )
        )
    panels.append(Text(f"E is random, not trained. Known words: {', '.join(WORDS)}."))
    return Page(
        "From ids to rows of E",
        panels,
        f"S = {S}, d = {d}, N_vocab = {len(VOCABULARY)}: E {E.shape}, X_token {X_token.shape}; ids {ids.tolist()}; "
        f"{used} different rows of E are used. {read}",
        f"Tokens with their ids, heat maps of {title} with {len(VOCABULARY)} rows and of X_token with {S} rows of {d} "
        f"components. {read}",
    )


CONTROLS = [
    Slider("S", 1, LONGEST, 10),
    Choice("d", [4, 8, 16, 32, 64, 128], 8),
    TextBox("sentence", SENTENCE),
    Slider("row", 0, lambda settings: settings["S"] - 1, 3),
    Toggle("gradient", False),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=5, d=16)."""
    Explorer(page, CONTROLS, "token_embedding", **start).show()
