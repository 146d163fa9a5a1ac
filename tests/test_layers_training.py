"""Loss, optimisers and the training loop against torch, and that a run can be stopped and goes on."""

import itertools
import math
import os
import signal
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import FORWARD, GRADIENT, agree, as_float32, few, finite_differences, leading_axes, lengths, seeds

from helpers import corpus
from helpers.layers import training
from helpers.layers.encoder_decoder import new_transformer
from helpers.layers.nest import map_nest, walk
from helpers.layers.training import (
    accuracy,
    adam,
    batches,
    cross_entropy,
    cross_entropy_backward,
    gradient_norms,
    load_run,
    loss_and_gradients,
    new_adam,
    new_run,
    save_run,
    sgd,
    shift_right,
    take,
    target_shares,
    train,
    warm_up,
)
from helpers.reference import training as reference

smoothings = st.sampled_from([0.0, 0.1, 0.6])
START, PAD = 1, 0


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """torch's threads wait for each other: on a busy machine a small model is many times slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def padded_targets(rng, shape, N_vocab):
    """Targets with at least one valid id; about a third is padding."""
    targets = np.where(rng.random(shape) < 0.3, PAD, rng.integers(1, N_vocab, shape))
    targets.flat[0] = 1
    return targets


def small_data(rng, pairs=40, S=6, N_vocab=19):
    """Random pairs as corpus.encode_batch gives them."""
    src_lengths, tgt_lengths = rng.integers(1, S + 1, (2, pairs))
    src, tgt_out = rng.integers(2, N_vocab, (2, pairs, S))
    src[np.arange(S) >= src_lengths[:, None]] = PAD
    tgt_out[np.arange(S) >= tgt_lengths[:, None]] = PAD
    return corpus.Batch(src, shift_right(tgt_out, START), tgt_out, src_lengths, tgt_lengths)


def small_run(seed=0, dtype=np.float64, norm="post"):
    parameters = new_transformer(np.random.default_rng(seed), N_vocab=19, d=8, d_ff=12, blocks=1, norm=norm)
    return new_run(map_nest(lambda array: array.astype(dtype), parameters), heads=2, norm=norm, seed=seed)


def constant(step):
    return 0.01


# ---------------------------------------------------------------- targets and loss


def test_shift_right():
    targets = np.array([[5, 6, 2, 0], [7, 2, 0, 0]])
    assert shift_right(targets, 1).tolist() == [[1, 5, 6, 2], [1, 7, 2, 0]]
    assert targets.tolist() == [[5, 6, 2, 0], [7, 2, 0, 0]]
    batch = corpus.encode_batch([(["a"], ["b", "c"])], corpus.build_vocabulary([(["a"], ["b", "c"])]))
    assert np.array_equal(shift_right(batch.tgt_out, batch.tgt_in[0, 0]), batch.tgt_in)


@few
@given(seeds, leading_axes, lengths, st.integers(2, 9), smoothings, st.booleans(), st.sampled_from([1, 30, 1e4]))
def test_cross_entropy_equals_torch(seed, leading, S, N_vocab, smoothing, padded, size):
    rng = np.random.default_rng(seed)
    logits = size * rng.standard_normal((*leading, S, N_vocab))
    targets = padded_targets(rng, (*leading, S), N_vocab)
    pad = PAD if padded else None
    states = cross_entropy(logits, targets, pad, smoothing)
    loss, dlogits = reference.cross_entropy(logits, targets, pad, smoothing)
    assert states["loss"] == pytest.approx(loss, rel=1e-12, abs=1e-12)
    agree(cross_entropy_backward(states), dlogits, FORWARD)
    agree(states["Pi"].sum(axis=-1), np.ones(targets.shape), FORWARD)


@few
@given(seeds, lengths, st.integers(2, 9), st.sampled_from([0.1, 0.6]))
def test_smoothing_over_the_wrong_tokens(seed, S, N_vocab, smoothing):
    rng = np.random.default_rng(seed)
    logits, targets = rng.standard_normal((S, N_vocab)), padded_targets(rng, (S,), N_vocab)
    total = 0.0
    for row, y in zip(logits, targets, strict=True):
        if y != PAD:
            p = np.exp(row) / np.exp(row).sum()
            asked = np.full(N_vocab, smoothing / (N_vocab - 1))
            asked[y] = 1 - smoothing
            total -= (asked * np.log(p)).sum()
    states = cross_entropy(logits, targets, PAD, smoothing, spread="wrong")
    assert states["loss"] == pytest.approx(total / (targets != PAD).sum(), rel=1e-12)

    def loss(moved):
        return np.array(cross_entropy(moved, targets, PAD, smoothing, spread="wrong")["loss"])

    agree(cross_entropy_backward(states), finite_differences(loss, logits, 1.0), 1e-8)


@pytest.mark.parametrize("spread", ["all", "wrong"])
def test_the_shares_add_up_to_one(spread):
    on, off = target_shares(50, 0.1, spread)
    assert on + 49 * off == pytest.approx(1, abs=1e-15)
    assert off == pytest.approx(0.1 / (50 if spread == "all" else 49))
    assert target_shares(50) == (1, 0)


def test_the_two_ways_to_smooth_differ_by_a_factor_of_the_rate():
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((4, 10)), rng.integers(0, 10, 4)
    one = cross_entropy(logits, targets, smoothing=0.1, spread="wrong")["loss"]
    assert one != pytest.approx(cross_entropy(logits, targets, smoothing=0.1)["loss"], rel=1e-4)
    assert one == pytest.approx(cross_entropy(logits, targets, smoothing=0.1 * 10 / 9)["loss"], rel=1e-12)


def test_extreme_logits_stay_finite():
    logits = np.array([[1e6, -1e6, 0.0]])
    for dtype in (np.float32, np.float64):
        states = cross_entropy(logits.astype(dtype), np.array([1]))
        assert states["loss"] == 2e6
        assert np.isfinite(cross_entropy_backward(states)).all()
    assert cross_entropy(logits, np.array([0]))["loss"] == 0


def test_padding_changes_neither_loss_nor_gradient():
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((2, 3, 5)), np.array([[1, 2, PAD], [3, PAD, PAD]])
    states = cross_entropy(logits, targets, PAD, 0.1)
    valid = targets != PAD
    assert states["loss"] == pytest.approx(cross_entropy(logits[valid], targets[valid], None, 0.1)["loss"], rel=1e-14)
    moved = logits + 100 * ~valid[..., None] * rng.standard_normal(5)
    again = cross_entropy(moved, targets, PAD, 0.1)
    assert again["loss"] == states["loss"]
    assert np.array_equal(cross_entropy_backward(again), cross_entropy_backward(states))
    assert not cross_entropy_backward(states)[~valid].any()
    assert not states["losses"][~valid].any()


def test_wrong_targets_are_named():
    logits = np.zeros((2, 3, 5))
    with pytest.raises(ValueError, match=r"targets have shape \(2, 4\); expected \(2, 3\)"):
        cross_entropy(logits, np.ones((2, 4), int))
    with pytest.raises(ValueError, match="every one is padding"):
        cross_entropy(logits, np.zeros((2, 3), int), pad=0)
    for wrong in (5, -1):
        with pytest.raises(ValueError, match=r"ids must lie in 0..4"):
            cross_entropy(logits, np.full((2, 3), wrong))
    with pytest.raises(ValueError, match="smoothing must lie in"):
        cross_entropy(logits, np.ones((2, 3), int), smoothing=1.0)
    with pytest.raises(ValueError, match="spread must be 'all' or 'wrong'"):
        cross_entropy(logits, np.ones((2, 3), int), spread="some")


def test_loss_and_gradient_keep_float32_and_the_inputs():
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((2, 3, 5), dtype=np.float32), np.array([[1, 2, PAD], [3, PAD, PAD]])
    before = logits.copy()
    states = cross_entropy(logits, targets, PAD, 0.1)
    assert states["Pi"].dtype == states["losses"].dtype == cross_entropy_backward(states).dtype == np.float32
    assert np.array_equal(logits, before)
    assert np.array_equal(cross_entropy_backward(states), cross_entropy_backward(states))


def test_accuracy_counts_valid_targets_only():
    logits = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0], [0.0, 1.0, 5.0], [0.0, 9.0, 0.0]])
    assert accuracy(logits, np.array([1, 2, 2, PAD]), PAD) == pytest.approx(2 / 3)
    assert accuracy(logits, np.array([1, 0, 2, 1])) == 1.0


# ---------------------------------------------------------------- optimisers


def random_nest(rng):
    # the long vector and the matrix are larger than what Adam takes at a time
    shapes = {"W": (300, 400), "b": (70_000,), "list": (3, 2)}
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return {"W": arrays["W"], "inside": {"b": arrays["b"], "list": [arrays["list"], arrays["list"][0].copy()]}}


def test_sgd_equals_torch():
    rng = np.random.default_rng(0)
    parameters, steps = random_nest(rng), [random_nest(rng) for _ in range(5)]
    expected = reference.sgd(parameters, steps, 0.1)
    for gradients in steps:
        sgd(parameters, gradients, 0.1)
    agree(parameters, expected, FORWARD)


@pytest.mark.parametrize("betas", [(0.9, 0.98), (0.9, 0.999), (0.0, 0.5)])
def test_adam_equals_torch_over_many_steps(betas):
    rng = np.random.default_rng(0)
    parameters = random_nest(rng)
    steps = [map_nest(lambda array, size=10.0**power: size * array, random_nest(rng)) for power in range(-8, 4)]
    rates = [warm_up(step, 64, 5) for step in range(1, len(steps) + 1)]
    expected = reference.adam_steps(parameters, steps, rates, *betas, epsilon=1e-8)
    memory = new_adam(parameters)
    before = map_nest(np.copy, steps)
    for gradients, rate in zip(steps, rates, strict=True):
        adam(parameters, gradients, memory, rate, *betas, epsilon=1e-8)
    agree(parameters, expected, FORWARD)
    agree(steps, before, 0)
    assert memory["step"] == len(steps)


def test_the_first_adam_step_is_the_learning_rate_whatever_the_size_of_the_gradient():
    w, dw = {"w": np.zeros(3)}, {"w": np.array([1e-3, -1.0, 1e3])}
    adam(w, dw, new_adam(w), 0.01)
    np.testing.assert_allclose(w["w"], [-0.01, 0.01, -0.01], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_optimisers_change_the_arrays_in_place_and_keep_their_type(dtype):
    rng = np.random.default_rng(0)
    parameters, gradients = (map_nest(lambda a: a.astype(dtype), random_nest(rng)) for _ in range(2))
    parameters["W"] = parameters["W"].T  # a view that is not contiguous
    gradients["W"] = gradients["W"].T
    arrays = [(array, array.copy()) for _, array in walk(parameters)]
    memory = new_adam(parameters)
    for step in (lambda: sgd(parameters, gradients, 0.1), lambda: adam(parameters, gradients, memory, 0.1)):
        step()
        for (_, array), (same, before) in zip(walk(parameters), arrays, strict=True):
            assert array is same and array.dtype == dtype
            assert (array != before).all()


def test_the_warm_up_rises_in_a_straight_line_and_falls_with_the_root():
    rates = [warm_up(step, 512) for step in range(1, 12_001)]
    assert int(np.argmax(rates)) + 1 == 4000
    assert rates[3999] == pytest.approx(1 / math.sqrt(512 * 4000))
    assert rates[999] == pytest.approx(rates[3999] / 4)
    assert rates[11_999] == pytest.approx(rates[3999] / math.sqrt(3))
    assert warm_up(7, 512, factor=2.0) == pytest.approx(2 * rates[6])


def test_gradient_norms():
    gradients = {"a": [np.array([[3.0, 4.0]])], "b": np.zeros((2, 2, 2))}
    assert gradient_norms(gradients) == {"a/0": 5.0, "b": 0.0}


# ---------------------------------------------------------------- batches and the loop


@pytest.mark.parametrize("by_length", [False, True])
def test_an_epoch_holds_every_pair_once_and_the_next_another_order(by_length):
    data = small_data(np.random.default_rng(0))
    # the first source token tells the pairs apart
    data.src[:, 0] = np.arange(100, 140)
    taken = [batch.src[:, 0].tolist() for batch in itertools.islice(batches(data, 8, seed=3, by_length=by_length), 10)]
    first, second = sum(taken[:5], []), sum(taken[5:], [])
    assert sorted(first) == sorted(second) == list(range(100, 140))
    assert first != second


@pytest.mark.parametrize("by_length", [False, True])
def test_batches_go_on_from_a_step(by_length):
    data = small_data(np.random.default_rng(0))
    whole = list(itertools.islice(batches(data, 7, 1, 0, by_length), 12))
    for step in (0, 3, 5, 11):
        agree(next(batches(data, 7, 1, step, by_length))._asdict(), whole[step]._asdict(), 0)
    assert not np.array_equal(next(batches(data, 7, seed=2)).src, whole[0].src)
    for size in (0, 41):
        with pytest.raises(ValueError, match="expected 1 to 40"):
            next(batches(data, size))


def test_pairs_of_like_length_leave_less_padding():
    data = small_data(np.random.default_rng(0), pairs=200)
    plain, sorted_ones = (
        sum(batch.tgt_out.size for batch in itertools.islice(batches(data, 5, by_length=by_length), 40))
        for by_length in (False, True)
    )
    assert data.tgt_lengths.sum() <= sorted_ones < 0.8 * plain


def test_a_batch_is_cut_to_its_longest_rows():
    data = small_data(np.random.default_rng(0))
    short = np.flatnonzero((data.src_lengths <= 3) & (data.tgt_lengths <= 4))
    batch = take(data, short)
    assert batch.src.shape == (len(short), data.src_lengths[short].max())
    assert batch.tgt_in.shape == batch.tgt_out.shape == (len(short), data.tgt_lengths[short].max())
    assert (batch.src != PAD).sum() == data.src_lengths[short].sum()


@pytest.mark.parametrize(("norm", "smoothing"), [("post", 0.0), ("pre", 0.1)])
def test_training_equals_torch_step_by_step(norm, smoothing):
    vocabulary = corpus.load_vocabulary()
    data = corpus.encode_batch(corpus.load_pairs("train")[:800], vocabulary)
    parameters = new_transformer(np.random.default_rng(0), len(vocabulary), 32, 64, 2, norm)
    before = map_nest(np.copy, parameters)
    fifty = list(itertools.islice(batches(data, 16), 50))
    rates = [3e-3 * min(1, step / 10) for step in range(1, 51)]
    both = reference.train_side_by_side(parameters, fifty, rates, 4, vocabulary.pad, smoothing, norm)
    ours, torchs = both["ours"], both["torchs"]
    np.testing.assert_allclose(ours["losses"], torchs["losses"], rtol=0, atol=1e-9)
    agree(ours["parameters"], torchs["parameters"], 1e-8)
    assert np.mean(ours["losses"][-5:]) < ours["losses"][0] - 1.5
    agree(parameters, before, 0)


def test_gradients_start_afresh_with_every_batch():
    run, data = small_run(), small_data(np.random.default_rng(0))
    first = loss_and_gradients(run["parameters"], data, 2, PAD)[1]
    agree(loss_and_gradients(run["parameters"], data, 2, PAD)[1], first, 0)


def test_the_gradient_of_a_batch_is_the_mean_over_its_targets():
    run, data = small_run(), small_data(np.random.default_rng(0), pairs=3)
    together = loss_and_gradients(run["parameters"], data, 2, PAD)[1]
    summed = map_nest(np.zeros_like, together)
    for i in range(3):
        alone = loss_and_gradients(run["parameters"], take(data, [i]), 2, PAD)[1]
        share = data.tgt_lengths[i] / data.tgt_lengths.sum()
        summed = map_nest(lambda total, part, share=share: total + share * part, summed, alone)
    agree(summed, together, GRADIENT)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_a_saved_run_goes_on_as_if_it_had_never_stopped(tmp_path, rate):
    data = small_data(np.random.default_rng(0))
    whole = train(small_run(), data, 12, constant, PAD, size=8, rate=rate)
    part = train(small_run(), data, 7, constant, PAD, size=8, rate=rate)
    save_run(tmp_path / "run.npz", part)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert "parameters/encoder/0/attention/W_Q" in file.files
    loaded = load_run(tmp_path / "run.npz")
    assert loaded["step"] == 7 and loaded["losses"] == part["losses"]
    train(loaded, data, 12, constant, PAD, size=8, rate=rate)
    assert loaded["losses"] == whole["losses"] and len(whole["losses"]) == whole["step"] == 12
    agree([loaded["parameters"], loaded["memory"]["m"]], [whole["parameters"], whole["memory"]["m"]], 0)
    assert {name: loaded[name] for name in ("heads", "norm", "seed", "step")} == {
        name: whole[name] for name in ("heads", "norm", "seed", "step")
    }


def test_dropout_follows_from_the_seed_and_changes_the_loss():
    data = small_data(np.random.default_rng(0))
    losses = [train(small_run(), data, 3, constant, PAD, size=8, rate=rate)["losses"] for rate in (0.0, 0.3, 0.3)]
    assert losses[1] == losses[2] != losses[0]


def test_an_interrupt_stops_after_the_step_and_training_goes_on():
    data = small_data(np.random.default_rng(0))
    whole = train(small_run(), data, 6, constant, PAD, size=8)
    before = signal.getsignal(signal.SIGINT)

    def interrupt(run):
        if run["step"] == 4:
            os.kill(os.getpid(), signal.SIGINT)

    run = train(small_run(), data, 6, constant, PAD, size=8, report=interrupt)
    assert run["step"] == 4
    assert signal.getsignal(signal.SIGINT) is before
    train(run, data, 6, constant, PAD, size=8)
    agree(run["parameters"], whole["parameters"], 0)
    assert run["losses"] == whole["losses"]


def test_an_interrupt_in_the_middle_of_an_update_waits_for_its_end(monkeypatch):
    data = small_data(np.random.default_rng(0))

    def interrupted_adam(parameters, gradients, memory, learning_rate):
        os.kill(os.getpid(), signal.SIGINT)
        adam(parameters, gradients, memory, learning_rate)

    monkeypatch.setattr(training, "adam", interrupted_adam)
    run = train(small_run(), data, 6, constant, PAD, size=8)
    monkeypatch.undo()
    assert run["step"] == run["memory"]["step"] == 1
    agree(run["parameters"], train(small_run(), data, 1, constant, PAD, size=8)["parameters"], 0)


def test_training_works_outside_the_main_thread():
    run = small_run()
    arguments = (run, small_data(np.random.default_rng(0)), 2, constant, PAD, 8)
    thread = threading.Thread(target=train, args=arguments)
    thread.start()
    thread.join()
    assert run["step"] == 2


def test_float32_training_stays_float32():
    run = train(small_run(dtype=np.float32), small_data(np.random.default_rng(0)), 3, constant, PAD, size=8, rate=0.1)
    assert all(array.dtype == np.float32 for _, array in walk([run["parameters"], run["memory"]["m"]]))
    assert as_float32(run["parameters"])["E"].dtype == np.float32
