"""Explorer of notebook 10: one step of a translation, the choice made, the cache, and the beam's tree."""

from functools import lru_cache, partial

import numpy as np

from helpers import corpus
from helpers.explorers.page import Arrow, Bars, Box, Diagram, Page, Row, ShapeTable, Table, Text, Tokens, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, Stepper, TextBox
from helpers.explorers.translator import HEADS, LONGEST, NORM, SIZES, load_translator
from helpers.layers.attention import softmax
from helpers.layers.inference import (
    beam_search,
    decode,
    draw,
    generate,
    length_penalty,
    most_probable,
    new_cache,
    temper,
    top_k,
    top_p,
)

LONG = "I open the small window while the king gives the man the small key ."  # longer than any in the training split
SENTENCES = (*(english for english, _, _ in corpus.EXAMPLES), LONG)
METHODS = ("greedy", "sampling", "beam search")
SHOWN = 10  # bars
ROUNDS, MOST_BEAMS = 6, 6  # of the tree
COLUMN, LINE, WIDTH, HEIGHT = 132, 46, 104, 36  # its boxes, in pixels
SETTINGS = ("sentence", "your sentence", "method", "temperature", "k", "p", "draw", "beams")


@lru_cache(64)
def read(sentence, typed):
    """The words of the source; ValueError for a typed sentence that cannot be read."""
    return corpus.tokenize(typed, corpus.load_vocabulary()) if typed.strip() else SENTENCES[sentence].split()


@lru_cache(64)
def translate(sentence, typed, method, temperature, k, p, seed, beams):
    """A whole translation: (words of the source, steps, states of the beam search or None).

    A step is {"prefix": ids, "Pi": probabilities of the next token, "used": what was drawn from, "token": id}; in
    beam search prefix and token are those of the likeliest prefix that has not ended.
    """
    vocabulary, parameters = corpus.load_vocabulary(), load_translator()
    source, steps = read(sentence, typed), []
    src, start = vocabulary.words_to_ids(source)[None], np.full((1, 1), vocabulary.start)  # (1, S_src), (1, 1)
    cache = new_cache(parameters, src, HEADS, LONGEST, norm=NORM)
    step = partial(decode, parameters, heads=HEADS, norm=NORM)
    rng = np.random.default_rng(seed)

    def choose(logits):
        Pi = softmax(logits)  # (1, N_vocab)
        if method == "greedy":
            used, token = Pi, most_probable(logits)
        else:
            used = top_p(top_k(temper(logits, temperature), k), p)
            token = draw(used, rng)
        steps.append({"Pi": Pi[0], "used": used[0], "token": int(token[0])})
        return token

    def watched(cache, ids):
        logits = step(cache, ids)  # (rows, 1, N_vocab)
        steps.append({"Pi": softmax(logits[0, -1])})
        return logits

    if method != "beam search":
        prefix = [vocabulary.start, *generate(step, cache, start, choose, vocabulary.end, LONGEST)[0].tolist()]
        for length, one in enumerate(steps, start=1):
            one["prefix"] = prefix[:length]
        return source, steps, None
    states = beam_search(watched, cache, start, beams, vocabulary.end, LONGEST)
    alive = [[vocabulary.start]]
    for one, kept in zip(steps, grown(states, vocabulary), strict=True):
        one["prefix"], one["token"] = alive[0], kept[0][0][-1]
        alive = [prefix for prefix, _, _ in kept if prefix[-1] != vocabulary.end]
    return source, steps, states


def grown(states, vocabulary):
    """The rounds of a beam search with whole prefixes: lists of (prefix, place of the one before, log-probability)."""
    rounds, alive, places = [], [[vocabulary.start]], [0]
    for kept in states["rounds"]:
        rounds.append([(alive[row] + [token], places[row], total) for row, token, total in kept])
        places = [i for i, (prefix, _, _) in enumerate(rounds[-1]) if prefix[-1] != vocabulary.end]
        alive = [rounds[-1][i][0] for i in places]
    return rounds


def tree(rounds, current, best, vocabulary):
    """The last rounds up to the current one as a Diagram; the way to the translation chosen in the end is marked."""
    first = max(0, current - ROUNDS + 1)
    shown = rounds[first : current + 1]
    words = vocabulary.words
    columns = [[Box(0, 0, WIDTH, HEIGHT, words[vocabulary.start])]] if first == 0 else [[]]
    arrows = []
    for x, kept in enumerate(shown, start=1 if first == 0 else 0):
        column = []
        for y, (prefix, before, total) in enumerate(kept):
            on_the_way = prefix[1:] == best[: len(prefix) - 1]
            tone = "marked" if on_the_way else "parameter" if prefix[-1] == vocabulary.end else "plain"
            word = words[prefix[-1]]
            label = word if len(word) <= 12 else word[:11] + "…"
            column.append(Box(x * COLUMN, y * LINE, WIDTH, HEIGHT, label, write_number(total), tone))
            if x and columns[-1]:
                arrows.append(Arrow((columns[-1][before].right, column[-1].left), marked=on_the_way))
        columns.append(column)
    boxes = [box for column in columns for box in column]
    width, height = (max(getattr(box, corner)[axis] for box in boxes) for axis, corner in ((0, "right"), (1, "bottom")))
    return Diagram(
        "the beam's tree: tokens with the log-probability of the prefix that they end",
        width,
        height,
        boxes,
        arrows,
        f"Tree of the beam, steps {first} to {current}, {len(shown[-1])} prefixes kept in the last. Marked: the way to "
        "the translation that is chosen in the end.",
    )


def bars(title, Pi, token, vocabulary, alt):
    best = np.argsort(-Pi, kind="stable")[:SHOWN]
    if token not in best:
        best[-1] = token  # what was drawn is shown, however improbable it was
    marked = np.flatnonzero(best == token)
    return Bars(title, [vocabulary.words[i] for i in best], Pi[best], alt, marked, limit=1.0)


def score_of(total, length):
    return write_number(total / length_penalty(length))


def page(settings):
    """One step of a translation by the trained translator."""
    vocabulary, method, current = corpus.load_vocabulary(), settings["method"], settings["step"]
    source, steps, states = translate(*(settings[name] for name in SETTINGS))
    step = steps[current]
    prefix, token, words = step["prefix"], step["token"], vocabulary.words
    S, d_k = len(prefix), SIZES["d"] // HEADS

    if states is None:
        written = [one["token"] for one in steps]
        total = sum(float(np.log(max(one["Pi"][one["token"]], 1e-300))) for one in steps)
        rows = 1
    else:
        written, total = states["found"][0]["ids"].tolist(), states["found"][0]["log_probability"]
        rounds = grown(states, vocabulary)
        rows = 1 if current == 0 else sum(prefix[-1] != vocabulary.end for prefix, _, _ in rounds[current - 1])
    how_it_ends = "ended by itself" if vocabulary.end in written else f"cut off at {LONGEST} tokens"
    result = corpus.join_words(vocabulary.sentence(written)) or "(nothing)"

    likeliest = int(step["Pi"].argmax())
    text = (
        f"Step {current} of 0 to {len(steps) - 1}: after «{words[prefix[-1]]}», position {S - 1}, "
        f"the likeliest token is «{words[likeliest]}» ({write_number(step['Pi'][likeliest])})"
    )
    if states is None:
        chosen = (
            "it is taken" if token == likeliest else f"«{words[token]}» ({write_number(step['Pi'][token])}) is taken"
        )
        text += f"; {chosen}."
    else:
        text += f". Of all continuations of {rows} prefix{'es' if rows > 1 else ''} {len(rounds[current])} are kept."
    ending = f"Translation: {result} It {how_it_ends}; log-probability {write_number(total)}."

    alt = f"The {SHOWN} likeliest tokens after {S} tokens; the longest bar is «{words[likeliest]}»."
    choices = [bars("last row of Π", step["Pi"], token, vocabulary, alt)]
    if method == "sampling":
        left = int((step["used"] > 0).sum())
        title = f"after temperature, top-k, top-p: {left} token{'s' if left > 1 else ''}"
        alt = f"What was drawn from: {left} of {len(words)} tokens are left; «{words[token]}» was drawn."
        choices.append(bars(title, step["used"], token, vocabulary, alt))
    if states is not None:
        kept = [
            (words[one[-1]], words[one[-2]], write_number(total), score_of(total, len(one) - 1))
            for one, _, total in rounds[current]
        ]
        choices.append(Table("prefixes kept", ["token", "after", "log-probability", "score"], kept))

    source_shape = (1, HEADS, len(source), d_k)
    shapes = ShapeTable(
        "the cache after this step, in each of the decoder's blocks",
        [
            ("K, V of itself", (rows, HEADS, S, d_k), "prefixes × heads × tokens so far × d_k: one longer each step"),
            ("K, V of the source", source_shape, "1 × heads × S_src × d_k: computed once, shared by all prefixes"),
            ("new rows of Q, K, V", (rows, HEADS, 1, d_k), "all that is computed in this step"),
            ("Π", (rows, len(words)), "prefixes × N_vocab: the last row of each"),
        ],
    )
    panels = [
        Text(f"{text} {ending}", tone="readout"),
        Row(
            Tokens("source", source, vocabulary.words_to_ids(source)),
            Tokens("likeliest prefix" if states else "prefix", [words[i] for i in prefix], prefix, marked=[S - 1]),
            columns=2,
        ),
        Row(*choices, columns=2),
    ]
    if states is not None:
        panels.append(tree(rounds, current, written, vocabulary))
    fixed = f"d = {SIZES['d']}, heads = {HEADS}, {SIZES['blocks']} blocks and N_vocab = {len(words)}"
    panels += [
        shapes,
        Text(f"{fixed} belong to the trained weights and cannot be changed here; S grows with the step, now S = {S}."),
    ]
    return Page(
        f"One step of a translation: {method}",
        panels,
        f"{fixed}. {text} {ending}",
        f"Step {current} of translating «{' '.join(source)}» by {method}: the prefix, bars of the next token's "
        "probabilities, and the shapes of the cache.",
    )


def last_step(settings):
    try:
        return len(translate(*(settings[name] for name in SETTINGS))[1]) - 1
    except ValueError:
        return 0  # the page says what is wrong with the sentence


CONTROLS = [
    Choice("sentence", [(sentence, i) for i, sentence in enumerate(SENTENCES)], 0),
    TextBox("your sentence", ""),
    Choice("method", list(METHODS), "beam search"),
    Slider("temperature", 0.1, 2.0, 1.0, step=0.1),
    Slider("k", 1, 50, 50),
    Slider("p", 0.05, 1.0, 1.0, step=0.05),
    Slider("draw", 0, 20, 0),
    Slider("beams", 1, MOST_BEAMS, 4),
    Stepper("step", 0, last_step, 0),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(method="sampling", k=5)."""
    Explorer(page, CONTROLS, "inference", **start).show()
