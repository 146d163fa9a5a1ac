"""Planted faults in the definitions of notebook 04."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant(
        "weight transposed", "X.reshape(-1, X.shape[-1]) @ W ", "X.reshape(-1, X.shape[-1]) @ np.resize(W.T, W.shape) "
    ),
    Mutant("bias forgotten", "        Y += b\n", "        pass\n"),
    Mutant("bias subtracted", "Y += b", "Y -= b"),
    Mutant("keys projected with W_Q", 'linear(X_kv, parameters["W_K"]', 'linear(X_kv, parameters["W_Q"]'),
    Mutant("values projected with W_K", 'linear(X_kv, parameters["W_V"]', 'linear(X_kv, parameters["W_K"]'),
    Mutant("values get the keys' bias", 'parameters.get("b_V"))', 'parameters.get("b_K"))'),
    Mutant(
        "positions mixed before the projection", "Q = linear(X, p", "Q = linear(X - X.mean(axis=-2, keepdims=True), p"
    ),
    Mutant(
        "weights of the wrong size",
        "rng.uniform(-bound, bound, (n_in, n_out))",
        "rng.uniform(-bound, bound, (n_in, n_out)) * 100",
    ),
    Mutant("dX without the transpose", "dY_rows @ W.T", "dY_rows @ np.resize(W, W.T.shape)"),
    Mutant("dW averaged over the rows", "dW = X_rows.T @ dY_rows", "dW = X_rows.T @ dY_rows / len(X_rows)"),
    Mutant("dW from the last row only", "dW = X_rows.T @ dY_rows", "dW = np.outer(X_rows[-1], dY_rows[-1])"),
    Mutant("db averaged over the rows", "np.ones(len(rows), X.dtype) @ rows", "rows.mean(axis=0)"),
    Mutant("gradient through the values forgotten", "    dX_kv += dX_v\n", ""),
    Mutant("gradients of W_K and W_V exchanged", '"W_K": dW_K, "W_V": dW_V', '"W_K": dW_V, "W_V": dW_K'),
]
