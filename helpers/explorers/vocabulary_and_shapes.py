"""Explorer of notebook 01: a typed text as tokens, ids and rows of E; what more merges cost and save."""

from functools import cache, lru_cache

import numpy as np

from helpers.corpus.story import story
from helpers.explorers.page import Curve, Heatmap, Page, Row, ShapeTable, Text, Tokens
from helpers.explorers.shell import Choice, Explorer, Slider, TextBox, Toggle
from helpers.layers.vocabulary_and_shapes import check_context, encode, first_merges, spell, train_bpe

SPECIALS = ("<pad>", "<start>", "<end>")
MOST_MERGES = 1200
STEP = 20
LONGEST_TEXT = 10_000
SHOWN_TOKENS = 120
SHOWN_ROWS, SHOWN_COLUMNS = 32, 64
LIMITS = [4, 8, 16, 32, 64, 128, 1024, 100_000]


@cache
def trained(merges):
    """The tokenizer with this many merges learned from the story."""
    if merges < MOST_MERGES:
        return first_merges(trained(MOST_MERGES), merges)
    return train_bpe(story(), merges, SPECIALS)


@cache
def table(d):
    """Random rows for every token, the same on every machine."""
    return np.random.default_rng(d).normal(size=(len(trained(MOST_MERGES)["vocab"]), d))


@lru_cache(maxsize=64)
def ids_of(text, merges, ends):
    """Ids of a typed text, on demand between <start> and <end>; half a surrogate pair becomes U+FFFD."""
    tokenizer = trained(merges)
    ids = encode(tokenizer, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    specials = tokenizer["specials"]
    return [specials["<start>"], *ids, specials["<end>"]] if ends else ids


def lengths(text, ends):
    """(numbers of merges, S of the text under each); fewer of them for a long text."""
    merges = np.arange(0, MOST_MERGES + 1, 100 if len(text) <= 1000 else 400)
    return merges, [len(ids_of(text, int(m), ends)) for m in merges]


def read_out(settings, tokenizer, ids):
    """One token in words: its id, its bytes, and which merge made it."""
    if not ids:
        return "Empty text: S = 0, X has no rows. Type something."
    position = settings["position"]
    i = ids[position]
    start = f"Position {position}: token «{spell(tokenizer, i)}» has id {i} and takes row {i} of E"
    if i in tokenizer["specials"].values():
        return f"{start}. It is a special token and stands for no text."
    for order, (pair, new) in enumerate(tokenizer["merges"].items()):
        if new == i:
            first, second = (spell(tokenizer, half) for half in pair)
            return f"{start}. Merge {order} made it from «{first}» and «{second}»."
    return f"{start}. It is one of the 256 single bytes."


def page(settings):
    """A typed text under the chosen number of merges, width and context limit."""
    d, text, merges, limit = (settings[name] for name in ("d", "text", "merges", "context limit"))
    tokenizer = trained(merges)
    ids = ids_of(text, merges, settings["start and end"])
    S, N_vocab = len(ids), len(tokenizer["vocab"])
    E = table(d)[:N_vocab]  # (N_vocab, d)
    read = read_out(settings, tokenizer, ids)
    panels = [Text(read, tone="readout")]
    try:
        X = E[check_context(ids, limit)]  # (S, d)
    except ValueError as error:
        X = None
        message = str(error)
        panels.insert(0, Text(f"No X: {message}. The model would not take this text.", tone="warning"))

    shown = [spell(tokenizer, i) for i in ids[:SHOWN_TOKENS]]
    more = f", the first {SHOWN_TOKENS} shown" if S > SHOWN_TOKENS else ""
    marked = [settings["position"]] if 0 <= settings["position"] < len(shown) else []
    panels.append(
        Tokens(f"{S} tokens and their ids{more}; equal tokens share a colour", shown, ids[:SHOWN_TOKENS], marked)
    )
    rows = [("E", E.shape, "N_vocab × d, parameters: a row for every token of the vocabulary")]
    if X is not None:
        rows += [
            ("X", X.shape, "S × d: a row for every position of this text"),
            ("scores", (S, S), "S × S: what attention will compare; N_vocab is not in it"),
        ]
    rows.append(("W_vocab", E.T.shape, "d × N_vocab, parameters of the output layer"))
    shapes = ShapeTable(f"shapes; E and W_vocab hold {2 * E.size:,} numbers", rows)
    if X is None or not S:
        panels.append(shapes)
    else:
        first = X[:SHOWN_ROWS, :SHOWN_COLUMNS]
        cut = "" if first.shape == X.shape else f", the first {len(first)} rows and {first.shape[1]} columns"
        picture = Heatmap(
            f"X: rows of E by id{cut}",
            first,
            f"{len(first)} rows of X; equal tokens have equal rows.",
            kind="signed",
            row_labels=[f"{token} {i}" for token, i in zip(shown, ids[: len(first)], strict=False)],
            row_title="token and id",
            column_title="component",
            mark_row=settings["position"] if settings["position"] < len(first) else None,
            numbers=False,
        )
        panels += [picture, shapes]

    tried, found = lengths(text, settings["start and end"])
    sizes = [2 * d * (len(tokenizer["vocab"]) + m - merges) for m in tried]
    panels.append(
        Row(
            Curve(
                "more merges: fewer tokens",
                tried,
                {"S of this text": found},
                f"S falls from {found[0]} without merges to {found[-1]} with {tried[-1]}.",
                x_title="merges",
                y_title="S",
                mark_x=merges,
            ),
            Curve(
                "more merges: more parameters",
                tried,
                {"numbers in E and W_vocab": sizes},
                f"The size of E and W_vocab together grows from {sizes[0]:,} to {sizes[-1]:,}.",
                x_title="merges",
                y_title="numbers",
                mark_x=merges,
            ),
        )
    )
    panels.append(Text("The tokenizer was trained on data/text.txt. The rows of E are random numbers, not trained."))
    answer = f"S = {S}" if X is None else f"S = {S}, X is {X.shape}"
    return Page(
        "From text to rows of E",
        panels,
        f"merges = {merges}, N_vocab = {N_vocab}, d = {d}, context limit = {limit}: {answer}, E is {E.shape}, "
        f"E and W_vocab hold {2 * E.size:,} numbers. {read if X is not None else message}",
        f"{S} tokens of the typed text with their ids, a table of shapes, and two curves over the number of merges: "
        f"S of the text falls, the size of E and W_vocab grows.",
    )


def last_position(settings):
    """The largest index of a position, 0 for an empty text."""
    return max(len(ids_of(settings["text"], settings["merges"], settings["start and end"])) - 1, 0)


CONTROLS = [
    Choice("d", [2, 4, 8, 16, 32, 64, 128, 256, 512], 16),
    TextBox("text", "The printers print at night. 没有 🙂🙂🙂", limit=LONGEST_TEXT),
    Slider("merges", 0, MOST_MERGES, 300, step=STEP),
    Toggle("start and end", False),
    Choice("context limit", LIMITS, 32),
    Slider("position", 0, last_position, 0),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(text="🐟", merges=1000)."""
    Explorer(page, CONTROLS, "vocabulary_and_shapes", **start).show()
