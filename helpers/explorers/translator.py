"""The translator that ships with the course: its settings, its training, its weights.

``python tools/data.py translator`` trains it and writes three files in data/:
translator.npz (the weights), translator_training.npz (how they came about)
and translator.json (settings and measured accuracy).
"""

import json
import math
from functools import cache

import numpy as np

from helpers import corpus
from helpers.corpus.vocabulary import DATA
from helpers.layers import nest
from helpers.layers.encoder_decoder import new_transformer, transformer
from helpers.layers.inference import exact_matches, greedy
from helpers.layers.training import accuracy, cross_entropy, new_run, take, train

HEADS, NORM = 4, "post"
SIZES = {"d": 64, "d_ff": 256, "blocks": 2, "norm": NORM}
STEPS, WARM_UP, PEAK = 2_000, 150, 3e-3
SMOOTHING = 0.1
SEED = 0
LONGEST = 22  # tokens that a translation may have, the end token among them
SNAPSHOTS = (50, 100, 200, 300, 500, 1_000)


def learning_rate(step):
    """Up in a straight line to PEAK, level, and down to zero over the last 60 percent."""
    return PEAK * min(1, step / WARM_UP, (STEPS - step) / (0.6 * STEPS))


def new_translator_run(vocabulary):
    """The run before its first step: random float32 parameters that follow from SEED."""
    parameters = new_transformer(np.random.default_rng(SEED), len(vocabulary), **SIZES)
    return new_run(nest.map_nest(lambda array: array.astype(np.float32), parameters), HEADS, NORM, SEED)


def translate(parameters, sources, vocabulary):
    """Greedy translations of a list of English word lists, each a list of German words."""
    batch = corpus.encode_batch([(words, [corpus.vocabulary.END]) for words in sources], vocabulary)
    ids = greedy(parameters, batch.src, HEADS, vocabulary.start, vocabulary.end, LONGEST, batch.src_lengths, NORM)
    return [vocabulary.sentence(row) for row in ids]


def exact_match(parameters, data, vocabulary, size=250):
    """Share of the pairs of ``data``, a large batch, that are translated word for word."""
    right = 0
    for i in range(0, len(data.src), size):
        batch = take(data, slice(i, i + size))
        ids = greedy(parameters, batch.src, HEADS, vocabulary.start, vocabulary.end, LONGEST, batch.src_lengths, NORM)
        right += int(exact_matches(ids, batch.tgt_out, batch.tgt_lengths).sum())
    return right / len(data.src)


def measure(parameters, data, vocabulary):
    """{"loss", "accuracy", "exact_match"} on pairs that were not trained on: the first two with the right prefix."""
    logits = transformer(parameters, data.src, data.tgt_in, HEADS, data.src_lengths, NORM)["logits"]
    return {
        "loss": cross_entropy(logits, data.tgt_out, vocabulary.pad)["loss"],
        "accuracy": accuracy(logits, data.tgt_out, vocabulary.pad),
        "exact_match": exact_match(parameters, data, vocabulary),
    }


def make(folder=DATA, steps=STEPS, every=50):
    """Train the translator and write its three files."""
    vocabulary = corpus.load_vocabulary()
    data = {split: corpus.encode_batch(corpus.load_pairs(split), vocabulary) for split in corpus.SPLITS}
    watched = take(data["validation"], slice(0, 250))
    run, curve, snapshots = new_translator_run(vocabulary), [], {}
    for step in range(0, steps + 1, every):
        train(run, data["train"], step, learning_rate, vocabulary.pad, smoothing=SMOOTHING, by_length=True)
        curve.append({"step": step} | measure(run["parameters"], watched, vocabulary))
        if step in SNAPSHOTS:
            snapshots[str(step)] = to_bytes(run["parameters"])
    weights = nest.map_nest(lambda array: array.astype(np.float16), run["parameters"])
    nest.save(folder / "translator.npz", weights)
    curves = {name: np.array([point[name] for point in curve], np.float32) for name in curve[0]}
    losses = np.array(run["losses"], np.float32)
    nest.save(folder / "translator_training.npz", {"losses": losses, "validation": curves, "snapshots": snapshots})
    rounded = nest.map_nest(lambda array: array.astype(np.float32), weights)
    found = {split: exact_match(rounded, data[split], vocabulary) for split in corpus.SPLITS if split != "train"}
    settings = SIZES | {"heads": HEADS, "steps": steps, "smoothing": SMOOTHING, "seed": SEED}
    settings["parameters"] = nest.count(weights)
    text = json.dumps({"settings": settings, "exact_match": found}, indent=2)
    (folder / "translator.json").write_text(text + "\n", encoding="utf-8")


def to_bytes(parameters):
    """The parameters in a quarter of the room: for each array whole numbers from -127 to 127 and what one is worth.

    {"levels": all numbers in a row, int8, "scales": one for each array, float32}.
    """
    arrays = [array for _, array in nest.walk(parameters)]
    scales = [max(float(np.abs(array).max()), 1e-12) / 127 for array in arrays]
    levels = [np.round(array / scale).astype(np.int8).ravel() for array, scale in zip(arrays, scales, strict=True)]
    return {"levels": np.concatenate(levels), "scales": np.array(scales, np.float32)}


def from_bytes(stored, like):
    """The parameters that `to_bytes` stored, to within half a level; ``like`` has their names and shapes."""
    shapes = {path: array.shape for path, array in nest.walk(like)}
    parts = np.split(stored["levels"], np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1])
    scaled = [part * scale for part, scale in zip(parts, stored["scales"], strict=True)]
    return nest.unflatten({path: part.reshape(shapes[path]) for path, part in zip(shapes, scaled, strict=True)})


@cache
def load_translator():
    """The trained parameters, float32; one copy for everyone, so leave it unchanged."""
    return nest.map_nest(lambda array: array.astype(np.float32), nest.load(DATA / "translator.npz"))


@cache
def load_card():
    """{"settings", "exact_match": {split: share}} of the trained weights, as measured when they were made."""
    return json.loads((DATA / "translator.json").read_text(encoding="utf-8"))


@cache
def load_training():
    """How the weights came about: losses, (steps,); validation, curves by name; snapshots, parameters by step.

    The first snapshot, of step 0, is drawn from the seed, the last is the translator.
    """
    stored = nest.load(DATA / "translator_training.npz")
    start = new_translator_run(corpus.load_vocabulary())["parameters"]
    snapshots = {0: start} | {int(step): from_bytes(parts, start) for step, parts in stored["snapshots"].items()}
    snapshots[load_card()["settings"]["steps"]] = load_translator()
    return stored | {"snapshots": snapshots}
