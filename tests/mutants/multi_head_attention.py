"""Planted faults in the definitions of notebook 06."""

from tests.notebook_tools import Mutant

CUT = "by_head = X.reshape(X.shape[:-1] + (heads, -1))"
MOVED = "by_position = H.swapaxes(-2, -3)"

MUTANTS = [
    Mutant(
        "split by a reshape without a transpose",
        "return by_head.swapaxes(-2, -3)",
        "return X.reshape(X.shape[:-2] + (heads, X.shape[-2], -1))",
    ),
    Mutant(
        "merged by a reshape without a transpose",
        MOVED,
        "by_position = H.reshape(H.shape[:-3] + (H.shape[-2], H.shape[-3], -1))",
    ),
    Mutant(
        "every h-th column to a head",
        CUT,
        "by_head = X.reshape(X.shape[:-1] + (-1, heads)).swapaxes(-1, -2)",
    ),
    Mutant("split from the last head", CUT, CUT + "[..., ::-1, :]"),
    Mutant("merged with the last head first", MOVED, MOVED + "[..., ::-1, :]"),
    Mutant(
        "one wide head in place of many",
        "(split_heads(states[name], heads) for name",
        "(split_heads(states[name], 1) for name",
    ),
    Mutant("mask without an axis for the heads", "M[..., None, :, :]  #", "M  #"),
    Mutant("mask forgotten", "attention(Q, K, V, M_heads)", "attention(Q, K, V)"),
    Mutant("keys and values of the asking positions", "project(parameters, X_q, X_kv)", "project(parameters, X_q)"),
    Mutant("W_O left out", 'linear(states["H_concat"], W_O, b_O)', 'states["H_concat"]'),
    Mutant("W_O transposed", "W_O, b_O)  #", "W_O.T, b_O)  #"),
    Mutant("b_O forgotten", "W_O, b_O)  #", "W_O)  #"),
    Mutant("no bias of the output drawn", '        parameters["b_O"] = np.zeros(d)\n', "        pass\n"),
    Mutant("gradient of O goes to the heads past W_O", "split_heads(dH_concat, heads)", "split_heads(dO, heads)"),
    Mutant(
        "gradient merged without a transpose",
        "(merge_heads(by_head[name]) for name",
        "(by_head[name].reshape(by_head[name].shape[:-3] + (by_head[name].shape[-2], -1)) for name",
    ),
    Mutant("gradients of queries and keys exchanged", "dQ, dK, dV = (", "dK, dQ, dV = ("),
    Mutant("gradient of W_O transposed", 'gradients["W_O"] = dW_O', 'gradients["W_O"] = dW_O.T'),
    Mutant("gradient of b_O forgotten", 'gradients["b_O"] = db_O', "pass"),
    Mutant("gradients of X_q and X_kv exchanged", "return gradients, dX_q, dX_kv", "return gradients, dX_kv, dX_q"),
    Mutant(
        "gradient through the keys and values lost",
        "return gradients, dX_q, dX_kv",
        "return gradients, dX_q, 0 * dX_kv",
    ),
]
