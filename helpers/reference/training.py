"""Loss, optimisers and training as PyTorch has them (notebook 11)."""

import torch
import torch.nn.functional as F

from helpers.layers.nest import map_nest, walk
from helpers.layers.training import adam, loss_and_gradients, new_adam
from helpers.reference import gradient, leaf, to_arrays
from helpers.reference.encoder_decoder import new_transformer, transformer_nest


def cross_entropy(logits, targets, pad=None, smoothing=0.0):
    """(loss, gradient of the logits) from F.cross_entropy; the gradient has the shape of the logits."""
    scores = leaf(logits)  # (..., S, N_vocab)
    loss = sequence_loss(scores, torch.from_numpy(targets), pad, smoothing)
    loss.backward()
    return loss.item(), to_arrays(gradient(scores))


def sequence_loss(logits, targets, pad=None, smoothing=0.0):
    """F.cross_entropy over all positions; torch wants (places, N_vocab) and (places,)."""
    ignore = -100 if pad is None else pad  # -100 is torch's own default: no id is ignored
    rows = logits.reshape(-1, logits.shape[-1])  # (places, N_vocab)
    return F.cross_entropy(rows, targets.reshape(-1), ignore_index=ignore, label_smoothing=smoothing)


def sgd(parameters, gradients, learning_rate):
    """The parameters after one step of torch.optim.SGD for each nest in the list ``gradients``."""
    return optimise(parameters, gradients, [learning_rate] * len(gradients), torch.optim.SGD)


def adam_steps(parameters, gradients, learning_rates, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    """The parameters after one step of torch.optim.Adam for each nest in ``gradients``, with its learning rate."""
    return optimise(parameters, gradients, learning_rates, torch.optim.Adam, betas=(beta_1, beta_2), eps=epsilon)


def optimise(parameters, gradients, learning_rates, kind, **settings):
    """The parameters after steps of a torch optimiser whose gradients are given."""
    tensors = map_nest(leaf, parameters)
    optimiser = kind([tensor for _, tensor in walk(tensors)], lr=learning_rates[0], **settings)
    for nest, learning_rate in zip(gradients, learning_rates, strict=True):
        map_nest(lambda tensor, dw: setattr(tensor, "grad", torch.from_numpy(dw).clone()), tensors, nest)
        optimiser.param_groups[0]["lr"] = learning_rate
        optimiser.step()
    return to_arrays(tensors)


def train_side_by_side(parameters, batches, learning_rates, heads, pad, smoothing=0.0, norm="post"):
    """Train our NumPy model and torch's from the same start on the same batches, a learning rate for each.

    Returns {"ours", "torchs"}, each {"losses": one for each batch, "parameters":
    those after the last step}. ``parameters`` themselves stay as they are.
    """
    ours = map_nest(lambda array: array.copy(), parameters)
    memory = new_adam(ours)
    model = new_transformer(parameters, heads, norm)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rates[0], betas=(0.9, 0.98), eps=1e-9)
    losses = {"ours": [], "torchs": []}
    for batch, learning_rate in zip(batches, learning_rates, strict=True):
        ends, gradients = loss_and_gradients(ours, batch, heads, pad, smoothing, norm=norm)
        adam(ours, gradients, memory, learning_rate)
        losses["ours"].append(ends["loss"])

        optimiser.param_groups[0]["lr"] = learning_rate
        losses["torchs"].append(training_step(model, optimiser, batch, pad, smoothing))
    return {
        "ours": {"losses": losses["ours"], "parameters": ours},
        "torchs": {"losses": losses["torchs"], "parameters": to_arrays(transformer_nest(model))},
    }


def training_step(model, optimiser, batch, pad, smoothing=0.0):
    """One step of a torch `Transformer`: forward, backward, update. Returns the loss as a float."""
    src, tgt_in, tgt_out = (torch.from_numpy(ids) for ids in (batch.src, batch.tgt_in, batch.tgt_out))
    optimiser.zero_grad()
    _, _, logits = model(src, tgt_in, batch.src_lengths)
    loss = sequence_loss(logits, tgt_out, pad, smoothing)
    loss.backward()
    optimiser.step()
    return loss.item()
