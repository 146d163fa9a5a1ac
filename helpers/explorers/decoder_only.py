"""Explorer of notebook 09: one sequence of three spans, trained and untrained, beside cross-attention."""

from functools import cache

import numpy as np

from helpers import corpus
from helpers.explorers import decoder_only_translator as shipped
from helpers.explorers import translator
from helpers.explorers.page import Bars, Heatmap, Page, Row, Text, Tokens, write_number
from helpers.explorers.shell import Choice, Explorer, Slider
from helpers.layers.attention import causal_mask, softmax
from helpers.layers.decoder_only import gpt2
from helpers.layers.encoder_decoder import transformer

POSITIONS = {"row_title": "receiving position", "column_title": "source position"}
SENTENCES = [(english, place) for place, (english, _, _) in enumerate(corpus.EXAMPLES)]
SHOWN = 6  # next tokens in a chart


def sides(settings):
    """The words of the chosen sentence and of its translation."""
    english, german, _ = corpus.EXAMPLES[settings["sentence"]]
    return english.split(), german.split()


def cut(settings):
    """Source and target words up to the chosen lengths."""
    source, target = sides(settings)
    return source[: settings["source"]], target[: settings["target"]]


@cache
def run(sentence, instruction, source, target, trained):
    """(ids, states) of the decoder-only model on one sequence."""
    words = cut({"sentence": sentence, "source": source, "target": target})
    batch = shipped.lay_out([(shipped.instruction(length=instruction), *words)], shipped.load_vocabulary())
    return batch.ids[0], gpt2(shipped.load_model(trained), batch.ids[0], shipped.HEADS)


@cache
def run_bridged(sentence, source, target):
    """States of the encoder-decoder on the same pair."""
    vocabulary = corpus.load_vocabulary()
    source, target = cut({"sentence": sentence, "source": source, "target": target})
    tgt_in = vocabulary.words_to_ids(["<start>", *target])
    parameters = translator.load_translator()
    return transformer(parameters, vocabulary.words_to_ids(source), tgt_in, translator.HEADS, norm=translator.NORM)


def next_tokens(title, states, row, words, vocabulary):
    """Bars of the most probable tokens after a row."""
    Pi = softmax(states["logits"][row].astype(float))  # (N_vocab,)
    best = np.argsort(-Pi, kind="stable")[:SHOWN]
    names = vocabulary.ids_to_words(best)
    alt = f"Most probable tokens after «{words[row]}»: " + ", ".join(
        f"{name} {Pi[i]:.0%}" for name, i in zip(names, best, strict=True)
    )
    return Bars(title, names, Pi[best], alt + ".", limit=1.0)


def budget(weights, spans):
    """What one row's weights spend on each span, in words."""
    return ", ".join(f"{name} {weights[span].sum():.2f}" for name, span in spans.items())


def page(settings):
    """Mask and weights over the three spans, what comes next, and the same pair in an encoder-decoder."""
    lengths = [settings[name] for name in ("sentence", "instruction", "source", "target")]
    layer, head, row = settings["layer"], settings["head"], settings["row"]
    vocabulary = shipped.load_vocabulary()
    (ids, states), (_, blank) = (run(*lengths, trained) for trained in (True, False))
    words = vocabulary.ids_to_words(ids)
    S, start = len(ids), lengths[1] + lengths[2]
    spans = {"instruction": slice(0, lengths[1]), "source": slice(lengths[1], start), "target": slice(start, S)}
    M = causal_mask(S)  # (S, S)
    A, A_blank = (model["blocks"][layer]["attention"]["A"][head] for model in (states, blank))  # (S, S) each
    bridged = run_bridged(settings["sentence"], *lengths[2:])
    A_cross = bridged["decoder"]["blocks"][settings["cross layer"]]["cross_attention"]["A"][head]  # (S_tgt, S_src)
    span = next(name for name, where in spans.items() if where.start <= row < where.stop)
    strongest = int(A[row].argmax())

    labels = {"row_labels": words, "column_labels": words}
    whole = {"mask": np.isneginf(M), "mark_row": row, "numbers": False, **labels, **POSITIONS}
    where = f"layer {layer}, head {head}"
    ends = f"instruction to {lengths[1] - 1}, source to {start - 1}, target to {S - 1}"
    maps = Row(
        Heatmap(
            "mask M",
            M,
            f"Causal mask of {S} positions: {ends}. Target rows may read every source column.",
            kind="mask",
            mark_row=row,
            **labels,
            **POSITIONS,
        ),
        Heatmap("weights A, trained", A, f"Trained weights of {where} over the three spans.", titles=True, **whole),
        Heatmap("weights A, untrained", A_blank, f"Untrained weights of {where}: no pattern of words.", **whole),
        columns=3,
    )
    rows = spans["target"]
    part = {
        "row_labels": words[rows],
        "column_labels": words[spans["source"]],
        "mark_row": row - start if span == "target" else None,
        "limits": (0, 1),
        **POSITIONS,
    }
    across = Row(
        Heatmap(
            "self-attention: target rows, source columns",
            A[rows, spans["source"]],
            "The part of the trained weights in which target rows read source columns; the rest is spent elsewhere.",
            **part,
        ),
        Heatmap(
            f"cross-attention of layer {settings['cross layer']}",
            A_cross,
            "The encoder-decoder's cross-attention on the same pair; each row spends its whole budget here.",
            **part,
        ),
        columns=2,
    )
    read = (
        f"Row {row}, «{words[row]}», is a row of the {span}. Trained, {where}, it reads most from position "
        f"{strongest}, «{words[strongest]}» (weight {write_number(A[row, strongest])}); its budget: "
        f"{budget(A[row], spans)}. Untrained: {budget(A_blank[row], spans)}."
    )
    open_to_target = int((M[spans["target"], spans["source"]] == 0).sum())
    open_to_source = int((M[spans["source"], spans["target"]] == 0).sum())
    return Page(
        "One sequence, three spans",
        [
            Tokens("instruction, source, start token, target", words, ids, marked=[row]),
            Text(read, tone="readout"),
            maps,
            Row(
                next_tokens("next token, trained", states, row, words, vocabulary),
                next_tokens("next token, untrained", blank, row, words, vocabulary),
                Bars(
                    "budget of this row, trained",
                    list(spans),
                    [A[row, columns].sum() for columns in spans.values()],
                    f"Shares of the weights of row {row}: {budget(A[row], spans)}.",
                    marked=[list(spans).index(span)],
                    limit=1.0,
                ),
                columns=3,
            ),
            across,
            Text(
                "Trained: the decoder-only translator in data/. Untrained: the same model before its first step, "
                "random numbers. Cross-attention: the encoder–decoder in data/, trained on the same pairs."
            ),
        ],
        f"instruction {lengths[1]}, source {lengths[2]}, target {S - start} with its start token: S = {S}; target rows "
        f"read {open_to_target} of {(S - start) * lengths[2]} source pairs, source rows read "
        f"{open_to_source} target pairs. {read}",
        f"Causal mask and attention weights of {where} over instruction, source and target, trained and untrained; "
        f"below, target rows against source columns beside the cross-attention of an encoder-decoder.",
    )


CONTROLS = [
    Choice("sentence", SENTENCES, 0),
    Slider("instruction", shipped.SHORTEST, shipped.FULL, shipped.FULL),
    Slider("source", 1, lambda settings: len(sides(settings)[0]), lambda settings: len(sides(settings)[0])),
    Slider("target", 0, lambda settings: len(sides(settings)[1]), lambda settings: len(sides(settings)[1])),
    Slider("layer", 0, shipped.SIZES["blocks"] - 1, 1),
    Slider("head", 0, shipped.HEADS - 1, 0),
    Slider("cross layer", 0, translator.SIZES["blocks"] - 1, 1),
    Slider(
        "row",
        0,
        lambda settings: settings["instruction"] + settings["source"] + settings["target"],
        lambda settings: settings["instruction"] + settings["source"] + min(3, settings["target"]),
    ),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(target=0, layer=3)."""
    Explorer(page, CONTROLS, "decoder_only", **start).show()
