"""Planted faults in the definitions of notebook 05."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant(
        "softmax over the wrong axis",
        'np.einsum("...k->...", weights)[..., None]',
        "weights.sum(axis=-2, keepdims=True)",
    ),
    Mutant("no maximum subtracted", "weights = scores - top", "weights = scores.copy()"),
    Mutant(
        "maximum of the whole array, not of the row",
        "scores.max(axis=-1, keepdims=True, initial=-np.inf)",
        "np.full_like(scores[..., :1], scores.max())",
    ),
    Mutant("a row with nothing to read is let through", "if not np.isfinite(top).all():", "if np.isposinf(top).any():"),
    Mutant(
        "queries times queries",
        "scores = Q @ K.swapaxes(-1, -2)",
        "scores = Q @ np.resize(Q, K.shape).swapaxes(-1, -2)",
    ),
    Mutant(
        "no scaling",
        "    if scaled:\n        scores *= 1 / math.sqrt(Q.shape[-1])\n",
        "",
    ),
    Mutant(
        "divided by d_k instead of its root",
        "    scores *= 1 / math.sqrt(",
        "    scores *= 1 / (",
        cell="definition-attention",
    ),
    Mutant("mask subtracted", "scores + M.astype", "scores - M.astype"),
    Mutant(
        "mask forgotten",
        "A = softmax(masked)",
        "A = softmax(scores)",
    ),
    Mutant(
        "mask after softmax without renormalising",
        "A = softmax(masked)",
        "A = softmax(scores) * (1 if M is None else M == 0)",
    ),
    Mutant("scores mixed instead of weights", "H = A @ V", "H = scores @ V"),
    Mutant("causal mask without the position itself", "source <= receiving, 0.0", "source < receiving, 0.0"),
    Mutant("causal mask upside down", "source <= receiving, 0.0", "source >= receiving, 0.0"),
    Mutant(
        "causal mask forgets the earlier positions", "np.arange(S_k - S_q, S_k)[:, None]", "np.arange(S_q)[:, None]"
    ),
    Mutant("one padded position stays readable", "forbidden = source >= lengths", "forbidden = source > lengths"),
    Mutant("padding closes the real positions", "forbidden = source >= lengths", "forbidden = source < lengths"),
    Mutant(
        "gradient of softmax without the row's average", 'dA - np.einsum("...k,...k->...", dA, A)[..., None]', "dA + 0"
    ),
    Mutant(
        "gradient of softmax averaged over the wrong axis",
        'np.einsum("...k,...k->...", dA, A)[..., None]',
        'np.einsum("...jk,...jk->...k", dA, A)[..., None, :]',
    ),
    Mutant("gradient of softmax without the factor A", "    dscores *= A\n", ""),
    Mutant("dV with A not transposed", "A.swapaxes(-1, -2) @ dH", "A @ dH"),
    Mutant(
        "backward forgets the scaling",
        "    if scaled:\n        dscores *= 1 / math.sqrt(Q.shape[-1])\n",
        "",
    ),
    Mutant("dQ mixes queries instead of keys", "dQ = dscores @ K", "dQ = dscores @ Q"),
    Mutant("dK with the scores not transposed", "dscores.swapaxes(-1, -2) @ Q", "dscores @ Q"),
    Mutant("dQ and dK exchanged", '{"Q": dQ, "K": dK, "V": dV}', '{"Q": dK, "K": dQ, "V": dV}'),
]
