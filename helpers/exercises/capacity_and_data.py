"""Exercises of notebook 12."""

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.capacity_and_data import (
    attention_parameters,
    cache_numbers,
    gpt2_flops,
    mlp_flops,
    mlp_parameters,
    norm_parameters,
    projection_flops,
)

D, D_FF = 6, 10
ATTENTION, MLP, NORM = attention_parameters(D), mlp_parameters(D, D_FF), norm_parameters(D)

count_block = Exercise(
    "12.1",
    "predict",
    "The parameters of a decoder block",
    judge=expects(
        2 * ATTENTION + MLP + 3 * NORM,
        mistakes=[
            (ATTENTION + MLP + 2 * NORM, "That is an encoder block; cross-attention and its norm are missing."),
            (2 * ATTENTION + MLP + 2 * NORM, "A decoder block has three sublayers, and each has its layer norm."),
            (2 * (ATTENTION - 4 * D) + MLP + 3 * NORM, "Each of the four matrices of an attention has a bias as well."),
            (2 * ATTENTION + MLP - D - D_FF + 3 * NORM, "The MLP's two matrices have biases, b_1 and b_2."),
            (2 * (ATTENTION - 4 * D) + MLP - D - D_FF + 3 * NORM, "All biases are missing."),
            (2 * (ATTENTION - D * D - D) + MLP + 3 * NORM, "W_O and b_O are missing: an attention has four matrices."),
            (2 * ATTENTION + MLP + 3 * D, "A layer norm has two vectors: gamma and beta."),
            (2 * ATTENTION + MLP, "The layer norms have parameters as well."),
        ],
        otherwise="Add up two attentions, one MLP and three layer norms, each with the formula above.",
    ),
    right="Two attentions of 168, an MLP of 136, and three norms of 12. The number of heads did not matter.",
    wrong=[
        (ATTENTION + MLP + 2 * NORM, "encoder block"),
        (2 * ATTENTION + MLP + 2 * NORM, "three sublayers"),
        (2 * (ATTENTION - 4 * D) + MLP + 3 * NORM, "four matrices of an attention has a bias"),
        (2 * ATTENTION + MLP - D - D_FF + 3 * NORM, "b_1 and b_2"),
        (2 * (ATTENTION - 4 * D) + MLP - D - D_FF + 3 * NORM, "All biases"),
        (2 * (ATTENTION - D * D - D) + MLP + 3 * NORM, "W_O and b_O"),
        (2 * ATTENTION + MLP + 3 * D, "gamma and beta"),
        (2 * ATTENTION + MLP, "layer norms have parameters"),
        (1000, "Add up two"),
    ],
)


def bytes_of_cache(d, heads, blocks, S, batch, bytes_each):
    """The right answer to 12.2."""
    return batch * bytes_each * cache_numbers(d, blocks, S)


def cache_of_keys_alone(d, heads, blocks, S, batch, bytes_each):
    return bytes_of_cache(d, heads, blocks, S, batch, bytes_each) // 2


def cache_times_heads(d, heads, blocks, S, batch, bytes_each):
    return heads * bytes_of_cache(d, heads, blocks, S, batch, bytes_each)


def cache_of_one_head(d, heads, blocks, S, batch, bytes_each):
    return bytes_of_cache(d, heads, blocks, S, batch, bytes_each) // heads


def cache_of_one_block(d, heads, blocks, S, batch, bytes_each):
    return bytes_of_cache(d, heads, 1, S, batch, bytes_each)


def cache_of_one_sequence(d, heads, blocks, S, batch, bytes_each):
    return bytes_of_cache(d, heads, blocks, S, 1, bytes_each)


def cache_in_numbers(d, heads, blocks, S, batch, bytes_each):
    return bytes_of_cache(d, heads, blocks, S, batch, 1)


def cache_in_bits(d, heads, blocks, S, batch, bytes_each):
    return 8 * bytes_of_cache(d, heads, blocks, S, batch, bytes_each)


def cache_of_weights(d, heads, blocks, S, batch, bytes_each):
    return 2 * heads * blocks * batch * S * S * bytes_each


def draw_cache(rng):
    heads = int(rng.integers(3, 7))
    blocks, S, batch = (int(n) for n in rng.integers(3, 20, size=3))
    return heads * int(rng.integers(3, 9)), heads, blocks, S, batch, int(rng.choice([2, 4]))


cache_bytes = Exercise(
    "12.2",
    "implement",
    "How much memory a cache takes",
    judge=computes(
        bytes_of_cache,
        draw_cache,
        mistakes=[
            (cache_of_keys_alone, "Half of it: the cache holds keys and values."),
            (cache_times_heads, "The heads share d: together their keys are d wide, so heads does not multiply."),
            (cache_of_one_head, "You count one head of width d_k. All heads together are d wide."),
            (cache_of_one_block, "Every block has keys and values of its own."),
            (cache_of_one_sequence, "Each sequence of the batch has its own cache."),
            (cache_in_numbers, "You return how many numbers there are; multiply by the bytes each of them takes."),
            (cache_in_bits, "You return bits; the argument bytes_each is in bytes."),
            (cache_of_weights, "You count attention weights, S × S a head. The cache holds K and V."),
        ],
        what="The number of bytes",
    ),
    right="Keys and values, d wide, for every position, block and sequence; the number of heads has no part in it.",
    wrong=[
        (cache_of_keys_alone, "keys and values."),
        (cache_times_heads, "does not multiply"),
        (cache_of_one_head, "one head of width"),
        (cache_of_one_block, "Every block"),
        (cache_of_one_sequence, "Each sequence"),
        (cache_in_numbers, "bytes each of them"),
        (cache_in_bits, "return bits"),
        (cache_of_weights, "S × S a head"),
    ],
)


def generation_operations(N_vocab, d, d_ff, blocks, n):
    """The right answer to 12.3."""
    return blocks * (rows_of_blocks(d, d_ff, n) + 4 * d * n * (n + 1) // 2) + 2 * n * d * N_vocab


def rows_of_blocks(d, d_ff, n):
    """Projections and MLP of n rows in one block."""
    return projection_flops(d, n, n) + mlp_flops(d, d_ff, n)


def generation_in_one_pass(N_vocab, d, d_ff, blocks, n):
    return sum(gpt2_flops(N_vocab, d, d_ff, blocks, n).values())


def generation_without_a_cache(N_vocab, d, d_ff, blocks, n):
    return sum(generation_in_one_pass(N_vocab, d, d_ff, blocks, t) for t in range(1, n + 1))


def generation_not_reading_itself(N_vocab, d, d_ff, blocks, n):
    return generation_operations(N_vocab, d, d_ff, blocks, n) - blocks * 4 * d * n


def generation_without_the_output(N_vocab, d, d_ff, blocks, n):
    return generation_operations(0, d, d_ff, blocks, n)


def generation_without_pairs(N_vocab, d, d_ff, blocks, n):
    return blocks * rows_of_blocks(d, d_ff, n) + 2 * n * d * N_vocab


def generation_of_the_last_token(N_vocab, d, d_ff, blocks, n):
    return blocks * (rows_of_blocks(d, d_ff, 1) + 4 * d * n) + 2 * d * N_vocab


def generation_by_multiply_adds(N_vocab, d, d_ff, blocks, n):
    return generation_operations(N_vocab, d, d_ff, blocks, n) // 2


def generation_in_one_block(N_vocab, d, d_ff, blocks, n):
    return generation_operations(N_vocab, d, d_ff, 1, n)


def draw_generation(rng):
    return tuple(int(n) for n in rng.integers(3, 12, size=5))


generate_cached = Exercise(
    "12.3",
    "implement",
    "The operations of writing n tokens",
    judge=computes(
        generation_operations,
        draw_generation,
        mistakes=[
            (generation_in_one_pass, "That is one pass over n rows: there, row t meets future keys as well."),
            (generation_without_a_cache, "You run the whole prefix again for each token; the cache spares that."),
            (generation_not_reading_itself, "Token t reads t positions, itself included; you count t - 1."),
            (generation_without_the_output, "The scores of all N_vocab tokens are a matrix product as well."),
            (generation_without_pairs, "Each new query still meets all keys, and the values are still mixed."),
            (generation_of_the_last_token, "That is the last token alone; add up all n."),
            (generation_by_multiply_adds, "Half: a multiplication and an addition are two operations."),
            (generation_in_one_block, "Each of the blocks does this work."),
        ],
        what="The number of operations",
    ),
    right="Rows cost the same as in one pass; of the n² pairs only n (n + 1) / 2 are left.",
    wrong=[
        (generation_in_one_pass, "future keys"),
        (generation_without_a_cache, "whole prefix again"),
        (generation_not_reading_itself, "count t - 1"),
        (generation_without_the_output, "scores of all N_vocab"),
        (generation_without_pairs, "still meets all keys"),
        (generation_of_the_last_token, "last token alone"),
        (generation_by_multiply_adds, "are two operations"),
        (generation_in_one_block, "Each of the blocks"),
    ],
)


def steps_within(budget, forward_operations, batch):
    return budget // (forward_operations * batch)


def mended(budget, forward_operations, batch):
    """The right answer to 12.4."""
    return budget // (3 * forward_operations * batch)


def steps_with_one_way_back(budget, forward_operations, batch):
    return budget // (2 * forward_operations * batch)


def steps_of_one_pair(budget, forward_operations, batch):
    return budget // (3 * forward_operations)


def steps_going_back_only(budget, forward_operations, batch):
    return 3 * budget // (forward_operations * batch)


def steps_over_the_budget(budget, forward_operations, batch):
    return -(-budget // (3 * forward_operations * batch))


def steps_and_a_part(budget, forward_operations, batch):
    return budget / (3 * forward_operations * batch)


def draw_budget(rng):
    forward, batch = int(rng.integers(1_000, 9_000)), int(rng.integers(8, 65))
    return 3 * forward * batch * int(rng.integers(50, 200)) + int(rng.integers(1, forward)), forward, batch


training_steps = Exercise(
    "12.4",
    "repair",
    "A budget that forgets something",
    judge=computes(
        mended,
        draw_budget,
        mistakes=[
            (steps_with_one_way_back, "Back costs twice as much as forward: each product asks for two gradients."),
            (steps_of_one_pair, "A step works through a whole batch."),
            (steps_going_back_only, "The factor stands on the wrong side: a dearer step leaves room for fewer."),
            (steps_over_the_budget, "The last step no longer fits into the budget: round down."),
            (steps_and_a_part, "A part of a step cannot be done: round down to a whole number."),
        ],
        what="The number of steps",
    ),
    right="Forward once and back for twice as much: a step costs three forward passes over the batch.",
    broken=steps_within,
    wrong=[
        (steps_with_one_way_back, "twice as much as forward"),
        (steps_of_one_pair, "whole batch"),
        (steps_going_back_only, "wrong side"),
        (steps_over_the_budget, "no longer fits"),
        (steps_and_a_part, "part of a step"),
        (lambda budget, forward_operations, batch: 0, "The number of steps"),
    ],
)
