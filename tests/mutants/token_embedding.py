"""Planted faults in the definitions of notebook 02."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant("look-up one row too far", "return E[ids]", "return np.roll(E, -1, axis=0)[ids]"),
    Mutant("tokens in sorted order", "return E[ids]", "return E[np.sort(ids, axis=-1)]"),
    Mutant(
        "each token taken once",
        "return E[ids]",
        "return np.where(np.ones_like(ids)[..., None] > 0, E[ids[..., :1]], E[ids])",
    ),
    Mutant(
        "ids are not checked",
        "    ids = check_ids(ids, len(E))\n    return E",
        "    ids = np.asarray(ids)\n    return E",
    ),
    Mutant("one-hot column off by one", "np.arange(N_vocab))", "np.arange(N_vocab) + 1)"),
    Mutant("padding row random", "        E[padding_id] = 0.0\n", "        pass\n", cell="definition-embed"),
    Mutant(
        "repeated tokens overwrite each other",
        "np.add.at(dE.reshape(-1), entries.reshape(-1), dX_token.reshape(-1))",
        "dE.reshape(-1)[entries.reshape(-1)] = dX_token.reshape(-1)",
    ),
    Mutant(
        "repeated tokens added once",
        "np.add.at(dE.reshape(-1), entries.reshape(-1), dX_token.reshape(-1))",
        "dE.reshape(-1)[entries.reshape(-1)] += dX_token.reshape(-1)",
    ),
    Mutant("padding is trained", "        dE[padding_id] = 0.0\n", "        pass\n"),
    Mutant(
        "gradient in the next row", "[..., None] * d + np.arange(d)", "[..., None] * d + (np.arange(d) + d) % E.size"
    ),
    Mutant("gradient with the wrong sign", "dX_token.reshape(-1))", "-dX_token.reshape(-1))"),
]
