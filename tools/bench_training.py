"""Times a training step and the base model's forward, NumPy beside torch, and measures memory.

A training step is forward, backward and Adam in float32, with the same number
of threads on both sides. torch runs nn.Transformer, whose attention is the fused
F.scaled_dot_product_attention, and its fused Adam.
"""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from helpers.corpus import Batch  # noqa: E402
from helpers.layers.encoder_decoder import new_transformer, transformer  # noqa: E402
from helpers.layers.nest import map_nest  # noqa: E402
from helpers.layers.training import adam, loss_and_gradients, new_adam  # noqa: E402
from helpers.reference import encoder_decoder as reference  # noqa: E402
from helpers.reference.training import training_step  # noqa: E402
from tools.bench_layers import medians  # noqa: E402

SMALL = {"d": 64, "heads": 4, "blocks": 2, "batch": 64, "S": 14, "N_vocab": 620}
MIDDLE = {"d": 128, "heads": 4, "blocks": 2, "batch": 32, "S": 20, "N_vocab": 620}
LARGE = {"d": 512, "heads": 8, "blocks": 2, "batch": 16, "S": 32, "N_vocab": 620}
BASE = {"d": 512, "heads": 8, "blocks": 6, "batch": 1, "S": 64, "N_vocab": 37_000}  # the paper's base model
PAD = 0

TITLE = "training step and base model, float32: median ms of NumPy and torch, ratio; memory of NumPy alone"


def new_case(d, heads, blocks, batch, S, N_vocab):
    """Random float32 parameters and a batch without padding."""
    rng = np.random.default_rng(0)
    parameters = new_transformer(rng, N_vocab, d, 4 * d, blocks)
    ids = rng.integers(1, N_vocab, (3, batch, S))
    return map_nest(lambda array: array.astype(np.float32), parameters), Batch(*ids, None, None)


def numpy_step(parameters, batch, heads):
    """A function that does one training step."""
    memory, last = new_adam(parameters), []

    def step():
        _, gradients = loss_and_gradients(parameters, batch, heads, PAD)
        adam(parameters, gradients, memory, 1e-3)
        last[:] = [gradients]  # kept until the next are there, as `train` does: their memory is used again

    return step


def torch_step(parameters, batch, heads):
    """A function that does one training step."""
    model = reference.new_transformer(parameters, heads)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, fused=True)
    return lambda: training_step(model, optimiser, batch, PAD)


def numpy_forward(parameters, batch, heads):
    """A function that does one forward pass."""
    return lambda: transformer(parameters, batch.src, batch.tgt_in, heads)


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


MEMORY = {"training, small": (SMALL, numpy_step, 3), "training, large": (LARGE, numpy_step, 3)}
MEMORY |= {"forward, base": (BASE, numpy_forward, 1)}


def memory_line(name):
    """Peak memory of a process that does only this, and by how much it exceeds what the parameters take."""
    size, make, times = MEMORY[name]
    before = peak_megabytes()
    parameters, batch = new_case(**size)
    run = make(parameters, batch, size["heads"])
    for _ in range(times):
        run()
    return f"{name:16}peak {peak_megabytes():6.0f} MB, of which {before:.0f} MB before there were any parameters"


def peak_megabytes():
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def lines():
    """Yield the lines of the section."""
    for size in (SMALL, MIDDLE, LARGE):
        yield ratio_line("training step", size, numpy_step, torch_step)
    yield ratio_line("forward, base", BASE, numpy_forward, torch_forward)
    for name in MEMORY:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
        yield done.stdout.strip()


if __name__ == "__main__":
    for line in [memory_line(name) for name in sys.argv[1:]] or lines():
        print(line)
