"""Shape tables made from live arrays."""

from helpers.layers.nest import walk

MEANINGS = {
    "E": "embedding table",
    "ids": "token ids of the sentence",
    "X_token": "token embedding of the input",
    "P": "position encoding",
    "X": "state entering the module",
    "X_kv": "state that keys and values come from",
    "W_Q": "query projection",
    "W_K": "key projection",
    "W_V": "value projection",
    "W_O": "attention output projection",
    "b_Q": "query bias",
    "b_K": "key bias",
    "b_V": "value bias",
    "b_O": "bias of the attention output",
    "Q": "queries",
    "K": "keys",
    "V": "values",
    "M": "mask, 0 allowed, -inf forbidden",
    "scores": "scaled dot products, before the mask",
    "A": "attention weights, rows sum to 1",
    "H": "head output, one mix of values per row",
    "H_concat": "outputs of all heads, side by side",
    "O": "multi-head output",
    "Z": "state after the first add and norm",
    "W_1": "first MLP weights",
    "b_1": "first MLP bias",
    "W_2": "second MLP weights",
    "b_2": "second MLP bias",
    "U": "hidden state of the MLP",
    "F": "output of the MLP",
    "X_new": "state leaving the block",
    "gamma": "scale of the layer norm",
    "beta": "shift of the layer norm",
    "C": "encoder output",
    "B": "decoder state after causal self-attention and norm",
    "D": "final decoder state",
    "W_vocab": "output projection to the vocabulary",
    "logits": "scores of all tokens, before softmax",
    "Pi": "next-token probabilities, rows sum to 1",
}


def shape_table(arrays, meanings=None):
    """Print a line for each array: its symbol, its shape and what it means.

    ``arrays`` is a dict or nest of arrays (parameters, states or gradients);
    shapes are read from the arrays, so the table cannot disagree with the code.
    ``meanings`` adds to, or replaces, the course's own words for the symbols.
    Raises KeyError for a symbol without a meaning.
    """
    known = MEANINGS | (meanings or {})
    rows = [(path, str(array.shape), known[path.split("/")[-1]]) for path, array in walk(arrays)]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for symbol, shape, meaning in rows:
        print(f"{symbol:{wide[0]}}  {shape:{wide[1]}}  {meaning}")
