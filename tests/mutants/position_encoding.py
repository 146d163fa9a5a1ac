"""Planted faults in the definitions of notebook 03."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant("exponent without the 2", "-2 * pair / d", "-pair / d"),
    Mutant("exponent up to 1", "-2 * pair / d", "-2 * pair / (d - 1)"),
    Mutant("another base than 10000", "10000.0 ** (", "1000.0 ** ("),
    Mutant("counted from 1", "angles = np.arange(S)[:, None]", "angles = np.arange(1, S + 1)[:, None]"),
    Mutant(
        "sines and cosines exchanged",
        "P[:, 0::2] = sines\n    P[:, 1::2] = cosines",
        "P[:, 1::2] = sines[:, : d // 2]\n    P[:, 0::2] = np.cos(angles)",
    ),
    Mutant("always concatenated", 'if layout == "concatenated":', "if True:"),
    Mutant("no factor for the tokens", "scale * X_token", "X_token"),
    Mutant(
        "positions scaled as well",
        "scale * X_token + P[:S].astype(X_token.dtype, copy=False)",
        "scale * (X_token + P[:S])",
    ),
    Mutant("position of the last token for all", "P[:S].astype", "P[S - 1 : S].astype"),
    Mutant("table read from its end", "P[:S].astype", "P[len(P) - S :].astype"),
    Mutant("gradient of the tokens without the factor", "math.sqrt(d) * dX if scaled else dX", "dX"),
    Mutant(
        "gradient of the table averaged over the batch",
        "dX.reshape(-1, S, d).sum(axis=0)",
        "dX.reshape(-1, S, d).mean(axis=0)",
    ),
    Mutant("every row of the table gets gradient", "dP[:S] = dX", "dP[:] = dX.mean()\n    dP[:S] = dX"),
]
