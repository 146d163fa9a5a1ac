"""Explorer of notebook 11: a pair at one point of the recorded training; and the progress of a training run."""

import time
from functools import cache

import numpy as np

from helpers import corpus
from helpers.explorers import html
from helpers.explorers.page import Bars, Curve, Heatmap, Page, Row, Table, Text, write_number
from helpers.explorers.shell import Choice, Explorer, Slider, Stepper
from helpers.explorers.translator import HEADS, SIZES, load_training, translate
from helpers.layers.encoder_decoder import transformer
from helpers.layers.nest import map_nest
from helpers.layers.training import cross_entropy, gradient_norms, loss_and_gradients, sgd, target_shares

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SHOWN_EVERY = 25  # steps between two updates of the progress


# --- the explorer -------------------------------------------------------------


@cache
def pair(sentence):
    """(source words, target words, batch) of one of the corpus's examples."""
    english, german, _ = corpus.EXAMPLES[sentence]
    source, target = english.split(), german.split()
    return source, target, corpus.encode_batch([(source, target)], corpus.load_vocabulary())


@cache
def steps():
    """The steps at which the recorded training kept its parameters."""
    return tuple(load_training()["snapshots"])


@cache
def curves():
    """(steps, series of losses, series of shares) of the recorded training, a point every 50 steps."""
    training = load_training()
    measured = training["validation"]
    losses = training["losses"].reshape(len(measured["step"]) - 1, -1).mean(axis=1)  # (points - 1,)
    loss = {"validation": measured["loss"], "training, smoothed": np.append(np.nan, losses)}
    shares = {"tokens": measured["accuracy"], "whole sentences": measured["exact_match"]}
    return measured["step"], loss, shares


@cache
def translation(snapshot, sentence):
    """What the parameters of a snapshot write for the sentence, as words."""
    source, _, _ = pair(sentence)
    return translate(load_training()["snapshots"][steps()[snapshot]], [source], corpus.load_vocabulary())[0]


@cache
def one_pass(snapshot, sentence, smoothing):
    """(parameters, states of the model, states of the loss, gradients) for one pair."""
    parameters = load_training()["snapshots"][steps()[snapshot]]
    _, _, batch = pair(sentence)
    pad = corpus.load_vocabulary().pad
    states = transformer(parameters, batch.src, batch.tgt_in, HEADS, batch.src_lengths)
    ends, gradients = loss_and_gradients(parameters, batch, HEADS, pad, smoothing)
    return parameters, states, ends, gradients


@cache
def after_a_step(snapshot, sentence, smoothing, rate):
    """States of the loss after one step of gradient descent on this pair alone."""
    parameters, _, _, gradients = one_pass(snapshot, sentence, smoothing)
    _, _, batch = pair(sentence)
    moved = map_nest(np.copy, parameters)
    sgd(moved, gradients, rate)
    logits = transformer(moved, batch.src, batch.tgt_in, HEADS, batch.src_lengths)["logits"]
    return cross_entropy(logits, batch.tgt_out, corpus.load_vocabulary().pad, smoothing)


def target_probabilities(ends, ids):
    """p of each target: (S_tgt,)."""
    return ends["Pi"][0, np.arange(len(ids)), ids]


def shifted_table(settings, ends, after):
    """The pair shifted by one, with the probability of each target before and after the step."""
    vocabulary = corpus.load_vocabulary()
    _, _, batch = pair(settings["sentence"])
    reads, asked = (vocabulary.ids_to_words(ids[0]) for ids in (batch.tgt_in, batch.tgt_out))
    likely = vocabulary.ids_to_words(ends["Pi"][0].argmax(axis=-1))
    before, later = (target_probabilities(states, batch.tgt_out[0]) for states in (ends, after))
    rows = [
        (t, reads[t], asked[t], f"{before[t]:.3f}", f"{ends['losses'][0, t]:.2f}", likely[t], f"{later[t]:.3f}")
        for t in range(len(asked))
    ]
    columns = ["position", "decoder reads", "asked for", "p(target)", "loss", "most likely", "p after the step"]
    return Table("the pair, shifted by one", columns, rows, marked=[settings["row"]])


def read_out(settings, rows, A):
    """The chosen position in words."""
    t, reads, asked, p, loss, likely, later = rows[settings["row"]]
    on, off = target_shares(len(corpus.load_vocabulary()), settings["smoothing"])
    source, _, _ = pair(settings["sentence"])
    most = int(A[t].argmax())
    wanted = f"Asked for is {on:.4g} on «{asked}»" + (f" and {off:.1e} on every other token." if off else ".")
    guess = "It is the most likely token." if likely == asked else f"«{likely}» is more likely."
    return (
        f"Position {t} has read «{reads}» and gives «{asked}» p = {p}, loss {loss}. {guess} {wanted} "
        f"One step of gradient descent on this pair with learning rate {settings['learning_rate']:g} makes it {later}. "
        f"Layer {settings['layer']}, head {settings['head']} reads most from «{source[most]}» "
        f"(weight {write_number(round(float(A[t, most]), 2))})."
    )


def norm_bars(gradients, stack, layer):
    """Length of the gradient of every parameter of one block."""
    norms = gradient_norms(gradients[stack][layer])
    return Bars(
        f"gradient norms, {stack}, layer {layer}",
        list(norms),
        list(norms.values()),
        f"Lengths of the gradients of {len(norms)} parameters of {stack} block {layer}; "
        f"the longest is {max(norms, key=norms.get)}.",
    )


def page(settings):
    """One pair at one point of the training."""
    snapshot, sentence, smoothing = (settings[name] for name in ("snapshot", "sentence", "smoothing"))
    rate, layer, head, step = settings["learning_rate"], settings["layer"], settings["head"], steps()[snapshot]
    source, target, _ = pair(sentence)
    _, states, ends, gradients = one_pass(snapshot, sentence, smoothing)
    after = after_a_step(snapshot, sentence, smoothing, rate)
    table = shifted_table(settings, ends, after)
    A = states["decoder"]["blocks"][layer]["cross_attention"]["A"][0, head]  # (S_tgt, S_src)

    written = translation(snapshot, sentence)
    verdict = "which is right" if written == target else f"not «{corpus.join_words(target)}»"
    said = f"After step {step} the model writes «{corpus.join_words(written)}», {verdict}."
    losses = [after_a_step(snapshot, sentence, smoothing, each)["loss"] for each in RATES]
    change = f"loss of the pair {ends['loss']:.2f}, after one step with learning rate {rate:g}: {after['loss']:.2f}."
    x, loss, shares = curves()
    return Page(
        f"Training, step {step} of {steps()[-1]}",
        [
            Text(said, tone="readout"),
            table,
            Text(read_out(settings, table.rows, A), tone="readout"),
            Row(
                Heatmap(
                    f"cross-attention, layer {layer}, head {head}",
                    A,
                    f"Cross-attention of layer {layer}, head {head}: {A.shape[0]} positions read {A.shape[1]} words.",
                    row_labels=[row[2] for row in table.rows],
                    column_labels=source,
                    row_title="asked for",
                    column_title="source word",
                    mark_row=settings["row"],
                    titles=True,
                ),
                Curve(
                    "loss of this pair against the learning rate",
                    RATES,
                    {"after one step": losses, "before": [ends["loss"]] * len(RATES)},
                    f"Loss of the pair after one step for {len(RATES)} learning rates; a line marks {rate:g}.",
                    "learning rate",
                    "loss",
                    log_x=True,
                    mark_x=rate,
                ),
                columns=2,
            ),
            Row(
                Curve(
                    "loss of the recorded training",
                    x,
                    loss,
                    f"Validation and training loss fall over {steps()[-1]} steps; a line marks step {step}.",
                    "step",
                    "loss",
                    log_y=True,
                    mark_x=step,
                ),
                Curve(
                    "share that is right, validation",
                    x,
                    shares,
                    f"Shares of right tokens and right sentences rise; a line marks step {step}.",
                    "step",
                    "share",
                    mark_x=step,
                ),
                columns=2,
            ),
            Row(norm_bars(gradients, "encoder", layer), norm_bars(gradients, "decoder", layer), columns=2),
            Text(
                "The parameters are snapshots of the training that made the course's translator. The table E, shared "
                f"by source, target and output, has a gradient of length {gradient_norms(gradients)['E']:.3f}. b_K has "
                "none but rounding: it adds one number to all scores of a row, and softmax does not notice."
            ),
        ],
        f"Step {step}. {said} {change[0].upper()}{change[1:]}",
        f"A pair shifted by one with probabilities, its cross-attention, curves of the training at step {step}, "
        "and gradient norms of one encoder and one decoder block.",
    )


CONTROLS = [
    Choice("sentence", [(corpus.join_words(row[0].split()), i) for i, row in enumerate(corpus.EXAMPLES)], 0),
    Stepper("snapshot", 0, lambda settings: len(steps()) - 1, 3),
    Choice("smoothing", [0.0, 0.1, 0.3], 0.0, label="label smoothing"),
    Choice("learning_rate", list(RATES), 0.01, label="learning rate"),
    Slider("layer", 0, SIZES["blocks"] - 1, 1),
    Slider("head", 0, HEADS - 1, 0),
    Slider("row", 0, lambda settings: len(pair(settings["sentence"])[1]), 3),
]


def explore(**start):
    """Show the explorer; keyword arguments set where the controls start, as explore(snapshot=8)."""
    Explorer(page, CONTROLS, "training", **start).show()


# --- progress of a run in this notebook ---------------------------------------


def progress_page(run, until, seconds, sentence):
    """Loss so far and the present translation of one sentence."""
    step, losses = run["step"], np.array(run["losses"])
    blocks = len(losses) // SHOWN_EVERY
    means = losses[: blocks * SHOWN_EVERY].reshape(blocks, -1).mean(axis=1)  # (blocks,)
    source, target, _ = pair(sentence)
    written = translate(run["parameters"], [source], corpus.load_vocabulary())[0]
    panels = [
        Text(f"step {step} of {until}, {seconds:.0f} s; loss of the last {SHOWN_EVERY} steps {means[-1]:.3f}"),
        Text(f"{corpus.join_words(source)}  →  {corpus.join_words(written)}", tone="readout"),
        Curve(
            "loss",
            SHOWN_EVERY * np.arange(1, blocks + 1),
            {"training": means},
            f"Training loss up to step {step}, averaged over {SHOWN_EVERY} steps.",
            "step",
            "loss",
        ),
    ]
    summary = f"step {step} of {until}" + (", right" if written == target else "")
    return Page("Training in this notebook", panels, summary, f"Loss up to step {step} of {until}.")


def progress(run, until, sentence=0):
    """Show a bar, the loss and the translation of one sentence; returns the ``report`` to hand to `train`.

    The bar begins where the run stands. The saved notebook keeps a fixed line of text.
    """
    import ipywidgets
    from IPython import get_ipython
    from IPython.display import display

    bar = ipywidgets.IntProgress(value=run["step"], min=0, max=until, layout={"width": "400px"})
    picture = ipywidgets.HTML()
    box = ipywidgets.VBox([bar, picture])
    begun = time.perf_counter()

    def report(run):
        if run["step"] % SHOWN_EVERY == 0:
            bar.value = run["step"]
            picture.value = html.write(progress_page(run, until, time.perf_counter() - begun, sentence))

    text = f"Training up to step {until}."
    if get_ipython() is None:
        print(text)
    else:
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        display({"application/vnd.jupyter.widget-view+json": view, "text/plain": text}, raw=True)
    return report
