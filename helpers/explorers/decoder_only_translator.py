"""The decoder-only translator that ships with the course: layout, training, weights.

A pair is laid out as one sequence: instruction, source, the start token, target.
``python tools/data.py decoder_only`` trains the model and writes decoder_only.npz
(the weights) and decoder_only.json (settings and measured accuracy) in data/.
"""

import json
from functools import cache
from typing import NamedTuple

import numpy as np

from helpers import corpus
from helpers.corpus.vocabulary import DATA, Vocabulary, padded
from helpers.layers import nest
from helpers.layers.decoder_only import complete, gpt2, gpt2_backward, new_gpt2
from helpers.layers.inference import exact_matches
from helpers.layers.training import adam, cross_entropy, cross_entropy_backward, new_adam

HEADS = 4
SIZES = {"positions": 48, "d": 64, "d_ff": 256, "blocks": 4}
STEPS, WARM_UP, PEAK, BATCH = 2_500, 150, 3e-3, 64
SEED = 0
LONGEST = 22  # tokens that a translation may have, the end token among them

# an instruction is the last two to five words of these; the words that the corpus lacks get ids of their own
TASKS = {
    "translate": ("please", "translate", "into", "German", ":"),
    "repeat": ("please", "repeat", "in", "English", ":"),
}
NEW_WORDS = ("please", "translate", "repeat", "German", "English", ":")
SHORTEST, FULL = 2, 5
REPEATED = 0.2  # share of the training sequences that ask to repeat the source


class Sequences(NamedTuple):
    """Pairs as single sequences, padded at the end.

    ``answers`` holds at each position the id that should follow, and padding
    where nobody is asked: in the instruction and in the source.
    """

    ids: np.ndarray  # (B, S)
    answers: np.ndarray  # (B, S)
    prompt_lengths: np.ndarray  # (B,), instruction, source and start token


@cache
def load_vocabulary():
    """The corpus's vocabulary with the words of the instructions after it."""
    known = corpus.load_vocabulary()
    return Vocabulary(known.words + NEW_WORDS, known.source_words, known.target_words)


def instruction(task="translate", length=FULL):
    """The last ``length`` words of a task's instruction."""
    return TASKS[task][-length:]


def lay_out(rows, vocabulary):
    """`Sequences` of (instruction, source, target), each a list of words."""
    ids, answers, prompt_lengths = [], [], []
    for words, source, target in rows:
        prompt = vocabulary.look_up([*words, *source])
        written = vocabulary.look_up(target)
        ids.append([*prompt, vocabulary.start, *written])
        answers.append([vocabulary.pad] * len(prompt) + [*written, vocabulary.end])
        prompt_lengths.append(len(prompt) + 1)
    return Sequences(padded(ids, vocabulary.pad), padded(answers, vocabulary.pad), np.array(prompt_lengths))


def learning_rate(step):
    """Up in a straight line to PEAK, level, and down to zero over the last 60 percent."""
    return PEAK * min(1, step / WARM_UP, (STEPS - step) / (0.6 * STEPS))


def new_model(vocabulary):
    """The model before its first step: random float32 parameters that follow from SEED."""
    parameters = new_gpt2(np.random.default_rng(SEED), len(vocabulary), **SIZES)
    return nest.map_nest(lambda array: array.astype(np.float32), parameters)


def draw_batch(pairs, step, vocabulary):
    """`Sequences` of random pairs, with tasks and lengths of the instruction drawn too; the step decides which."""
    rng = np.random.default_rng([SEED, step])
    rows = []
    for place in rng.integers(len(pairs), size=BATCH):
        source, target = pairs[place]
        task = "repeat" if rng.random() < REPEATED else "translate"
        words = instruction(task, rng.integers(SHORTEST, FULL + 1))
        rows.append((words, source, source if task == "repeat" else target))
    return lay_out(rows, vocabulary)


def train(parameters, pairs, vocabulary, steps=STEPS, report=None):
    """Train in place with Adam; the loss counts the positions of the target alone."""
    memory = new_adam(parameters)
    for step in range(1, steps + 1):
        batch = draw_batch(pairs, step, vocabulary)
        states = gpt2(parameters, batch.ids, HEADS)
        ends = cross_entropy(states["logits"], batch.answers, vocabulary.pad)
        gradients = gpt2_backward(parameters, states, cross_entropy_backward(ends))
        adam(parameters, gradients, memory, learning_rate(step))
        if report is not None:
            report(step, ends["loss"])


def follow(parameters, rows, vocabulary):
    """What the model writes for a list of (instruction, source): a list of word lists."""
    batch = lay_out([(*row, []) for row in rows], vocabulary)
    ids = complete(parameters, batch.ids, batch.prompt_lengths, HEADS, vocabulary.end, LONGEST)
    return [vocabulary.sentence(row) for row in ids]


def exact_match(parameters, pairs, vocabulary, size=250):
    """Share of the pairs that are translated word for word."""
    right = 0
    for i in range(0, len(pairs), size):
        some = pairs[i : i + size]
        batch = lay_out([(instruction(), source, []) for source, _ in some], vocabulary)
        wanted = corpus.encode_batch(some, vocabulary)
        ids = complete(parameters, batch.ids, batch.prompt_lengths, HEADS, vocabulary.end, LONGEST)
        right += int(exact_matches(ids, wanted.tgt_out, wanted.tgt_lengths).sum())
    return right / len(pairs)


def make(folder=DATA, steps=STEPS, report=None):
    """Train the model and write its two files."""
    vocabulary, parameters = load_vocabulary(), new_model(load_vocabulary())
    train(parameters, corpus.load_pairs("train"), vocabulary, steps, report)
    weights = nest.map_nest(lambda array: array.astype(np.float16), parameters)
    nest.save(folder / "decoder_only.npz", weights)
    rounded = nest.map_nest(lambda array: array.astype(np.float32), weights)
    pairs = {split: corpus.load_pairs(split) for split in corpus.SPLITS if split != "train"}
    found = {split: exact_match(rounded, pairs[split], vocabulary) for split in pairs}
    settings = SIZES | {"heads": HEADS, "steps": steps, "seed": SEED, "parameters": nest.count(weights)}
    text = json.dumps({"settings": settings, "exact_match": found}, indent=2)
    (folder / "decoder_only.json").write_text(text + "\n", encoding="utf-8")


@cache
def load_model(trained=True):
    """The parameters, float32, trained or as they were before the first step; one copy for everyone."""
    if not trained:
        return new_model(load_vocabulary())
    return nest.map_nest(lambda array: array.astype(np.float32), nest.load(DATA / "decoder_only.npz"))


@cache
def load_card():
    """{"settings", "exact_match": {split: share}} of the trained weights, as measured when they were made."""
    return json.loads((DATA / "decoder_only.json").read_text(encoding="utf-8"))
