"""Planted faults in the definitions of notebook 09."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant(
        "GELU without the factor of the tanh's argument",
        "inner = math.sqrt(2 / math.pi) *",
        "inner =",
        "definition-gelu",
    ),
    Mutant(
        "GELU with another cubic term", "(T + 0.044715 * T * T * T)", "(T + 0.44715 * T * T * T)", "definition-gelu"
    ),
    Mutant("GELU without its half", "return 0.5 * T * (1 + np.tanh(inner))", "return T * (1 + np.tanh(inner))"),
    Mutant("ReLU in place of GELU", "U = gelu(T)", "U = np.maximum(T, 0)"),
    Mutant("MLP without b_1", 'linear(Z, parameters["W_1"], parameters["b_1"])', 'linear(Z, parameters["W_1"])'),
    Mutant("token rows multiplied by the root of d", 'parameters["P"], scaled=False)', 'parameters["P"])'),
    Mutant("no causal mask", "heads, M, norm=", "heads, None, norm="),
    Mutant("post-norm", 'norm="pre", epsilon', 'norm="post", epsilon'),
    Mutant("epsilon of the blocks ignored", "epsilon=epsilon, ", "epsilon=1e-2, "),
    Mutant("ReLU of notebook 07 in the blocks", ", mlp=gelu_mlp)", ")"),
    Mutant("final norm forgotten", 'states["D"] = states["norm"]["Y"]', 'states["D"] = X'),
    Mutant("every block reads the embedding", '        X = seen["X_new"]\n', ""),
    Mutant("slope of GELU without the product's second term", " + 0.5 * T * (1 - t * t) * dinner", ""),
    Mutant("slope of GELU without the cube's three", "1 + 3 * 0.044715", "1 + 0.044715"),
    Mutant("slope of tanh without its square", "(1 - t * t)", "(1 - t)"),
    Mutant("GELU's gradient at its output", 'gelu_backward(states["T"], dU)', 'gelu_backward(states["U"], dU)'),
    Mutant("E without the gradient of the output", '"E": dE_output + dE_input', '"E": dE_input'),
    Mutant("E without the gradient of the input", '"E": dE_output + dE_input', '"E": dE_output'),
    Mutant("gradients of the blocks in reverse", "blocks.insert(0, gradient)", "blocks.append(gradient)"),
    Mutant(
        "gradient of the input as if scaled",
        "add_positions_backward(P, dX, scaled=False)",
        "add_positions_backward(P, dX)",
    ),
    Mutant("shapes with an output of its own", '{"E": (N_vocab, d), ', '{"E": (N_vocab, d), "W_vocab": (d, N_vocab), '),
    Mutant("shapes without W_O", '(d, d) for name in "QKVO"', '(d, d) for name in "QKV"'),
    Mutant("the next token from the last column, padding or not", "logits[rows, place - 1]", "logits[:, -1]"),
    Mutant("the least probable token", ".argmax(axis=-1)", ".argmin(axis=-1)"),
    Mutant("every row writes at the same place", "        place += 1\n", "        place += ended.any()\n"),
]
