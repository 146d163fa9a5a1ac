"""The explorer of notebook 12: where a Transformer's parameters, operations and memory go, from formulas alone."""

import numpy as np

from helpers.explorers.page import Bars, Curve, Page, Row, Table, Text
from helpers.explorers.shell import Choice, Explorer, Slider, divisors
from helpers.layers.capacity_and_data import (
    cache_numbers,
    gpt2_flops,
    gpt2_parameters,
    gpt2_states,
    overtaking_length,
    training_flops,
    transformer_flops,
    transformer_parameters,
    transformer_states,
)

BOTH, ONE = "encoder-decoder", "decoder-only"
LENGTHS = [2**i for i in range(3, 18)]
FLOAT32 = 4  # bytes


def count(settings, S):
    """(parameters, operations, states, cache) for sequences of S tokens; the first three by part."""
    N_vocab, d, heads, d_ff, blocks = (settings[name] for name in ("N_vocab", "d", "heads", "d_ff", "blocks"))
    if settings["kind"] == BOTH:
        return (
            transformer_parameters(N_vocab, d, d_ff, blocks),
            transformer_flops(N_vocab, d, d_ff, blocks, S, S),
            transformer_states(N_vocab, d, heads, d_ff, blocks, S, S),
            cache_numbers(d, blocks, S, S),
        )
    return (
        gpt2_parameters(N_vocab, settings["S"], d, d_ff, blocks),
        gpt2_flops(N_vocab, d, d_ff, blocks, S),
        gpt2_states(N_vocab, d, heads, d_ff, blocks, S),
        cache_numbers(d, blocks, S),
    )


def write_count(number):
    """1234567 as 1.23 million, a small number in full."""
    for size, name in ((1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}" if number < 1000 * size else f"{number / size:,.0f} {name}"
    return f"{number:,.0f}"


def write_bytes(number):
    """A number of bytes in the unit that suits it."""
    for size, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")):
        if number >= size:
            return f"{number / size:,.0f} {name}" if number >= 100 * size else f"{number / size:.3g} {name}"
    return f"{number / 2**10:.3g} KiB"


def bars(title, by_part, unit, what):
    """A bar for each part that is not zero, with its share in per cent."""
    total = sum(by_part.values())
    shown = {part: 100 * number / total for part, number in by_part.items() if number}
    largest = max(shown, key=shown.get)
    alt = f"Shares of {what}: " + ", ".join(f"{part} {share:.0f} %" for part, share in shown.items()) + "."
    place = list(shown).index(largest)
    return Bars(f"{title}: {unit}", list(shown), list(shown.values()), alt, marked=[place], limit=100)


def page(settings):
    """Parameters, operations and memory of the chosen model."""
    S, d, heads, kind = (settings[name] for name in ("S", "d", "heads", "kind"))
    parameters, flops, states, cache = count(settings, S)
    weights, operations = sum(parameters.values()), sum(flops.values())
    memory = {
        "weights": weights,
        "gradients, Adam": 3 * weights,
        "states of one pass": sum(states.values()),
    }
    overtaking = overtaking_length(count(settings, 1)[1])
    pairs = np.array([count(settings, n)[1]["pairs of positions"] for n in LENGTHS], float)
    everything = np.array([sum(count(settings, n)[1].values()) for n in LENGTHS], float)
    what = "source and target of S tokens" if kind == BOTH else "a sequence of S tokens"
    share = flops["pairs of positions"] / operations
    position = "past" if S > overtaking else "before"
    read = (
        f"{weights:,} parameters. One pass forward takes {write_count(operations)} operations, {100 * share:.1f} % of "
        f"them for pairs of positions. S = {S:,} lies {position} the length of {overtaking:,.0f} at which they cost as "
        f"much as all else."
    )
    table = Table(
        f"{what}, float32",
        ("what", "how much"),
        [
            ("operations forward", write_count(operations)),
            ("operations to train", write_count(training_flops(operations))),
            ("weights", write_bytes(FLOAT32 * weights)),
            ("cache", write_bytes(FLOAT32 * cache)),
        ],
    )
    return Page(
        "Parameters, operations and memory",
        [
            Text(read, tone="readout"),
            Row(
                bars("parameters", parameters, write_count(weights), "the parameters"),
                bars("operations", flops, write_count(operations), "the operations of one forward pass"),
                columns=2,
            ),
            Row(
                bars("memory to train", memory, write_bytes(FLOAT32 * sum(memory.values())), "the memory to train"),
                bars("states", states, write_bytes(FLOAT32 * sum(states.values())), "the states of one pass"),
                columns=2,
            ),
            Row(
                Curve(
                    "operations against S",
                    LENGTHS,
                    {"pairs of positions": pairs, "all else": everything - pairs},
                    f"Operations of one forward pass for S from {LENGTHS[0]} to {LENGTHS[-1]}: pairs of positions grow "
                    f"with the square of S and meet all else near S = {overtaking:,.0f}.",
                    x_title="S",
                    y_title="operations",
                    log_x=True,
                    log_y=True,
                    mark_x=S,
                ),
                table,
                columns=2,
            ),
            Text(
                "Bars show per cent. Only matrix products count as operations. Memory to train: the weights, their "
                "gradients, Adam's m and v, and the states of one forward pass. The cache is what generating keeps."
            ),
        ],
        f"{kind}, S = {S}, d = {d}, heads = {heads}, blocks = {settings['blocks']}, d_ff = {settings['d_ff']}, "
        f"N_vocab = {settings['N_vocab']}: {read}",
        f"Bars of where the parameters, operations and memory of a model of kind {kind} go, and the operations "
        f"against S.",
    )


CONTROLS = [
    Choice("S", LENGTHS[:12], 64),
    Choice("d", [16, 32, 64, 128, 256, 512, 768, 1024, 2048], 512),
    Choice("heads", lambda settings: [h for h in divisors(settings["d"]) if h <= 32], 8),
    Choice("kind", [BOTH, ONE], BOTH),
    Slider("blocks", 1, 24, 6),
    Choice("d_ff", [64, 128, 256, 512, 1024, 2048, 3072, 4096, 8192], 2048),
    Choice("N_vocab", [620, 5_000, 37_000, 50_257], 37_000),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(S=1024, kind="decoder-only")."""
    Explorer(page, CONTROLS, "capacity_and_data", **start).show()
