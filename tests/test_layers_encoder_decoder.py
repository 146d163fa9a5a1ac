"""Decoder block, encoder, decoder and the whole model against torch, and what the masks promise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from layer_tools import (
    FORWARD,
    GRADIENT,
    agree,
    all_of_type,
    as_float32,
    differ_only_in_row,
    few,
    leading_axes,
    lengths,
    mask_kinds,
    random_mask,
    seeds,
    shaken,
)

from helpers.layers.attention import causal_mask, no_mask, padding_mask
from helpers.layers.encoder_decoder import (
    decoder,
    decoder_backward,
    decoder_block,
    decoder_block_backward,
    embed_sequence,
    encoder,
    encoder_backward,
    new_decoder_block,
    new_keep,
    new_transformer,
    transformer,
    transformer_backward,
)
from helpers.layers.nest import count, flatten, map_nest, walk
from helpers.layers.residual_and_mlp import draw_keep, new_layer_norm
from helpers.reference import encoder_decoder as reference
from helpers.reference import to_arrays

norms = st.sampled_from(["post", "pre"])
heads_and_d = st.sampled_from([(1, 3), (2, 4), (3, 6), (4, 8)])
rates = st.sampled_from([0.0, 0.3])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """torch's threads wait for each other: on a busy machine a small model is many times slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small_model(rng, norm="post", final_norms=None, N_vocab=23, d=8, d_ff=12, blocks=2):
    """A shaken model; ``final_norms`` True or False overrides what the norm would have."""
    parameters = new_transformer(rng, N_vocab, d, d_ff, blocks, norm)
    for name in ("encoder_norm", "decoder_norm"):
        if final_norms is True:
            parameters[name] = new_layer_norm(d)
        elif final_norms is False:
            parameters.pop(name, None)
    return shaken(parameters, rng)


def random_ids(rng, *shape, N_vocab=23):
    return rng.integers(0, N_vocab, shape)


@few
@given(seeds, leading_axes, lengths, lengths, heads_and_d, mask_kinds, mask_kinds, norms, rates)
def test_decoder_block_equals_torch(seed, leading, S_tgt, S_src, sizes, kind_tgt, kind_src, norm, rate):
    rng = np.random.default_rng(seed)
    heads, d = sizes
    parameters = shaken(new_decoder_block(rng, d, 7), rng)
    X, dX_new = rng.standard_normal((2, *leading, S_tgt, d))
    C = rng.standard_normal((*leading, S_src, d))
    M_tgt = random_mask(rng, kind_tgt, leading, S_tgt, S_tgt)
    M_src = random_mask(rng, kind_src, leading, S_tgt, S_src)
    names = ("self_attention", "cross_attention", "mlp")
    keep = {name: draw_keep(rng, X.shape, rate) for name in names} if rate else None
    states = decoder_block(parameters, X, C, heads, M_tgt, M_src, norm, keep, rate)
    agree(states["X_new"], reference.decoder_block(parameters, X, C, heads, M_tgt, M_src, norm, keep, rate), FORWARD)
    ours = decoder_block_backward(parameters, states, dX_new, norm, keep, rate)
    theirs = reference.decoder_block_gradients(parameters, X, C, heads, dX_new, M_tgt, M_src, norm, keep, rate)
    agree(list(ours), list(theirs), GRADIENT)


@few
@given(seeds, st.integers(1, 4), lengths, lengths, norms, st.sampled_from([None, True, False]), st.booleans(), rates)
def test_the_whole_model_equals_torch(seed, batch, S_src, S_tgt, norm, final_norms, padded, rate):
    rng = np.random.default_rng(seed)
    parameters = small_model(rng, norm, final_norms)
    src, tgt_in = random_ids(rng, batch, S_src), random_ids(rng, batch, S_tgt)
    src_lengths = rng.integers(1, S_src + 1, batch) if padded else None
    keep = new_keep(rng, parameters, src, tgt_in, rate) if rate else None
    states = transformer(parameters, src, tgt_in, 2, src_lengths, norm, keep, rate)
    theirs = reference.transformer(parameters, src, tgt_in, 2, src_lengths, norm, keep, rate)
    agree({name: states[name] for name in theirs}, theirs, FORWARD)
    dlogits = rng.standard_normal(states["logits"].shape)
    gradients = transformer_backward(parameters, states, dlogits, norm, keep, rate)
    expected = reference.transformer_gradients(parameters, src, tgt_in, 2, dlogits, src_lengths, norm, keep, rate)
    agree(gradients, expected, GRADIENT)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_torchs_own_random_weights_copied_out(norm):
    torch.manual_seed(0)
    model = reference.Transformer(N_vocab=23, d=8, heads=2, d_ff=12, blocks=3, norm=norm, final_norms=True)
    parameters = to_arrays(reference.transformer_nest(model))
    assert count(parameters) == sum(tensor.numel() for tensor in model.parameters())
    rng = np.random.default_rng(0)
    src, tgt_in, src_lengths = random_ids(rng, 3, 5), random_ids(rng, 3, 4), np.array([5, 2, 1])
    C, D, logits = model(torch.from_numpy(src), torch.from_numpy(tgt_in), src_lengths)
    states = transformer(parameters, src, tgt_in, 2, src_lengths, norm)
    agree({name: states[name] for name in ("C", "D", "logits")}, to_arrays({"C": C, "D": D, "logits": logits}), FORWARD)


@pytest.mark.slow
def test_base_size():
    rng = np.random.default_rng(0)
    parameters = new_transformer(rng, N_vocab=100)
    assert len(parameters["encoder"]) == len(parameters["decoder"]) == 6
    src, tgt_in, src_lengths = random_ids(rng, 2, 9, N_vocab=100), random_ids(rng, 2, 7, N_vocab=100), np.array([9, 4])
    for norm in ("pre", "post"):
        states = transformer(parameters, src, tgt_in, 8, src_lengths, norm)
        theirs = reference.transformer(parameters, src, tgt_in, 8, src_lengths, norm)
        agree({name: states[name] for name in theirs}, theirs, 1e-9)
    dlogits = rng.standard_normal(states["logits"].shape) / states["logits"].size
    gradients = transformer_backward(parameters, states, dlogits)
    agree(gradients, reference.transformer_gradients(parameters, src, tgt_in, 8, dlogits, src_lengths), 1e-9)


def test_every_array_belongs_to_one_place_only():
    parameters = new_transformer(np.random.default_rng(0), 23, 8, 12, 3)
    arrays = [array for _, array in walk(parameters)]
    assert len({id(array) for array in arrays}) == len(arrays)
    drawn = [array for array in arrays if array.ndim == 2]
    assert not any(np.array_equal(a, b) for i, a in enumerate(drawn) for b in drawn[:i])
    assert set(parameters) == {"E", "encoder", "decoder"}
    assert set(new_transformer(np.random.default_rng(0), 23, 8, 12, 1, "pre")) >= {"encoder_norm", "decoder_norm"}


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_later_target_token_changes_nothing_before_it(norm):
    rng = np.random.default_rng(1)
    parameters = small_model(rng, norm)
    src, tgt_in = random_ids(rng, 2, 5), random_ids(rng, 2, 6)
    before = transformer(parameters, src, tgt_in, 2, norm=norm)["logits"]
    changed = tgt_in.copy()
    changed[:, 3] = (changed[:, 3] + 1) % 23
    after = transformer(parameters, src, changed, 2, norm=norm)["logits"]
    np.testing.assert_allclose(after[:, :3], before[:, :3], rtol=0, atol=1e-12)
    assert (abs(after[:, 3:] - before[:, 3:]).max(axis=-1) > 1e-6).all()


def test_another_mask_lets_the_decoder_read_ahead():
    rng = np.random.default_rng(1)
    parameters = small_model(rng)
    src, tgt_in = random_ids(rng, 2, 5), random_ids(rng, 2, 6)
    changed = tgt_in.copy()
    changed[:, 5] = (changed[:, 5] + 1) % 23
    before, after = (transformer(parameters, src, ids, 2, M_tgt=no_mask(6))["logits"] for ids in (tgt_in, changed))
    assert (abs(after - before).max(axis=-1) > 1e-9).all()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_what_stands_in_the_padding_changes_nothing_real(norm):
    rng = np.random.default_rng(2)
    parameters = small_model(rng, norm)
    src, tgt_in, src_lengths = random_ids(rng, 3, 6), random_ids(rng, 3, 5), np.array([6, 4, 1])
    padding = np.arange(6) >= src_lengths[:, None]
    before = transformer(parameters, src, tgt_in, 2, src_lengths, norm)
    after = transformer(parameters, np.where(padding, (src + 7) % 23, src), tgt_in, 2, src_lengths, norm)
    np.testing.assert_allclose(after["logits"], before["logits"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(after["C"][~padding], before["C"][~padding], rtol=0, atol=1e-12)
    without = transformer(parameters, src[1:2, :4], tgt_in[1:2], 2, norm=norm)["logits"]
    np.testing.assert_allclose(before["logits"][1:2], without, rtol=0, atol=1e-12)


def test_padded_places_get_no_gradient():
    rng = np.random.default_rng(3)
    parameters = small_model(rng)
    src = np.array([[1, 2, 22, 22]])  # 22 stands in the padding only
    states = transformer(parameters, src, np.array([[3, 4]]), 2, np.array([2]))
    dlogits = rng.standard_normal(states["logits"].shape)
    dlogits[..., 22] = 0
    assert not transformer_backward(parameters, states, dlogits)["E"][22].any()


def test_every_source_token_reaches_every_row_of_C_and_every_logit():
    rng = np.random.default_rng(4)
    parameters = small_model(rng)
    src, tgt_in = random_ids(rng, 1, 5), random_ids(rng, 1, 4)
    changed = src.copy()
    changed[0, 4] = (changed[0, 4] + 1) % 23
    before, after = (transformer(parameters, ids, tgt_in, 2) for ids in (src, changed))
    assert (before["C"] != after["C"]).any(axis=-1).all()
    assert (before["logits"] != after["logits"]).any(axis=-1).all()
    differ_only_in_row(before["X_src"], after["X_src"], 4)


def test_every_block_reads_the_same_final_C():
    rng = np.random.default_rng(5)
    parameters = small_model(rng, blocks=3)
    states = transformer(parameters, random_ids(rng, 2, 5), random_ids(rng, 2, 4), 2)
    assert states["C"] is states["encoder"]["blocks"][-1]["X_new"]
    for block in states["decoder"]["blocks"]:
        assert block["cross_attention"]["X_kv"] is states["C"]
        assert block["cross_attention"]["X"] is block["B"]
        assert block["cross_attention"]["A"].shape == (2, 2, 4, 5)
    assert states["D"] is states["decoder"]["blocks"][-1]["X_new"]


def test_the_gradient_of_E_is_the_sum_of_its_three_uses():
    rng = np.random.default_rng(6)
    parameters = small_model(rng)
    E = parameters["E"]
    src, tgt_in = random_ids(rng, 1, 3), random_ids(rng, 1, 3)
    dlogits = rng.standard_normal((1, 3, 23))

    def separate(E_src, E_tgt, E_out):
        C = encoder(parameters, embed_sequence(E_src, src), 2)["C"]
        D = decoder(parameters, embed_sequence(E_tgt, tgt_in), C, 2, causal_mask(3))["D"]
        return float((D @ E_out.T * dlogits).sum())

    direction, step = rng.standard_normal(E.shape), 1e-6
    slopes = []
    for i in range(3):
        up, down = ([E + sign * step * direction if j == i else E for j in range(3)] for sign in (1, -1))
        slopes.append((separate(*up) - separate(*down)) / (2 * step))
    assert min(map(abs, slopes)) > 1e-3
    states = transformer(parameters, src, tgt_in, 2)
    ours = float((transformer_backward(parameters, states, dlogits)["E"] * direction).sum())
    assert ours == pytest.approx(sum(slopes), rel=1e-6)


def test_gradient_reaches_the_encoder_only_through_C():
    rng = np.random.default_rng(7)
    parameters = small_model(rng)
    states = transformer(parameters, random_ids(rng, 2, 5), random_ids(rng, 2, 4), 2)
    _, _, dC = decoder_backward(parameters, states["decoder"], rng.standard_normal(states["D"].shape))
    reached, _ = encoder_backward(parameters, states["encoder"], dC)
    dead = {path for path, gradient in walk(reached) if not gradient.any()}
    assert not dead
    cut, dX = encoder_backward(parameters, states["encoder"], np.zeros_like(dC))
    assert not dX.any() and not any(gradient.any() for _, gradient in walk(cut))


def test_leading_axes_may_be_left_out():
    rng = np.random.default_rng(8)
    parameters = small_model(rng)
    src, tgt_in = random_ids(rng, 2, 5), random_ids(rng, 2, 4)
    together = transformer(parameters, src, tgt_in, 2)["logits"]
    alone = transformer(parameters, src[1], tgt_in[1], 2)["logits"]
    assert alone.shape == (4, 23)
    np.testing.assert_allclose(alone, together[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_float32_stays_float32(norm):
    rng = np.random.default_rng(9)
    parameters = as_float32(small_model(rng, norm))
    src, tgt_in = random_ids(rng, 2, 5), random_ids(rng, 2, 4)
    keep = new_keep(rng, parameters, src, tgt_in, 0.2)
    states = transformer(parameters, src, tgt_in, 2, np.array([5, 3]), norm, keep, 0.2)
    floats = {path: array for path, array in flatten(states).items() if array.dtype.kind == "f"}
    all_of_type(floats, np.float32)
    gradients = transformer_backward(parameters, states, states["logits"], norm, keep, 0.2)
    all_of_type(gradients, np.float32)
    map_nest(lambda array, gradient: np.testing.assert_equal(gradient.shape, array.shape), parameters, gradients)


def test_backward_changes_neither_states_nor_parameters():
    rng = np.random.default_rng(10)
    parameters = small_model(rng)
    states = transformer(parameters, random_ids(rng, 2, 5), random_ids(rng, 2, 4), 2, np.array([5, 3]))
    dlogits = rng.standard_normal(states["logits"].shape)
    copies = [map_nest(np.copy, nest) for nest in (parameters, states, dlogits)]
    first = transformer_backward(parameters, states, dlogits)
    agree([parameters, states, dlogits], copies, 0)
    agree(transformer_backward(parameters, states, dlogits), first, 0)


def test_wrong_arguments_are_named():
    rng = np.random.default_rng(11)
    parameters = small_model(rng)
    src, tgt_in = random_ids(rng, 2, 5), random_ids(rng, 2, 4)
    with pytest.raises(ValueError, match="norm is 'middle'"):
        transformer(parameters, src, tgt_in, 2, norm="middle")
    with pytest.raises(ValueError, match="lengths must lie in 1..5"):
        transformer(parameters, src, tgt_in, 2, np.array([5, 6]))
    with pytest.raises(ValueError, match="heads is 3; expected a divisor of d = 8"):
        transformer(parameters, src, tgt_in, 3)
    with pytest.raises(ValueError, match=r"is 23; expected an id from 0 to N_vocab - 1 = 22"):
        transformer(parameters, src, np.full((2, 4), 23), 2)
    block = parameters["decoder"][0]
    X, C = rng.standard_normal((2, 4, 8)), rng.standard_normal((3, 5, 8))
    with pytest.raises(ValueError, match="X_kv has shape"):
        decoder_block(block, X, C, 2, causal_mask(4))
    with pytest.raises(ValueError, match="M has shape"):
        decoder_block(block, X, C[:2], 2, causal_mask(4), padding_mask([4, 4], 4))
