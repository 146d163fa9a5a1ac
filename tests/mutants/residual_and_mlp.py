"""Planted faults in the definitions of notebook 07."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant("variance over d - 1", "[..., None] / X.shape[-1]", "[..., None] / (X.shape[-1] - 1)"),
    Mutant("epsilon outside the root", "np.sqrt(variance + epsilon)", "np.sqrt(variance) + epsilon"),
    Mutant("epsilon forgotten", "np.sqrt(variance + epsilon)", "np.sqrt(variance)"),
    Mutant("mean over the positions", "X - X.mean(axis=-1, keepdims=True)", "X - X.mean(axis=0, keepdims=True)"),
    Mutant("mean not subtracted", "X - X.mean(axis=-1, keepdims=True)", "X.copy()"),
    Mutant("beta forgotten", '    Y += parameters["beta"]\n', ""),
    Mutant("no ReLU", "    relu(U, out=U)\n", ""),
    Mutant("absolute value in place of the ReLU", "np.maximum(X, 0, out=out)", "np.abs(X, out=out)"),
    Mutant("b_2 forgotten", 'linear(U, parameters["W_2"], parameters["b_2"])', 'linear(U, parameters["W_2"])'),
    Mutant("residual forgotten", "return X + (update if", "return 0 + (update if"),
    Mutant(
        "dropout after the sum",
        "return X + (update if keep is None else dropout(update, keep, rate))",
        "return X + update if keep is None else dropout(X + update, keep, rate)",
    ),
    Mutant("dropout without its factor", "    Y *= 1 / (1 - rate)\n", ""),
    Mutant("dropout keeps what it should drop", "Y = X * keep", "Y = X * ~keep"),
    Mutant("keep is drawn the wrong way round", ">= rate", "< rate"),
    Mutant("pre-norm code for post-norm", 'if norm == "post":', 'if norm == "pre":', cell="definition-block"),
    Mutant("the second sum adds X instead of Z", "added = residual(Z, within", "added = residual(X, within"),
    Mutant(
        "X_new without its residual in pre-norm",
        'X_new = residual(Z, within["F"], keep.get("mlp"), rate)',
        'X_new = within["F"]',
    ),
    Mutant("the mean's path forgotten in the backward of layer norm", "    dX -= shift\n", ""),
    Mutant(
        "the variance's path forgotten in the backward of layer norm",
        "    dX -= np.multiply(X_hat, stretch, out=product)\n",
        "",
    ),
    Mutant("backward of layer norm not divided by std", "    dX /= std\n", ""),
    Mutant("backward passes through a silent ReLU", '    relu_backward(states["U"], dU, out=dU)\n', ""),
    Mutant("backward without the dropout mask", "dY if keep is None else dropout(dY, keep, rate)", "dY"),
    Mutant("gradient of X without the residual, post-norm", "dX = dX + dX_q + dX_kv", "dX = dX_q + dX_kv"),
    Mutant("gradient of X without keys and values", "dX = dX + dX_q + dX_kv", "dX = dX + dX_q"),
    Mutant("gradient of Z without the MLP's path", 'states["norm_1"], dZ + dZ_mlp', 'states["norm_1"], dZ'),
    Mutant("gradient of X without the residual, pre-norm", "dX = dX + dX_norm", "dX = dX_norm"),
]
