"""Explorer of notebook 05: scores, mask, weights and output of attention."""

from functools import cache

import numpy as np

from helpers import corpus
from helpers.explorers.page import Heatmap, Page, Row, ShapeTable, Text, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, Toggle, divisors
from helpers.explorers.translator import HEADS, SIZES, load_translator
from helpers.layers.attention import attention, causal_mask, no_mask, padding_mask
from helpers.layers.encoder_decoder import embed_sequence, encoder
from helpers.layers.multi_head_attention import split_heads
from helpers.layers.query_key_value import new_projections, project

LONGEST = 64
MOST_HEADS = 16
MASKS = ("none", "causal", "padding", "both")
POSITIONS = {"row_title": "receiving position", "column_title": "source position"}
RANDOM = "random numbers"
SOURCES = [RANDOM, *((f"trained, layer {layer}", layer) for layer in range(SIZES["blocks"]))]
SENTENCES = [(english, i) for i, (english, _, _) in enumerate(corpus.EXAMPLES)]


@cache
def drawn(d):
    """Random projections and a random state of the longest length, the same on every machine."""
    rng = np.random.default_rng(d)
    return new_projections(rng, d, d), rng.normal(size=(LONGEST, d))


@cache
def trained(sentence, layer):
    """Of the trained translator: a layer of its encoder, and the state that enters it while it reads a sentence."""
    words, parameters = corpus.EXAMPLES[sentence][0].split(), load_translator()
    ids = corpus.load_vocabulary().words_to_ids(words)  # (S,)
    blocks = encoder(parameters, embed_sequence(parameters["E"], ids), HEADS)["blocks"]
    return parameters["encoder"][layer]["attention"], blocks[layer]["X"], words


def own_sizes(settings):
    """The settings, with S, d and heads of the trained model where that is the source."""
    if settings.get("source", RANDOM) == RANDOM:
        return settings
    S = len(corpus.EXAMPLES[settings["sentence"]][0].split())
    return settings | {"S": S, "d": SIZES["d"], "heads": HEADS}


def entering(settings, draw):
    """Parameters, state (S, d), labels of the positions, and a sentence on where the numbers come from.

    ``draw`` draws parameters and a long state for a width d.
    """
    if settings["source"] == RANDOM:
        parameters, X = draw(settings["d"])
        labels = [str(i) for i in range(settings["S"])]
        return parameters, X[: settings["S"]], labels, "State and parameters are random numbers, not trained."
    parameters, X, words = trained(settings["sentence"], settings["source"])
    note = (
        f"Layer {settings['source']} of the trained translator's encoder, reading «{' '.join(words)}». S follows the "
        f"sentence, d = {SIZES['d']} and heads = {HEADS} are the model's: the controls S, d and heads have no effect. "
        "It was trained without a mask but for padding."
    )
    return parameters, X, words, note


def build_mask(kind, S, padding):
    """The additive mask (S, S) of one of MASKS; the last ``padding`` positions are padding."""
    M = causal_mask(S) if kind in ("causal", "both") else no_mask(S)
    if kind in ("padding", "both"):
        M = M + padding_mask(S - padding, S)
    return M


def name_position(position, labels):
    """A position's number, and its word where it has one."""
    return str(position) if labels[position] == str(position) else f"{position} «{labels[position]}»"


def read_out(settings, states, M, labels):
    """One weight in words: how the score of the chosen pair came about and what became of it."""
    head, row, column = settings["head"], settings["row"], settings["column"]
    d_k = states["Q"].shape[-1]
    dot = states["Q"][head, row] @ states["K"][head, column]
    score, weight = states["scores"][head, row, column], states["A"][head, row, column]
    strongest = int(states["A"][head, row].argmax())
    scale = f"divided by √{d_k}: {write_number(score)}" if settings["scaling"] else "not scaled"
    if M[row, column] < 0:
        mask = "the mask adds -inf, so the weight is exactly 0"
    else:
        mask = f"the mask adds 0, softmax over the row gives the weight {write_number(weight)}"

    return (
        f"Head {head}, position {name_position(row, labels)} reads position {name_position(column, labels)}: "
        f"q·k = {write_number(dot)}, {scale}; {mask}. "
        f"Row {row} reads most from position {name_position(strongest, labels)} "
        f"(weight {write_number(states['A'][head, row, strongest])})."
    )


def page(settings):
    """Attention of one state, random or of the trained translator, under the chosen mask."""
    settings = own_sizes(settings)
    S, d, heads, head = (settings[name] for name in ("S", "d", "heads", "head"))
    parameters, X, labels, note = entering(settings, drawn)
    positions = POSITIONS | {"row_labels": labels, "column_labels": labels}
    M = build_mask(settings["mask"], S, settings["padding"])  # (S, S)
    states = project(parameters, X)
    Q, K, V = (split_heads(states[name], heads) for name in "QKV")  # three of (heads, S, d_k)
    states = attention(Q, K, V, M, scaled=settings["scaling"])
    forbidden = np.isneginf(M)
    marks = {"mark_row": settings["row"], "mark_column": settings["column"]}
    A = states["A"][head]

    one_head = Row(
        Heatmap(
            f"scores of head {head}",
            states["scores"][head],
            f"Scores of head {head}, {S} receiving by {S} source positions, before the mask.",
            kind="signed",
            **positions,
            **marks,
        ),
        Heatmap(
            f"mask M: {settings['mask']}",
            M,
            f"Mask {settings['mask']}: {int(forbidden.sum())} of {S * S} pairs are forbidden.",
            kind="mask",
            **positions,
            **marks,
        ),
        Heatmap(
            f"weights A of head {head}",
            A,
            f"Attention weights of head {head}; each row sums to 1; the largest weight is {write_number(A.max())}.",
            mask=forbidden,
            titles=True,
            **positions,
            **marks,
        ),
        Heatmap(
            f"output H of head {head}",
            states["H"][head],
            f"Output of head {head}: {S} rows of {d // heads} components, each row a mix of value rows.",
            kind="signed",
            row_title="receiving position",
            column_title="component",
            row_labels=labels,
            mark_row=settings["row"],
            numbers=False,
        ),
        columns=4 if settings["source"] == RANDOM else 2,  # words need more room than numbers
    )
    all_heads = Row(
        *(
            Heatmap(f"head {i}", A, f"Attention weights of head {i}.", mask=forbidden, numbers=False, **positions)
            for i, A in enumerate(states["A"])
        ),
        columns=min(heads, 8),
        one_scale=True,
    )
    shapes = ShapeTable(
        "shapes",
        [
            ("X", X.shape, "S × d, the state that enters"),
            ("W_Q, W_K, W_V", parameters["W_Q"].shape, f"d × d, the {heads} heads' d × {d // heads} side by side"),
            ("Q, K, V", Q.shape, "heads × S × d_k"),
            ("scores, A", states["A"].shape, "heads × S × S"),
            ("M", M.shape, "S × S, the same for every head"),
            ("H", states["H"].shape, "heads × S × d_k"),
        ],
    )
    read = read_out(settings, states, M, labels)
    panels = [Text(read, tone="readout"), Text(note), one_head, shapes]
    if heads > 1:
        panels.insert(3, all_heads)
    return Page(
        "Scaled dot-product attention",
        panels,
        f"S = {S}, d = {d}, heads = {heads}, d_k = {d // heads}, mask = {settings['mask']}: "
        f"{int(forbidden.sum())} of {S * S} pairs forbidden. {read}",
        f"Heat maps of scores, mask, weights and output of head {head} for S = {S}, d = {d}, {heads} heads "
        f"and mask {settings['mask']}, with a table of shapes.",
    )


def last_position(settings):
    """The largest index of a position."""
    return own_sizes(settings)["S"] - 1


def last_head(settings):
    """The largest index of a head."""
    return own_sizes(settings)["heads"] - 1


CONTROLS = [
    Slider("S", 1, LONGEST, 8),
    Choice("d", [8, 16, 32, 64, 128, 256, 512], 64),
    Choice("heads", lambda settings: [h for h in divisors(settings["d"]) if h <= MOST_HEADS], 4),
    Choice("source", SOURCES, RANDOM),
    Choice("sentence", SENTENCES, 5),
    Choice("mask", list(MASKS), "causal"),
    Slider("padding", 0, last_position, 2),
    Toggle("scaling", True),
    Slider("head", 0, last_head, 0),
    Slider("row", 0, last_position, 5),
    Slider("column", 0, last_position, 3),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=16, source=0)."""
    Explorer(page, CONTROLS, "attention", **start).show()
