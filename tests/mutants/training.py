"""Planted faults in the definitions of notebook 11."""

from tests.notebook_tools import Mutant

SHIFT = "    tgt_in[..., 0] = start\n    tgt_in[..., 1:] = targets[..., :-1]\n"
UPDATE = '            adam(parameters, gradients, run["memory"], learning_rate(run["step"] + 1))\n'

MUTANTS = [
    Mutant("shift by none", SHIFT, "    tgt_in[...] = targets\n"),
    Mutant("shift by two", SHIFT, "    tgt_in[..., :2] = start\n    tgt_in[..., 2:] = targets[..., :-2]\n"),
    Mutant("shift to the left", SHIFT, "    tgt_in[..., -1] = start\n    tgt_in[..., :-1] = targets[..., 1:]\n"),
    Mutant("padding counted in the loss", "    losses[~valid] = 0\n", ""),
    Mutant("mean over all positions", "/ int(valid.sum())", "/ valid.size"),
    Mutant("gradient divided by all positions", "(valid / valid.sum())", "(valid / valid.size)"),
    Mutant("padding counted in the gradient", "(valid / valid.sum())", "(np.ones(valid.shape) / valid.sum())"),
    Mutant("no maximum subtracted", "shifted = logits - logits.max(axis=-1, keepdims=True)", "shifted = logits.copy()"),
    Mutant("sign of label smoothing", "losses -= off * shifted", "losses += off * shifted"),
    Mutant("smoothing keeps the whole target", "1 - smoothing + smoothing / N_vocab", "1.0"),
    Mutant("smoothing without the target's own part", "1 - smoothing + smoothing / N_vocab", "1 - smoothing"),
    Mutant("smoothing left out of the gradient", 'dlogits = states["Pi"] - off', 'dlogits = states["Pi"].copy()'),
    Mutant("gradient pushes the target down", "at_target - (on - off)", "at_target + (on - off)"),
    Mutant("gradient descent plus", "w -= learning_rate * dw", "w += learning_rate * dw"),
    Mutant("gradient descent without a learning rate", "w -= learning_rate * dw", "w -= dw"),
    Mutant(
        "Adam without bias correction",
        "size = learning_rate * math.sqrt(arrived_2) / arrived_1",
        "size = learning_rate",
    ),
    Mutant("Adam corrects only the mean", "math.sqrt(arrived_2) / arrived_1", "1 / arrived_1"),
    Mutant("Adam counts no steps", 'memory["step"] += 1', 'memory["step"] = 1'),
    Mutant("Adam sums up instead of averaging", "m += (1 - beta_1) * dw", "m += dw"),
    Mutant("Adam without the root", "np.sqrt(v) + floor", "v + floor"),
    Mutant("warm-up that never ends", "min(1 / math.sqrt(step)", "max(1 / math.sqrt(step)"),
    Mutant("warm-up divided by d", "factor / math.sqrt(d)", "factor / d"),
    Mutant("padding of the source is read", "heads, batch.src_lengths, norm, keep", "heads, None, norm, keep"),
    Mutant("asked for what was read", "batch.tgt_out, pad, smoothing, spread", "batch.tgt_in, pad, smoothing, spread"),
    Mutant("smoothing forgotten in training", "batch.tgt_out, pad, smoothing, spread", "batch.tgt_out, pad"),
    Mutant(
        "gradients not reset",
        UPDATE,
        "            total = map_nest(np.add, total, gradients) if run['losses'] else gradients\n"
        + UPDATE.replace("gradients", "total"),
    ),
    Mutant("learning rate of the step before", 'learning_rate(run["step"] + 1)', 'learning_rate(run["step"])'),
    Mutant("goes on with the first batches", 'run["seed"], run["step"], by_length)', 'run["seed"], 0, by_length)'),
]
