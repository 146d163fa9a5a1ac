"""Attention, multi-head attention and the encoder block, NumPy beside torch.

Forward and backward in float32, with the same number of threads. Each library
runs in turns of its own, because the idle threads of the one slow the other
down for a moment; the first third of each turn is not counted.
"""

import os
import time
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F

from helpers.layers.attention import attention, attention_backward
from helpers.layers.multi_head_attention import multi_head_attention, multi_head_attention_backward
from helpers.layers.nest import map_nest
from helpers.layers.residual_and_mlp import encoder_block, encoder_block_backward, new_encoder_block
from helpers.reference import leaf
from helpers.reference import multi_head_attention as torch_attention
from helpers.reference import residual_and_mlp as torch_block

SIZES = [{"d": 64, "S": 16, "batch": 64, "heads": 4}, {"d": 512, "S": 64, "batch": 8, "heads": 8}]


def medians(functions, turns=8, seconds=0.3):
    """Median milliseconds of each function, measured in alternating turns."""
    times = [[] for _ in functions]
    for _ in range(turns):
        for function, kept in zip(functions, times, strict=True):
            turn, end = [], time.perf_counter() + seconds
            while time.perf_counter() < end or len(turn) < 6:
                start = time.perf_counter()
                function()
                turn.append(1000 * (time.perf_counter() - start))
            kept += turn[len(turn) // 3 :]
    return [median(kept) for kept in times]


def cases(d, S, batch, heads):
    """Yield (name, NumPy step, torch step), each one forward and one backward pass on the same numbers."""
    rng = np.random.default_rng(0)
    parameters = map_nest(lambda array: array.astype(np.float32), new_encoder_block(rng, d, 4 * d))
    X, dY = rng.standard_normal((2, batch, S, d), dtype=np.float32)
    X_torch, dY_torch = leaf(X), torch.from_numpy(dY)
    Q, K, V, dH = rng.standard_normal((4, batch, heads, S, d // heads), dtype=np.float32)
    tensors, dH_torch = [leaf(array) for array in (Q, K, V)], torch.from_numpy(dH)
    module = torch_attention.new_multi_head_attention(parameters["attention"], heads)
    layer = torch_block.new_encoder_block(parameters, heads)

    def one_attention_in_numpy():
        attention_backward(attention(Q, K, V), dH)

    def one_attention_in_torch():
        for tensor in tensors:
            tensor.grad = None
        F.scaled_dot_product_attention(*tensors).backward(dH_torch)

    def attention_in_numpy():
        states = multi_head_attention(parameters["attention"], X, X, heads)
        multi_head_attention_backward(parameters["attention"], states, dY)

    def attention_in_torch():
        module.zero_grad()
        X_torch.grad = None
        module(X_torch, X_torch, X_torch, need_weights=False)[0].backward(dY_torch)

    def block_in_numpy():
        encoder_block_backward(parameters, encoder_block(parameters, X, heads), dY)

    def block_in_torch():
        layer.zero_grad()
        X_torch.grad = None
        layer(X_torch).backward(dY_torch)

    yield "attention", one_attention_in_numpy, one_attention_in_torch
    yield "multi-head attention", attention_in_numpy, attention_in_torch
    yield "encoder block", block_in_numpy, block_in_torch


def lines():
    """Yield the lines of the section."""
    before = torch.get_num_threads()
    threads = int(os.environ.get("OPENBLAS_NUM_THREADS") or os.cpu_count())  # what NumPy's matrix product uses
    torch.set_num_threads(threads)
    yield f"forward and backward, float32, {threads} thread(s) each: median ms, NumPy / torch"
    for size in SIZES:
        for name, ours, theirs in cases(**size):
            numpy_ms, torch_ms = medians([ours, theirs])
            where = ", ".join(f"{key} {value}" for key, value in size.items())
            yield f"{name:21}{where:36}{numpy_ms:8.2f}{torch_ms:8.2f}   ratio {numpy_ms / torch_ms:.2f}"
    torch.set_num_threads(before)


if __name__ == "__main__":
    for line in lines():
        print(line)
