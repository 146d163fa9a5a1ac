"""Exercises of notebook 02."""

import numpy as np

from helpers.exercises.core import Exercise, computes, expects
from helpers.layers.token_embedding import embed_backward

count_rows = Exercise(
    "2.1",
    "predict",
    "Rows of E that a sentence trains",
    judge=expects(
        5,
        mistakes=[
            (7, "There are seven tokens, but some repeat, and a repeated token trains one row."),
            (6, "Six different ids occur. One of them is the padding token, and its row is not trained."),
            (1000, "Only rows that were taken get gradient; the other rows stay as they are."),
            (8, "Eight is the length of the list, padding and repeats included."),
            (4, "Four ids occur exactly once. The one that repeats is trained as well."),
        ],
        otherwise="Write the different ids down, once each, and leave out padding.",
    ),
    right="The ids 7, 12, 40, 3 and 99 occur; each has one row, however often it is taken.",
    wrong=[
        (7, "some repeat"),
        (6, "padding token"),
        (1000, "that were taken"),
        (8, "length of the list"),
        (4, "exactly once"),
        (0, "once each"),
    ],
)


def padded(sentences, pad):
    """The right answer to 2.2."""
    S = max(map(len, sentences))
    return np.array([list(ids) + [pad] * (S - len(ids)) for ids in sentences])


def padded_in_front(sentences, pad):
    S = max(map(len, sentences))
    return np.array([[pad] * (S - len(ids)) + list(ids) for ids in sentences])


def cut_to_the_shortest(sentences, pad):
    S = min(map(len, sentences))
    return np.array([list(ids)[:S] for ids in sentences])


def padded_with_zero(sentences, pad):
    return padded(sentences, 0)


def padded_with_the_last_token(sentences, pad):
    S = max(map(len, sentences))
    return np.array([list(ids) + [ids[-1]] * (S - len(ids)) for ids in sentences])


def one_pad_too_many(sentences, pad):
    return padded([list(ids) + [pad] for ids in sentences], pad)


def positions_in_front(sentences, pad):
    return padded(sentences, pad).T


def draw_sentences(rng):
    pad = int(rng.integers(5, 10))
    lengths = rng.permutation([2, 3, 5, int(rng.integers(6, 9))])
    return [[int(i) for i in rng.integers(10, 99, size=length)] for length in lengths], pad


pad_batch = Exercise(
    "2.2",
    "implement",
    "Sentences of different lengths in one array",
    judge=computes(
        padded,
        draw_sentences,
        mistakes=[
            (padded_in_front, "The padding stands in front, which moves the first word to another position."),
            (cut_to_the_shortest, "You cut all sentences to the shortest. Fill up to the longest."),
            (padded_with_zero, "You filled up with 0, which may be a real token. Use the id that is given as pad."),
            (padded_with_the_last_token, "Repeating the last word changes the sentence. Use the padding id."),
            (one_pad_too_many, "One column too many: the longest sentence needs no padding."),
            (positions_in_front, "Rows and columns are exchanged: one row for each sentence."),
        ],
        what="The batch",
    ),
    right="One row for each sentence, as long as the longest; what is filled up can be recognised by its id.",
    wrong=[
        (padded_in_front, "in front"),
        (cut_to_the_shortest, "to the shortest"),
        (padded_with_zero, "filled up with 0"),
        (padded_with_the_last_token, "Repeating the last word"),
        (one_pad_too_many, "One column too many"),
        (positions_in_front, "exchanged"),
        (lambda sentences, pad: np.full((2, 2), pad), "differs"),
    ],
)


def gradient_of_row(token, ids, dX_token):
    """The right answer to 2.3."""
    return dX_token[np.asarray(ids) == token].sum(axis=0)


def gradient_of_first_place(token, ids, dX_token):
    return dX_token[list(ids).index(token)]


def gradient_of_last_place(token, ids, dX_token):
    return dX_token[len(ids) - 1 - list(ids)[::-1].index(token)]


def gradient_averaged(token, ids, dX_token):
    return dX_token[np.asarray(ids) == token].mean(axis=0)


def gradient_indexed_by_id(token, ids, dX_token):
    return dX_token[token % len(ids)]


def gradient_of_all_places(token, ids, dX_token):
    return dX_token.sum(axis=0)


def draw_repeats(rng):
    S, d = int(rng.integers(6, 10)), int(rng.integers(2, 6))
    token = int(rng.integers(20, 30))
    ids = rng.integers(0, 20, size=S)
    ids[rng.permutation(S)[:3]] = token
    return token, ids, rng.standard_normal((S, d))


row_gradient = Exercise(
    "2.3",
    "implement",
    "The gradient of one row of E",
    judge=computes(
        gradient_of_row,
        draw_repeats,
        mistakes=[
            (gradient_of_first_place, "Only the token's first place counts here. Add up all its places."),
            (gradient_of_last_place, "Only the token's last place counts here. Add up all its places."),
            (gradient_averaged, "You average over the places. The row was taken several times, so the parts add up."),
            (gradient_indexed_by_id, "You took a position by the token's id. Ids choose rows of E, not positions."),
            (gradient_of_all_places, "You added the gradient of every position, whichever token stands there."),
        ],
        what="The gradient",
    ),
    right="Every place that took the row sends its gradient back to it.",
    wrong=[
        (gradient_of_first_place, "first place"),
        (gradient_of_last_place, "last place"),
        (gradient_averaged, "You average"),
        (gradient_indexed_by_id, "by the token's id"),
        (gradient_of_all_places, "whichever token"),
        (lambda token, ids, dX_token: np.zeros(dX_token.shape[1]), "differs"),
    ],
)


def scatter(N_vocab, ids, dX_token):
    dE = np.zeros((N_vocab, dX_token.shape[1]))  # (N_vocab, d)
    dE[ids] += dX_token
    return dE


def scatter_added(N_vocab, ids, dX_token):
    """The right answer to 2.4."""
    return embed_backward(np.zeros((N_vocab, dX_token.shape[1])), ids, dX_token)


def scatter_assigned(N_vocab, ids, dX_token):
    dE = np.full((N_vocab, dX_token.shape[1]), 0.0)  # (N_vocab, d)
    for place, token in enumerate(ids):
        dE[token] = dX_token[place]
    return dE


def scatter_first(N_vocab, ids, dX_token):
    return scatter_assigned(N_vocab, ids[::-1], dX_token[::-1])


def scatter_subtracted(N_vocab, ids, dX_token):
    return -scatter_added(N_vocab, ids, dX_token)


def scatter_averaged(N_vocab, ids, dX_token):
    counts = np.maximum(np.bincount(ids, minlength=N_vocab), 1)  # (N_vocab,)
    return scatter_added(N_vocab, ids, dX_token) / counts[:, None]


def scatter_shifted(N_vocab, ids, dX_token):
    return np.roll(scatter_added(N_vocab, ids, dX_token), 1, axis=0)


def scatter_into_places(N_vocab, ids, dX_token):
    dE = np.zeros((N_vocab, dX_token.shape[1]))  # (N_vocab, d)
    dE[: len(ids)] = dX_token
    return dE


def draw_scatter(rng):
    S, d = int(rng.integers(5, 9)), int(rng.integers(2, 5))
    ids = rng.integers(0, 8, size=S)
    ids[-1] = ids[0]
    return 12, ids, rng.standard_normal((S, d))


lost_gradient = Exercise(
    "2.4",
    "repair",
    "Gradients that get lost",
    judge=computes(
        scatter_added,
        draw_scatter,
        mistakes=[
            (scatter_assigned, "Still the last place wins: = writes over what an earlier place left."),
            (scatter_first, "Now the first place wins. All places of a token must count."),
            (scatter_subtracted, "The sign is turned: a gradient is added up, the optimiser subtracts it later."),
            (scatter_averaged, "You divide by how often the token occurs. The parts add up; they are not averaged."),
            (scatter_shifted, "The rows are shifted by one id."),
            (scatter_into_places, "The gradients stand in their positions' rows, not in their tokens' rows."),
        ],
        what="The gradient",
    ),
    right="With `+=` and repeated ids NumPy reads, adds and writes back: one addition survives.",
    wrong=[
        (scatter_assigned, "last place wins"),
        (scatter_first, "first place wins"),
        (scatter_subtracted, "sign is turned"),
        (scatter_averaged, "divide by how often"),
        (scatter_shifted, "shifted by one"),
        (scatter_into_places, "positions' rows"),
    ],
    broken=scatter,
)
