"""Exercises of notebook 09."""

import numpy as np

from helpers.exercises.core import Exercise, computes, expects

open_pairs = Exercise(
    "9.1",
    "predict",
    "Open pairs over three spans",
    judge=expects(
        (78, 20),
        mistakes=[
            ((66, 20), "66 pairs lie strictly below the diagonal. A position also reads itself."),
            ((144, 20), "144 is all of them. Row 0 may read one position, not twelve."),
            ((66, 10), "Two things: a position reads itself, and every source stands before every target row."),
            ((78, 10), "The triangle runs along the diagonal of the whole mask. The block of sources is all open."),
            ((78, 15), "15 are the open pairs inside the source span. Rows are receiving: count the target's 4 rows."),
            ((78, 0), "That is the other block: source rows never read the target."),
            ((78, 25), "5 times 5 would be source rows and source columns. The target has 4 rows."),
            ((20, 78), "Right numbers, other order: first all open pairs, then those of the block."),
        ],
        otherwise="Row i reads i + 1 positions: add them up. For the block, ask which source comes after a target row.",
    ),
    right="1 + 2 + … + 12 = 78, and 4 target rows times 5 sources, all of which came earlier, are 20.",
    wrong=[
        ((66, 20), "A position also reads itself"),
        ((144, 20), "144 is all"),
        ((66, 10), "Two things"),
        ((78, 10), "block of sources is all open"),
        ((78, 15), "inside the source span"),
        ((78, 0), "the other block"),
        ((78, 25), "The target has 4 rows"),
        ((20, 78), "other order"),
        ((1, 1), "add them up"),
    ],
)


def parameters_of(N_vocab, positions, d, d_ff, blocks):
    """The right answer to 9.2."""
    block = 4 * d * d + 4 * d + 2 * d * d_ff + d_ff + d + 4 * d
    return (N_vocab + positions) * d + blocks * block + 2 * d


def with_an_output_of_its_own(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, blocks) + N_vocab * d


def without_positions(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, 0, d, d_ff, blocks)


def without_final_norm(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, blocks) - 2 * d


def without_biases(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, blocks) - blocks * (4 * d + d_ff + d)


def without_attention_biases(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, blocks) - blocks * 4 * d


def with_one_norm_a_block(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, blocks) - blocks * 2 * d


def without_W_O(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, blocks) - blocks * (d * d + d)


def of_one_block(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, d_ff, 1)


def with_four_times_d(N_vocab, positions, d, d_ff, blocks):
    return parameters_of(N_vocab, positions, d, 4 * d, blocks)


def draw_sizes(rng):
    N_vocab, positions, d, d_ff = (int(n) for n in rng.integers(5, 500, 4))
    return N_vocab, positions, d, d_ff, int(rng.integers(2, 9))


count_parameters = Exercise(
    "9.2",
    "implement",
    "Parameters of any GPT-2",
    judge=computes(
        parameters_of,
        draw_sizes,
        mistakes=[
            (with_an_output_of_its_own, "Too many by N_vocab · d: the output uses E, which is counted already."),
            (without_positions, "P is missing: a learned row of d numbers for each position."),
            (without_final_norm, "Too few by 2 d: a norm follows the last block."),
            (without_attention_biases, "Too few by 4 d a block: W_Q, W_K, W_V and W_O have biases here."),
            (without_biases, "All biases are missing: four of d in attention, d_ff and d in the MLP."),
            (with_one_norm_a_block, "A block has two norms, each with gamma and beta."),
            (without_W_O, "W_O and its bias are missing: four projections, not three."),
            (of_one_block, "You counted one block; each block has parameters of its own."),
            (with_four_times_d, "You took 4 d for d_ff. GPT-2 small has it so; the function is given d_ff."),
        ],
        atol=0,
        what="The number",
    ),
    right="With GPT-2 small's sizes your function gives 124,439,808.",
    wrong=[
        (with_an_output_of_its_own, "counted already"),
        (without_positions, "P is missing"),
        (without_final_norm, "follows the last block"),
        (without_attention_biases, "have biases here"),
        (without_biases, "All biases"),
        (with_one_norm_a_block, "two norms"),
        (without_W_O, "four projections"),
        (of_one_block, "counted one block"),
        (with_four_times_d, "is given d_ff"),
    ],
)


def laid_out(instruction, source, target, start, end, pad):
    """The right answer to 9.3."""
    ids = [*instruction, *source, start, *target]
    return ids, [pad] * (len(ids) - len(target) - 1) + [*target, end]


def not_shifted(instruction, source, target, start, end, pad):
    ids, _ = laid_out(instruction, source, target, start, end, pad)
    return ids, [pad] * (len(ids) - len(target)) + list(target)


def everything_asked(instruction, source, target, start, end, pad):
    ids, _ = laid_out(instruction, source, target, start, end, pad)
    return ids, [*ids[1:], end]


def end_not_asked(instruction, source, target, start, end, pad):
    ids, answers = laid_out(instruction, source, target, start, end, pad)
    return ids, [*answers[:-1], pad]


def end_among_the_ids(instruction, source, target, start, end, pad):
    ids, answers = laid_out(instruction, source, target, start, end, pad)
    return [*ids, end], [*answers, pad]


def without_start(instruction, source, target, start, end, pad):
    ids, answers = laid_out(instruction, source, target, start, end, pad)
    first = len(instruction) + len(source)
    return ids[:first] + ids[first + 1 :], answers[1:]


def source_before_instruction(instruction, source, target, start, end, pad):
    return laid_out(source, instruction, target, start, end, pad)


def start_in_front(instruction, source, target, start, end, pad):
    _, answers = laid_out(instruction, source, target, start, end, pad)
    return [start, *instruction, *source, *target], answers


def draw_pair(rng):
    # distinct ids, so that no mistake can hide behind a repeated one
    ids = rng.permutation(np.arange(10, 60)).tolist()
    a, b, c = (int(n) for n in rng.integers(2, 7, 3))
    return ids[:a], ids[a : a + b], ids[a + b : a + b + c], *ids[-3:]


one_sequence = Exercise(
    "9.3",
    "implement",
    "A pair as one sequence",
    judge=computes(
        laid_out,
        draw_pair,
        mistakes=[
            (not_shifted, "Each row is asked for its own token. It should say what follows: shift by one place."),
            (everything_asked, "Instruction and source are asked for as well. They are given: their answer is pad."),
            (end_not_asked, "The end token is never asked for: a model trained so would not know when to stop."),
            (end_among_the_ids, "The end token does not go in: nothing is asked for after it."),
            (without_start, "The start token is missing between source and target."),
            (source_before_instruction, "The instruction comes before the source."),
            (start_in_front, "The start token stands where the target starts, not at the very front."),
        ],
        atol=0,
        what="The pair of lists",
    ),
    right="The loss sees the target and its end alone, and the row of the start token is the first to be asked.",
    wrong=[
        (not_shifted, "shift by one place"),
        (everything_asked, "asked for as well"),
        (end_not_asked, "when to stop"),
        (end_among_the_ids, "does not go in"),
        (without_start, "missing between"),
        (source_before_instruction, "before the source"),
        (start_in_front, "at the very front"),
    ],
)


def pre_norm_block(X, norm_1, attend, norm_2, feed):
    Y = norm_1(X)  # (S, d)
    Z = Y + attend(Y)  # (S, d)
    Y = norm_2(Z)  # (S, d)
    return Y + feed(Y)  # (S, d)


def mended(X, norm_1, attend, norm_2, feed):
    """The right answer to 9.4."""
    Z = X + attend(norm_1(X))  # (S, d)
    return Z + feed(norm_2(Z))  # (S, d)


def only_the_first_mended(X, norm_1, attend, norm_2, feed):
    Z = X + attend(norm_1(X))  # (S, d)
    Y = norm_2(Z)  # (S, d)
    return Y + feed(Y)


def only_the_second_mended(X, norm_1, attend, norm_2, feed):
    Y = norm_1(X)  # (S, d)
    Z = Y + attend(Y)  # (S, d)
    return Z + feed(norm_2(Z))


def post_norm(X, norm_1, attend, norm_2, feed):
    Z = norm_1(X + attend(X))  # (S, d)
    return norm_2(Z + feed(Z))


def updates_normalised(X, norm_1, attend, norm_2, feed):
    Z = X + norm_1(attend(X))  # (S, d)
    return Z + norm_2(feed(Z))


def second_sum_from_X(X, norm_1, attend, norm_2, feed):
    Z = X + attend(norm_1(X))  # (S, d)
    return X + feed(norm_2(Z))


def without_residuals(X, norm_1, attend, norm_2, feed):
    return feed(norm_2(attend(norm_1(X))))


def draw_block(rng):
    S, d = (int(n) for n in rng.integers(3, 8, 2))
    W_1, W_2 = rng.standard_normal((2, d, d))
    mix = rng.random((S, S))
    scales = 1 + rng.random((2, d))

    def norm(scale):
        return lambda X: (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + 1e-5) * scale

    return (
        3 * rng.standard_normal((S, d)),
        norm(scales[0]),
        lambda Y: mix @ Y @ W_1,
        norm(scales[1]),
        lambda Y: np.maximum(Y @ W_2, 0),
    )


clean_sum = Exercise(
    "9.4",
    "repair",
    "A sum that should stay clean",
    judge=computes(
        mended,
        draw_block,
        mistakes=[
            (only_the_first_mended, "The first sum is right. The second still adds the normalised Z."),
            (only_the_second_mended, "The second sum is right. The first still adds the normalised X."),
            (post_norm, "This is post-norm: the sums are normalised. Pre-norm normalises what enters the parts."),
            (updates_normalised, "You normalise what leaves the parts. Pre-norm normalises what enters them."),
            (second_sum_from_X, "The second sum adds X, so attention's update is lost: add Z."),
            (without_residuals, "Both sums are gone."),
        ],
        what="The block's output",
    ),
    right="X passes from the first block to the last by sums alone. The norms touch only what the parts read.",
    wrong=[
        (only_the_first_mended, "The second still adds"),
        (only_the_second_mended, "The first still adds"),
        (post_norm, "This is post-norm"),
        (updates_normalised, "what leaves the parts"),
        (second_sum_from_X, "update is lost"),
        (without_residuals, "Both sums are gone"),
        (lambda X, norm_1, attend, norm_2, feed: X, "differs"),
    ],
    broken=pre_norm_block,
)
