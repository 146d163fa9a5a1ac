"""Loss, gradient descent and the training loop (notebook 11).

Targets are rows of ids: y_1 ... y_T, the end token, then padding. Only the valid
ones count. The loss is the mean over valid targets.
Source: document section 11; "Attention Is All You Need", sections 5.3 and 5.4;
Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1.
"""

import contextlib
import math
import signal
import threading

import numpy as np

from helpers.layers.encoder_decoder import new_keep, transformer, transformer_backward
from helpers.layers.nest import load, map_nest, save, walk


def shift_right(targets, start):
    """Decoder input for targets (..., S): the start token, then every target but the last."""
    tgt_in = np.empty_like(targets)  # (..., S)
    tgt_in[..., 0] = start
    tgt_in[..., 1:] = targets[..., :-1]
    return tgt_in


def target_shares(N_vocab, smoothing=0.0, spread="all"):
    """Label smoothing: how much probability is asked of the target and of every other token.

    spread="all": the smoothed mass goes to all N_vocab tokens, the target among them
    (F.cross_entropy; "Rethinking the Inception Architecture", section 7).
    spread="wrong": it goes to the N_vocab - 1 tokens that are not the target (the
    code that the authors of the paper published).
    Both shares are for one target row, and N_vocab - 1 times the second plus the
    first is 1.
    """
    if spread not in ("all", "wrong"):
        raise ValueError(f"target_shares: spread must be 'all' or 'wrong', got {spread!r}")
    if not 0 <= smoothing < 1:
        raise ValueError(f"target_shares: smoothing must lie in [0, 1), got {smoothing}")
    if spread == "wrong":
        return 1 - smoothing, smoothing / (N_vocab - 1)
    return 1 - smoothing + smoothing / N_vocab, smoothing / N_vocab


def cross_entropy(logits, targets, pad=None, smoothing=0.0, spread="all"):
    """Cross-entropy of logits (..., S, N_vocab) and target ids (..., S); returns the states.

    A target equal to ``pad`` does not count. States: Pi, the probabilities
    (..., S, N_vocab); ``losses``, one for each position (..., S), 0 where the target is
    padding; ``loss``, their mean over valid targets; ``targets`` and ``valid``.

    Raises ValueError for shapes that do not fit, ids out of range, and when no
    target is valid.
    """
    valid = check_targets(logits, targets, pad)  # (..., S)
    on, off = target_shares(logits.shape[-1], smoothing, spread)
    # the maximum cancels in the loss and keeps exp from overflowing
    shifted = logits - logits.max(axis=-1, keepdims=True)  # (..., S, N_vocab)
    places = np.where(valid, targets, 0)[..., None]  # (..., S, 1)
    losses = (off - on) * np.take_along_axis(shifted, places, axis=-1)[..., 0]  # (..., S)
    if off:
        losses -= off * shifted.sum(axis=-1)
    Pi = np.exp(shifted, out=shifted)
    total = Pi.sum(axis=-1, keepdims=True)  # (..., S, 1)
    Pi /= total
    losses += np.log(total[..., 0])
    losses[~valid] = 0
    loss = float(losses.sum()) / int(valid.sum())
    shares = {"on": on, "off": off}
    return {"Pi": Pi, "losses": losses, "loss": loss, "targets": places[..., 0], "valid": valid, "shares": shares}


def cross_entropy_backward(states):
    """Gradient of the mean loss with respect to the logits, (..., S, N_vocab).

    Probability minus what was asked for, divided by the number of valid targets;
    exactly zero where the target is padding.
    """
    on, off = states["shares"]["on"], states["shares"]["off"]
    places, valid = states["targets"][..., None], states["valid"]
    dlogits = states["Pi"] - off  # (..., S, N_vocab)
    at_target = np.take_along_axis(dlogits, places, axis=-1)  # (..., S, 1)
    np.put_along_axis(dlogits, places, at_target - (on - off), axis=-1)
    dlogits *= (valid / valid.sum()).astype(dlogits.dtype)[..., None]
    return dlogits


def accuracy(logits, targets, pad=None):
    """Share of the valid targets that have the highest score: a float from 0 to 1."""
    valid = check_targets(logits, targets, pad)
    return float((logits.argmax(axis=-1) == targets)[valid].mean())


def sgd(parameters, gradients, learning_rate):
    """One step of gradient descent, w - learning_rate * dL/dw, in place."""

    def update(w, dw):
        w -= learning_rate * dw

    map_nest(update, parameters, gradients)


def new_adam(parameters):
    """Adam's memory: the step number and, for every parameter, the running means of dw and dw^2.

    They are called m and v, and start at zero.
    """
    return {"step": 0, "m": map_nest(np.zeros_like, parameters), "v": map_nest(np.zeros_like, parameters)}


def adam(parameters, gradients, memory, learning_rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    """One step of Adam with bias correction; changes the parameters and the memory in place.

    The defaults of beta_1, beta_2 and epsilon are the paper's.
    """
    memory["step"] += 1
    # both means start at zero; dividing by what has arrived of their weights makes up for it
    arrived_1, arrived_2 = 1 - beta_1 ** memory["step"], 1 - beta_2 ** memory["step"]
    size = learning_rate * math.sqrt(arrived_2) / arrived_1
    floor = epsilon * math.sqrt(arrived_2)

    def update(w, dw, m, v):
        if w.size > 16_384 and len(w) > 1:
            # by halves, so that the temporary arrays below stay in the processor's cache
            for half in (slice(None, len(w) // 2), slice(len(w) // 2, None)):
                update(w[half], dw[half], m[half], v[half])
            return
        m *= beta_1
        m += (1 - beta_1) * dw
        v *= beta_2
        v += (1 - beta_2) * dw * dw
        w -= size * m / (np.sqrt(v) + floor)

    map_nest(update, parameters, gradients, memory["m"], memory["v"])


def warm_up(step, d, warm_up_steps=4000, factor=1.0):
    """The paper's learning rate at a step counted from 1.

    It rises in a straight line up to ``warm_up_steps``, then falls as step^-1/2.
    """
    return factor / math.sqrt(d) * min(1 / math.sqrt(step), step / warm_up_steps**1.5)


def gradient_norms(gradients):
    """Length of every parameter's gradient, by path."""
    return {path: math.sqrt(np.vdot(dw, dw)) for path, dw in walk(gradients)}


def loss_and_gradients(parameters, batch, heads, pad, smoothing=0.0, spread="all", norm="post", keep=None, rate=0.0):
    """One pass forward and back over a batch: (states of `cross_entropy`, gradients).

    ``batch`` has src, src_lengths, tgt_in and tgt_out, as `corpus.encode_batch` makes
    it. Every call starts its gradients afresh: none is left over from the batch before.
    """
    states = transformer(parameters, batch.src, batch.tgt_in, heads, batch.src_lengths, norm, keep, rate)
    ends = cross_entropy(states["logits"], batch.tgt_out, pad, smoothing, spread)
    gradients = transformer_backward(parameters, states, cross_entropy_backward(ends), norm, keep, rate)
    return ends, gradients


def batches(data, size, seed=0, step=0, by_length=False):
    """Yield batches without end, every epoch in a new order; the same seed and step always give the same batch.

    ``data`` is one large batch of all pairs, as `corpus.encode_batch` makes it. With
    ``by_length``, pairs of like length among those for eight batches come
    together, so that little of a batch is padding. What does not fill a batch
    waits for another epoch.

    Raises ValueError when there are fewer than ``size`` pairs.
    """
    pairs = len(data.src)
    if not 1 <= size <= pairs:
        raise ValueError(f"batches: size is {size}; expected 1 to {pairs}, the number of pairs")
    while True:
        epoch, done = divmod(step, pairs // size)
        rng = np.random.default_rng([seed, epoch])
        order, places = rng.permutation(pairs), np.arange(pairs // size)
        if by_length:
            eight = np.arange(pairs) // (8 * size)  # (pairs,)
            order = order[np.lexsort((data.src_lengths[order], data.tgt_lengths[order], eight))]
            places = rng.permutation(places)
        for place in places[done:]:
            yield take(data, order[place * size : (place + 1) * size])
            step += 1


def take(data, rows):
    """The batch of some rows of a larger one, cut to its longest source and target."""
    src_lengths, tgt_lengths = data.src_lengths[rows], data.tgt_lengths[rows]  # (size,)
    S_src, S_tgt = src_lengths.max(), tgt_lengths.max()
    return data._replace(
        src=data.src[rows, :S_src],  # (size, S_src)
        tgt_in=data.tgt_in[rows, :S_tgt],  # (size, S_tgt)
        tgt_out=data.tgt_out[rows, :S_tgt],  # (size, S_tgt)
        src_lengths=src_lengths,
        tgt_lengths=tgt_lengths,
    )


def new_run(parameters, heads, norm="post", seed=0):
    """A training run before its first step: all that is needed to go on with it later.

    Keys: parameters, heads, norm; memory, Adam's; step, how many are done;
    seed, from which batches and dropout follow; losses, one for each step done.
    """
    run = {"parameters": parameters, "heads": heads, "norm": norm, "memory": new_adam(parameters)}
    return run | {"step": 0, "seed": seed, "losses": []}


def train(run, data, until, learning_rate, pad, size=64, smoothing=0.0, rate=0.0, by_length=False, report=None):
    """Train until ``until`` steps are done; changes the run and returns it.

    ``data`` is one large batch of all pairs. ``learning_rate`` is a function of the step, counted from 1.
    ``report``, if given, is called with the run after each step. An interrupt
    lets the step in hand end and stops there; another call goes on as if
    nothing had happened.
    """
    parameters, heads, norm = run["parameters"], run["heads"], run["norm"]
    source = batches(data, size, run["seed"], run["step"], by_length)
    with waiting_interrupt() as interrupted:
        while run["step"] < until and not interrupted:
            batch, keep = next(source), None
            if rate:
                rng = np.random.default_rng([run["seed"], run["step"]])
                keep = new_keep(rng, parameters, batch.src, batch.tgt_in, rate)
            dropping = {"keep": keep, "rate": rate}
            ends, gradients = loss_and_gradients(parameters, batch, heads, pad, smoothing, norm=norm, **dropping)
            adam(parameters, gradients, run["memory"], learning_rate(run["step"] + 1))
            run["step"] += 1
            run["losses"].append(ends["loss"])
            if report is not None:
                report(run)
    return run


@contextlib.contextmanager
def waiting_interrupt():
    """While inside, an interrupt is noted in the list that is handed out instead of breaking off the work."""
    interrupted = []
    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread receives interrupts
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupted.append(number))
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def save_run(path, run):
    """Write the run to an .npz file, without pickle."""
    numbers = {name: np.array(run[name]) for name in ("step", "seed", "heads", "norm", "losses")}
    memory = run["memory"] | {"step": np.array(run["memory"]["step"])}
    save(path, {"parameters": run["parameters"], "memory": memory, **numbers})


def load_run(path):
    """The run that `save_run` wrote."""
    run = load(path)
    run["memory"]["step"] = int(run["memory"]["step"])
    return run | {name: run[name].tolist() for name in ("step", "seed", "heads", "norm", "losses")}


def check_targets(logits, targets, pad):
    """Which targets are valid, (..., S); ValueError that names the argument and what was expected."""
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"targets have shape {targets.shape}; expected {logits.shape[:-1]}, as logits {logits.shape}")
    valid = np.ones(targets.shape, bool) if pad is None else targets != pad  # (..., S)
    if not valid.any():
        raise ValueError("targets: every one is padding; the mean over valid targets needs at least one")
    N_vocab = logits.shape[-1]
    if ((targets < 0) | (targets >= N_vocab))[valid].any():
        raise ValueError(f"targets: ids must lie in 0..{N_vocab - 1}, got {targets.min()} to {targets.max()}")
    return valid
