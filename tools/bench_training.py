"""Training step and base model in float32: median ms of NumPy and of torch, their ratio; NumPy's memory.

A training step is forward, backward and Adam in float32, with the same number
of threads on both sides. torch runs nn.Transformer, whose attention is the fused
F.scaled_dot_product_attention, and its fused Adam.
"""

import tracemalloc

import numpy as np
import torch

from helpers.corpus import Batch
from helpers.layers.encoder_decoder import new_transformer, transformer
from helpers.layers.nest import map_nest, walk
from helpers.layers.training import adam, loss_and_gradients, new_adam
from helpers.reference import encoder_decoder as reference
from helpers.reference.training import training_step
from tools.bench_layers import medians

SMALL = {"d": 64, "heads": 4, "blocks": 2, "batch": 64, "S": 14, "N_vocab": 620}
MIDDLE = {"d": 128, "heads": 4, "blocks": 2, "batch": 32, "S": 20, "N_vocab": 620}
LARGE = {"d": 512, "heads": 8, "blocks": 2, "batch": 16, "S": 32, "N_vocab": 620}
BASE = {"d": 512, "heads": 8, "blocks": 6, "batch": 1, "S": 64, "N_vocab": 37_000}  # the paper's base model
PAD = 0


def new_case(d, heads, blocks, batch, S, N_vocab):
    """Random float32 parameters and a batch without padding."""
    rng = np.random.default_rng(0)
    parameters = new_transformer(rng, N_vocab, d, 4 * d, blocks)
    ids = rng.integers(1, N_vocab, (3, batch, S))
    return map_nest(lambda array: array.astype(np.float32), parameters), Batch(*ids, None, None)


def numpy_step(parameters, batch, heads):
    """A function that does one training step and returns its gradients."""
    memory = new_adam(parameters)

    def step():
        _, gradients = loss_and_gradients(parameters, batch, heads, PAD)
        adam(parameters, gradients, memory, 1e-3)
        return gradients

    return keeping_the_last(step)


def keeping_the_last(function):
    """The function, with its last result kept until the next is there, as `train` keeps gradients.

    Their memory is then used again; otherwise it goes back to the system each time, and is fetched anew.
    """
    last = []

    def call():
        last[:] = [function()]

    return call


def torch_step(parameters, batch, heads):
    """A function that does one training step."""
    model = reference.new_transformer(parameters, heads)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, fused=True)
    return lambda: training_step(model, optimiser, batch, PAD)


def numpy_forward(parameters, batch, heads):
    """A function that does one forward pass."""
    return keeping_the_last(lambda: transformer(parameters, batch.src, batch.tgt_in, heads))


def torch_forward(parameters, batch, heads):
    """A function that does one forward pass without recording anything for a backward pass."""
    model = reference.new_transformer(parameters, heads)
    src, tgt_in = torch.from_numpy(batch.src), torch.from_numpy(batch.tgt_in)

    def forward():
        with torch.inference_mode():
            model(src, tgt_in)

    return forward


def ratio_line(title, size, in_numpy, in_torch):
    """Median milliseconds of both on the same numbers, and their ratio."""
    parameters, batch = new_case(**size)
    ours, theirs = (make(parameters, batch, size["heads"]) for make in (in_numpy, in_torch))
    numpy_ms, torch_ms = medians([ours, theirs])
    where = f"d {size['d']}, {size['blocks']} + {size['blocks']} blocks, batch {size['batch']}, S {size['S']}"
    return f"{title:16}{where:42}{numpy_ms:9.2f}{torch_ms:9.2f}   ratio {numpy_ms / torch_ms:.2f}"


def memory_line(title, size, make, times=3):
    """The most memory that our arrays take at a time, and how much of it are the parameters."""
    tracemalloc.start()
    parameters, batch = new_case(**size)
    tracemalloc.reset_peak()  # drawing the parameters in float64 is not what is to be measured
    run = make(parameters, batch, size["heads"])
    for _ in range(times):
        run()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    own = sum(array.nbytes for _, array in walk(parameters)) / 2**20
    return f"{title:16}d {size['d']}: at most {peak:.0f} MB, {own:.1f} MB of it parameters"


def lines():
    """Yield the lines of the section."""
    for size in (SMALL, MIDDLE, LARGE):
        yield ratio_line("training step", size, numpy_step, torch_step)
    yield ratio_line("forward, base", BASE, numpy_forward, torch_forward)
    for size in (SMALL, MIDDLE, LARGE):
        yield memory_line("training", size, numpy_step)
    yield memory_line("forward, base", BASE, numpy_forward)


if __name__ == "__main__":
    for line in lines():
        print(line)
