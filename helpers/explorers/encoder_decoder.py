"""Explorer of notebook 08: the three attentions of the trained translator on a sentence pair."""

from functools import lru_cache

import numpy as np

from helpers import corpus
from helpers.explorers.page import Bars, Heatmap, Page, Row, ShapeTable, Text, Tokens, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, TextBox, Toggle
from helpers.explorers.translator import HEADS, SIZES, load_card, load_translator, translate
from helpers.layers.attention import causal_mask, no_mask, padding_mask, softmax
from helpers.layers.encoder_decoder import transformer

PAIRS = [(english, i) for i, (english, _, _) in enumerate(corpus.EXAMPLES)]
MOST_PADDING = 4
SHOWN = 5  # next words


@lru_cache(64)
def sentences(pair, typed):
    """The words of both sides: of an example, or of a typed sentence and the model's own translation of it.

    Raises ValueError for a typed sentence that cannot be read; the message says what is known.
    """
    if not typed.strip():
        english, german, _ = corpus.EXAMPLES[pair]
        return english.split(), german.split()
    vocabulary = corpus.load_vocabulary()
    source = corpus.tokenize(typed, vocabulary)
    return source, translate(load_translator(), [source], vocabulary)[0]


def longest(settings, side):
    """Words of the source (side 0); words of the target and the start token (side 1)."""
    try:
        return len(sentences(settings["pair"], settings["your sentence"])[side]) + side
    except ValueError:
        return 1  # the page says what is wrong


@lru_cache(64)
def run(pair, typed, S_src, S_tgt, padding, causal, hidden):
    """Words of both sides as the model reads them, the two masks, and the states of one run."""
    vocabulary = corpus.load_vocabulary()
    source, target = sentences(pair, typed)
    words = source[:S_src] + [corpus.vocabulary.PAD] * padding
    prefix = [corpus.vocabulary.START, *target][:S_tgt]
    M_tgt = causal_mask(S_tgt) if causal else no_mask(S_tgt)  # (S_tgt, S_tgt)
    M_src = padding_mask(S_src if hidden else len(words), len(words))  # (1, S_src)
    ids = vocabulary.words_to_ids(words), vocabulary.words_to_ids(prefix)
    states = transformer(load_translator(), *ids, HEADS, S_src if hidden else None, M_tgt=M_tgt)
    return words, prefix, ids, M_src, M_tgt, states


def page(settings):
    """Masks and attention maps of one layer and head, and what the model would write next."""
    names = ("pair", "your sentence", "S_src", "S_tgt", "padding", "causal mask", "padding mask")
    words, prefix, ids, M_src, M_tgt, states = run(*(settings[name] for name in names))
    layer, head, row = settings["layer"], settings["head"], settings["row"]
    encoder, decoder = states["encoder"]["blocks"][layer], states["decoder"]["blocks"][layer]
    S_src, S_tgt = len(words), len(prefix)
    where = f"layer {layer}, head {head}"

    kinds = {  # title: (states of the attention, mask, words of the rows, words of the columns)
        "encoder self-attention": (encoder["attention"], np.tile(M_src, (S_src, 1)), words, words),
        "decoder self-attention": (decoder["self_attention"], M_tgt, prefix, prefix),
        "cross-attention": (decoder["cross_attention"], np.tile(M_src, (S_tgt, 1)), prefix, words),
    }
    masks, maps = [], []
    for title, (attention, M, rows, columns) in kinds.items():
        A, forbidden = attention["A"], np.isneginf(M)
        style = {
            "row_labels": rows,
            "column_labels": columns,
            "row_title": "receiving",
            "column_title": "read",
            "mark_row": None if rows is words else row,
        }
        size = f"{len(rows)} × {len(columns)}"
        alt = f"Mask of the {title}, {size}: {int(forbidden.sum())} of {M.size} pairs are forbidden."
        masks.append(Heatmap(f"mask, {title}", M, alt, kind="mask", **style))
        alt = f"Weights of the {title}, {where}, {size}; the largest is {write_number(A[head].max())}."
        maps.append(Heatmap(f"A, {title}", A[head], alt, mask=forbidden, titles=title == "cross-attention", **style))

    cross = decoder["cross_attention"]["A"]  # (heads, S_tgt, S_src)
    all_heads = [
        Heatmap(
            f"head {i}",
            A,
            f"Cross-attention of head {i} in layer {layer}.",
            mask=np.isneginf(kinds["cross-attention"][1]),
            numbers=False,
            mark_row=row,
            row_labels=prefix,
            column_labels=words,
            row_title="receiving",
            column_title="read",
        )
        for i, A in enumerate(cross)
    ]

    vocabulary = corpus.load_vocabulary()
    chances = softmax(states["logits"][row])  # (N_vocab,)
    best = np.argsort(-chances)[:SHOWN]
    likely = [vocabulary.words[i] for i in best]
    most = int(cross[head, row].argmax())
    read = (
        f"Position {row} of the target holds «{prefix[row]}» and has to say what comes next: «{likely[0]}» "
        f"(probability {write_number(chances[best[0]])}). In {where} its cross-attention reads most from "
        f"«{words[most]}», position {most} of the source (weight {write_number(cross[head, row, most])})."
    )
    panels = [Text(read, tone="readout")]
    if settings["padding"]:
        on_padding = cross[:, :, settings["S_src"] :].sum(axis=-1).mean()
        panels.append(Text(f"Share of this layer's cross-attention that goes to padding: {write_number(on_padding)}."))
    panels += [
        Row(Tokens("source", words, ids[0]), Tokens("target prefix", prefix, ids[1], marked=[row]), columns=2),
        Row(*masks, columns=3),
        Row(*maps, columns=3),
        Row(*all_heads, columns=4, one_scale=True),
        Row(
            Bars(
                f"next word after position {row}",
                likely,
                chances[best],
                f"The {SHOWN} most probable next words after position {row}: {', '.join(likely)}.",
                marked=[0],
                limit=1.0,
            ),
            ShapeTable(
                f"shapes, layer {layer}",
                [
                    ("X_src, C", states["C"].shape, "S_src × d"),
                    ("X_tgt, B, D", states["D"].shape, "S_tgt × d"),
                    ("Q from B", decoder["cross_attention"]["Q"].shape, "heads × S_tgt × d_k"),
                    ("K, V from C", decoder["cross_attention"]["K"].shape, "heads × S_src × d_k"),
                    ("A, encoder", encoder["attention"]["A"].shape, "heads × S_src × S_src"),
                    ("A, decoder", decoder["self_attention"]["A"].shape, "heads × S_tgt × S_tgt"),
                    ("A, cross", cross.shape, "heads × S_tgt × S_src"),
                    ("H, cross", decoder["cross_attention"]["H"].shape, "heads × S_tgt × d_k"),
                    ("logits", states["logits"].shape, "S_tgt × N_vocab"),
                ],
            ),
            columns=2,
        ),
        Text(
            f"Weights of the trained translator: d = {SIZES['d']}, {HEADS} heads, {SIZES['blocks']} and "
            f"{SIZES['blocks']} blocks. It translates {load_card()['exact_match']['test']:.1%} of the test sentences "
            "word for word."
        ),
    ]
    return Page(
        "The three attentions of the trained translator",
        panels,
        f"S_src = {S_src}, {settings['padding']} of them padding, S_tgt = {S_tgt}, {where}. {read}",
        f"Three masks and three attention maps of {where} for the source «{' '.join(words)}» and the target prefix "
        f"«{' '.join(prefix)}», the cross-attention of all heads, and the most probable next words.",
    )


CONTROLS = [
    Choice("pair", PAIRS, 1),
    TextBox("your sentence", ""),
    Slider("S_src", 1, lambda settings: longest(settings, 0), lambda settings: longest(settings, 0)),
    Slider("S_tgt", 1, lambda settings: longest(settings, 1), lambda settings: longest(settings, 1)),
    Slider("padding", 0, MOST_PADDING, 2),
    Toggle("padding mask", True),
    Toggle("causal mask", True),
    Slider("layer", 0, SIZES["blocks"] - 1, SIZES["blocks"] - 1),
    Slider("head", 0, HEADS - 1, 0),
    Slider("row", 0, lambda settings: settings["S_tgt"] - 1, 6),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(pair=3, layer=0)."""
    Explorer(page, CONTROLS, "encoder_decoder", **start).show()
