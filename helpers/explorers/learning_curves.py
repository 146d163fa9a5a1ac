"""Learning curves of the translation task: model sizes x data sizes at equal compute, and a sweep of heads.

``python tools/data.py learning_curves`` trains all cells with the course's own
NumPy code and writes data/learning_curves.json. A cell that the file already
holds is not trained again; delete the file to start afresh.
"""

import json
from functools import cache

import numpy as np

from helpers import corpus
from helpers.corpus.vocabulary import DATA
from helpers.layers import nest
from helpers.layers.capacity_and_data import training_flops, transformer_flops
from helpers.layers.encoder_decoder import new_transformer, transformer
from helpers.layers.inference import exact_matches, greedy
from helpers.layers.training import accuracy, cross_entropy, new_run, take, train

KEYS = ("d", "pairs", "heads", "seed")
WIDTHS, PAIRS = (8, 16, 32, 64), (200, 1_000, 5_000, 22_000)
HEADS, SWEEP_SEEDS, SWEEP_WIDTH = (1, 2, 4, 8), (0, 1), 32
BLOCKS, BATCH, WATCHED = 1, 64, 250
LONGEST = 22  # tokens that a translation may have, the end token among them
BUDGET = 2e11  # operations of one cell, forward and back
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)  # of the budget, where a cell is measured


def step_flops(d, data, vocabulary):
    """Operations of an average training step: the sequences have the mean lengths of the data."""
    lengths = float(data.src_lengths.mean()), float(data.tgt_lengths.mean())
    return BATCH * training_flops(sum(transformer_flops(len(vocabulary), d, 4 * d, BLOCKS, *lengths).values()))


def steps_within(budget, d, data, vocabulary):
    """How many training steps the budget pays for, at least one."""
    return max(1, round(budget / step_flops(d, data, vocabulary)))


def peak_rate(d):
    """The highest learning rate of a cell: 3e-3 at d = 64, more for smaller models."""
    return 3e-3 * (64 / d) ** 0.5


def new_cell(d, heads, vocabulary, seed=0):
    """A run before its first step: random float32 parameters that follow from the seed."""
    parameters = new_transformer(np.random.default_rng(seed), len(vocabulary), d, 4 * d, BLOCKS)
    return new_run(nest.map_nest(lambda array: array.astype(np.float32), parameters), heads, seed=seed)


def measure(run, data, vocabulary):
    """(loss, accuracy) of the next token, the right prefix given."""
    logits = transformer(run["parameters"], data.src, data.tgt_in, run["heads"], data.src_lengths)["logits"]
    return cross_entropy(logits, data.tgt_out, vocabulary.pad)["loss"], accuracy(logits, data.tgt_out, vocabulary.pad)


def exact_match(run, data, vocabulary):
    """Share of the pairs that are translated word for word, choosing the most probable word each time."""
    ends = vocabulary.start, vocabulary.end, LONGEST
    ids = greedy(run["parameters"], data.src, run["heads"], *ends, data.src_lengths)
    return float(exact_matches(ids, data.tgt_out, data.tgt_lengths).mean())


@cache
def load_data():
    """(vocabulary, all training pairs in a random order, WATCHED held-out pairs), the last two as large batches."""
    vocabulary = corpus.load_vocabulary()
    data = corpus.encode_batch(corpus.load_pairs("train"), vocabulary)
    held_out = corpus.encode_batch(corpus.load_pairs("validation"), vocabulary)
    order = np.random.default_rng(0).permutation(len(data.src))
    return vocabulary, take(data, order), take(held_out, slice(0, WATCHED))


def train_cell(d, pairs, heads=4, seed=0, budget=BUDGET, shares=SHARES):
    """Train one model on so many pairs until the budget is spent: (its curves, the run).

    The curves: ``steps``; ``share`` of the budget at each place of measuring;
    ``train`` and ``held_out``, each {"loss", "accuracy"}, one entry for each place.
    Of the training pairs the first WATCHED are measured.
    """
    vocabulary, everything, held_out = load_data()
    data = take(everything, slice(0, pairs))
    run, steps = new_cell(d, heads, vocabulary, seed), steps_within(budget, d, data, vocabulary)
    watched = {"train": take(data, slice(0, WATCHED)), "held_out": held_out}
    curves = {name: {"loss": [], "accuracy": []} for name in watched}

    def learning_rate(step):
        return peak_rate(d) * min(1, step / (0.1 * steps), (steps + 1 - step) / (0.6 * steps))

    for share in (0, *shares):
        train(run, data, round(share * steps), learning_rate, vocabulary.pad, BATCH)
        for name, seen in watched.items():
            loss, right = measure(run, seen, vocabulary)
            curves[name]["loss"].append(round(loss, 4))
            curves[name]["accuracy"].append(round(right, 4))
    return {"steps": steps, "share": [0, *shares]} | curves, run


def cells():
    """(d, pairs, heads, seed) of every recorded cell: the grid, the larger models first, then the sweep of heads."""
    grid = [(d, pairs, 4, 0) for d in WIDTHS[::-1] for pairs in PAIRS]
    sweep = [(SWEEP_WIDTH, PAIRS[-1], heads, seed) for seed in SWEEP_SEEDS for heads in HEADS]
    return list(dict.fromkeys(grid + sweep))


def make(folder=DATA):
    """Train every cell that learning_curves.json does not hold yet, and write the file after each."""
    path = folder / "learning_curves.json"
    done = load_curves(path) if path.exists() else {}
    vocabulary, _, held_out = load_data()
    for cell in cells():
        if cell not in done:
            d, pairs, heads, seed = cell
            curves, run = train_cell(d, pairs, heads, seed)
            done[cell] = curves | {"exact_match": round(exact_match(run, held_out, vocabulary), 4)}
            write(path, done)


def write(path, done):
    """One line for each cell, in the order of `cells`."""
    settings = {"blocks": BLOCKS, "batch": BATCH, "budget": BUDGET, "watched": WATCHED}
    lines = [json.dumps(dict(zip(KEYS, cell, strict=True)) | done[cell]) for cell in cells() if cell in done]
    text = f'{{"settings": {json.dumps(settings)}, "cells": [\n' + ",\n".join(lines) + "\n]}\n"
    path.write_text(text, encoding="utf-8")


@cache
def load_curves(path=DATA / "learning_curves.json"):
    """{(d, pairs, heads, seed): what `train_cell` returned, with the exact match} of every recorded cell."""
    stored = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {tuple(cell.pop(name) for name in KEYS): cell for cell in stored}
