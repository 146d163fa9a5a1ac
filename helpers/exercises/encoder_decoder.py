"""Exercises of notebook 08."""

import numpy as np

from helpers.exercises.core import Exercise, computes, expects

cross_shapes = Exercise(
    "8.1",
    "predict",
    "Shapes in cross-attention",
    judge=expects(
        (7, 20, 20, 16, 7, 16),
        mistakes=[
            ((20, 7, 7, 16, 20, 16), "Source and target are swapped: the target asks, so A has 7 rows."),
            ((7, 7, 7, 16, 7, 16), "That is the decoder's self-attention. In cross-attention the source is read."),
            ((20, 20, 20, 16, 20, 16), "That is the encoder's self-attention. In cross-attention the target asks."),
            ((7, 20, 20, 96, 7, 96), "Rows are right. One head owns d / 6 columns, not all 96."),
            ((7, 20, 20, 6, 7, 6), "Rows are right. 6 is the number of heads; the width of one is 96 / 6."),
            ((7, 20, 20, 16, 20, 16), "A V has the rows of A: one for each position that asks."),
            ((7, 20, 7, 16, 7, 16), "V holds what is read: a row for each source position, as many as A has columns."),
            ((7, 20, 20, 16, 7, 20), "A V is a mix of rows of V, so it has V's columns."),
        ],
        otherwise="The 7 target positions ask, the 20 source positions answer, and one head is 96 / 6 wide.",
    ),
    right="The target asks and the source answers; A V already has a row for each target position.",
    wrong=[
        ((20, 7, 7, 16, 20, 16), "are swapped"),
        ((7, 7, 7, 16, 7, 16), "decoder's self-attention"),
        ((20, 20, 20, 16, 20, 16), "encoder's self-attention"),
        ((7, 20, 20, 96, 7, 96), "not all 96"),
        ((7, 20, 20, 6, 7, 6), "number of heads"),
        ((7, 20, 20, 16, 20, 16), "the rows of A"),
        ((7, 20, 7, 16, 7, 16), "what is read"),
        ((7, 20, 20, 16, 7, 20), "V's columns"),
        ((1, 2, 3, 4, 5, 6), "positions ask"),
        (7, "a tuple of 6"),
    ],
)

who_changes = Exercise(
    "8.2",
    "predict",
    "Who notices a change",
    judge=expects(
        (6, 6, 0, 0, 0, 2),
        mistakes=[
            ((1, 6, 0, 0, 0, 2), "The encoder's attention mixes: every real row of C reads source token 2."),
            ((4, 6, 0, 0, 0, 2), "The encoder has no causal mask: rows before position 2 read it as well."),
            ((6, 4, 0, 0, 0, 2), "Cross-attention has no causal mask: every row of D reads all of C."),
            ((6, 0, 0, 0, 0, 2), "D depends on C in every block: cross-attention carries the change to all its rows."),
            ((6, 6, 6, 6, 0, 2), "The padding mask gives padded columns a weight of exactly 0."),
            ((6, 6, 0, 6, 0, 2), "Cross-attention masks the padding too: its rows of C are not read."),
            ((6, 6, 0, 0, 6, 2), "The encoder never sees the target: C is finished before the decoder starts."),
            ((6, 6, 0, 0, 0, 6), "The causal mask hides token 4 from the rows before it."),
            ((6, 6, 0, 0, 0, 1), "Row 5 comes after position 4 and reads it too."),
            ((6, 6, 0, 0, 0, 4), "You counted the rows before token 4. They cannot see it; count the others."),
        ],
        otherwise="Ask of each attention which columns are open: all real source tokens, or oneself and earlier ones.",
    ),
    right="The encoder reads both ways, cross-attention reads all of C, and only the target's past is causal.",
    wrong=[
        ((1, 6, 0, 0, 0, 2), "attention mixes"),
        ((4, 6, 0, 0, 0, 2), "encoder has no causal"),
        ((6, 4, 0, 0, 0, 2), "Cross-attention has no causal"),
        ((6, 0, 0, 0, 0, 2), "carries the change"),
        ((6, 6, 6, 6, 0, 2), "exactly 0"),
        ((6, 6, 0, 6, 0, 2), "masks the padding too"),
        ((6, 6, 0, 0, 6, 2), "never sees the target"),
        ((6, 6, 0, 0, 0, 6), "hides token 4"),
        ((6, 6, 0, 0, 0, 1), "Row 5 comes"),
        ((6, 6, 0, 0, 0, 4), "rows before token 4"),
        ((9, 9, 9, 9, 9, 9), "which columns are open"),
    ],
)


def over_all_blocks(blocks):
    """The right answer to 8.3."""
    return sum(dK @ W_K.T + dV @ W_V.T for dK, dV, W_K, W_V in blocks)


def last_block_alone(blocks):
    return over_all_blocks(blocks[-1:])


def first_block_alone(blocks):
    return over_all_blocks(blocks[:1])


def keys_alone(blocks):
    return sum(dK @ W_K.T for dK, _, W_K, _ in blocks)


def values_alone(blocks):
    return sum(dV @ W_V.T for _, dV, _, W_V in blocks)


def mean_of_blocks(blocks):
    return over_all_blocks(blocks) / len(blocks)


def not_transposed(blocks):
    return sum(dK @ W_K + dV @ W_V for dK, dV, W_K, W_V in blocks)


def projections_swapped(blocks):
    return sum(dK @ W_V.T + dV @ W_K.T for dK, dV, W_K, W_V in blocks)


def without_projections(blocks):
    return sum(dK + dV for dK, dV, _, _ in blocks)


def draw_blocks(rng):
    count, S, d = rng.permutation(np.arange(2, 7))[:3]
    return ([(*rng.standard_normal((2, S, d)), *rng.standard_normal((2, d, d))) for _ in range(count)],)


gradient_of_c = Exercise(
    "8.3",
    "implement",
    "The gradient of C",
    judge=computes(
        over_all_blocks,
        draw_blocks,
        mistakes=[
            (last_block_alone, "That is the last block alone. Every block read C, so every block sends gradient."),
            (first_block_alone, "That is the first block alone. Every block read C, so every block sends gradient."),
            (keys_alone, "The values are missing: C is read through W_V as well."),
            (values_alone, "The keys are missing: C is read through W_K as well."),
            (mean_of_blocks, "You took the mean over the blocks. Uses of one array add up; nothing divides them."),
            (not_transposed, "Going backward through K = C W_K takes the transpose: dK W_Kᵀ."),
            (projections_swapped, "dK belongs to W_K and dV to W_V; yours are crossed."),
            (without_projections, "dK is the gradient of C W_K, not of C: send it back through the projection."),
        ],
        what="The gradient of C",
    ),
    right="C enters two linear maps in each block, and the gradients of all its uses add up.",
    wrong=[
        (last_block_alone, "last block alone"),
        (first_block_alone, "first block alone"),
        (keys_alone, "values are missing"),
        (values_alone, "keys are missing"),
        (mean_of_blocks, "took the mean"),
        (not_transposed, "takes the transpose"),
        (projections_swapped, "are crossed"),
        (without_projections, "not of C"),
        (lambda blocks: np.zeros(3), "shapes differ"),
    ],
)


def decode_paired(X, encoder_states, run_block):
    for i, C in enumerate(encoder_states):
        X = run_block(i, X, C)
    return X


def decode_last(X, encoder_states, run_block):
    """The right answer to 8.4."""
    for i in range(len(encoder_states)):
        X = run_block(i, X, encoder_states[-1])
    return X


def decode_first(X, encoder_states, run_block):
    for i in range(len(encoder_states)):
        X = run_block(i, X, encoder_states[0])
    return X


def decode_reversed(X, encoder_states, run_block):
    return decode_paired(X, encoder_states[::-1], run_block)


def decode_mean(X, encoder_states, run_block):
    return decode_paired(X, [sum(encoder_states) / len(encoder_states)] * len(encoder_states), run_block)


def decode_unchained(X, encoder_states, run_block):
    return run_block(len(encoder_states) - 1, X, encoder_states[-1])


def decode_same_block(X, encoder_states, run_block):
    for _ in encoder_states:
        X = run_block(0, X, encoder_states[-1])
    return X


def decode_backwards(X, encoder_states, run_block):
    for i in reversed(range(len(encoder_states))):
        X = run_block(i, X, encoder_states[-1])
    return X


def draw_decoder(rng):
    count, S_tgt, S_src, d = rng.permutation(np.arange(2, 8))[:4]
    asks, reads = rng.standard_normal((2, count, d, d)) / np.sqrt(d)

    def run_block(i, X, C):
        return np.tanh(X @ asks[i] + (C @ reads[i]).mean(axis=0))  # (S_tgt, d)

    return rng.standard_normal((S_tgt, d)), list(rng.standard_normal((count, S_src, d))), run_block


paired_layers = Exercise(
    "8.4",
    "repair",
    "Layers that are paired",
    judge=computes(
        decode_last,
        draw_decoder,
        mistakes=[
            (decode_paired, "The numbers are those of the broken function: block i still reads encoder block i."),
            (decode_first, "Every block reads the same state now, but it is the first one; C is the last."),
            (decode_reversed, "Turning the list round still pairs layers. All blocks read the same state."),
            (decode_mean, "C is no mean: what leaves the last encoder block is C, whole and alone."),
            (decode_unchained, "Only the last block ran. Each block takes what the block before it returned."),
            (decode_same_block, "Block 0 ran every time. The blocks have parameters of their own: count i up."),
            (decode_backwards, "C is right now, but the blocks ran from the last to the first."),
        ],
        what="D",
    ),
    right="C is what leaves the last encoder block, and every decoder block reads it.",
    wrong=[
        (decode_first, "it is the first one"),
        (decode_reversed, "still pairs layers"),
        (decode_mean, "C is no mean"),
        (decode_unchained, "Only the last block ran"),
        (decode_same_block, "Block 0 ran every time"),
        (decode_backwards, "from the last to the first"),
        (lambda X, encoder_states, run_block: encoder_states[-1], "shapes differ"),
    ],
    broken=decode_paired,
)
