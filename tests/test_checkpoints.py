"""Folders that Hugging Face's transformers writes, read into our nests; and ours, opened by transformers."""

import json

import numpy as np
import pytest
import torch
from layer_tools import agree, as_float32, shaken

from helpers.checkpoints.gpt2 import gpt2_folder, read_gpt2, read_tokenizer, write_gpt2
from helpers.layers.decoder_only import complete, gpt2, new_gpt2
from helpers.layers.nest import count, walk
from helpers.layers.vocabulary_and_shapes import decode, encode
from tests.notebook_tools import NOTEBOOKS, load

transformers = pytest.importorskip("transformers")

CONFIGS = {
    "plain": {"n_embd": 12, "n_head": 3, "n_layer": 2, "n_positions": 9},
    "one head, another epsilon": {
        "n_embd": 8,
        "n_head": 1,
        "n_layer": 1,
        "n_positions": 20,
        "layer_norm_epsilon": 1e-2,
    },
    "another inner width": {"n_embd": 16, "n_head": 4, "n_layer": 3, "n_positions": 9, "n_inner": 20},
}


@pytest.fixture(autouse=True, scope="module")
def quiet():
    """One thread for torch, and no progress bars."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
    torch.set_num_threads(before)


def hugging_face(folder, dtype=torch.float64, **sizes):
    """A random GPT2LMHeadModel, saved into the folder; its biases and norms are moved away from 0 and 1."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(**{"vocab_size": 50, "bos_token_id": 49, "eos_token_id": 49} | sizes)
    model = transformers.GPT2LMHeadModel(config).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-4), (torch.float64, 1e-9)])
def test_logits_equal_those_of_transformers(tmp_path, name, dtype, atol):
    model = hugging_face(tmp_path, dtype, **CONFIGS[name])
    parameters, settings = read_gpt2(tmp_path)
    ids = np.random.default_rng(0).integers(0, 50, (3, 8))
    logits = gpt2(parameters, ids, **settings)["logits"]
    theirs = model(torch.from_numpy(ids)).logits.detach().numpy()
    assert logits.dtype == theirs.dtype
    assert np.abs(theirs).max() > 1
    np.testing.assert_allclose(logits, theirs, rtol=0, atol=atol)
    assert sum(array.size for _, array in walk(parameters)) == sum(p.numel() for p in model.parameters())


def test_greedy_text_equals_that_of_transformers(tmp_path):
    model = hugging_face(tmp_path, **CONFIGS["plain"])
    parameters, settings = read_gpt2(tmp_path)
    prompt = np.array([[3, 1, 4]])
    ours = complete(parameters, prompt, [3], end=49, limit=6, **settings)
    theirs = model.generate(torch.from_numpy(prompt), max_new_tokens=6, do_sample=False, pad_token_id=49)[
        0, 3:
    ].tolist()
    assert ours[0, : len(theirs)].tolist() == theirs


def test_half_precision_becomes_float32_and_several_files_are_joined(tmp_path):
    model = hugging_face(tmp_path / "half", torch.float16, **CONFIGS["plain"])
    parameters, settings = read_gpt2(tmp_path / "half")
    assert {array.dtype for _, array in walk(parameters)} == {np.dtype(np.float32)}
    model.float().save_pretrained(tmp_path / "cut", max_shard_size="5KB")
    assert len(list((tmp_path / "cut").glob("*.safetensors"))) > 1
    agree(read_gpt2(tmp_path / "cut")[0], parameters, 0)
    assert read_gpt2(tmp_path / "cut")[1] == settings == {"heads": 3, "epsilon": 1e-5}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transformers_opens_what_we_write(tmp_path, dtype):
    rng = np.random.default_rng(1)
    parameters = shaken(new_gpt2(rng, 50, 9, 12, 20, 2), rng)
    parameters = as_float32(parameters) if dtype == np.float32 else parameters
    write_gpt2(tmp_path, parameters, 3, 1e-3)
    back, settings = read_gpt2(tmp_path)
    assert settings == {"heads": 3, "epsilon": 1e-3}
    agree(back, parameters, 0)
    model, notes = transformers.GPT2LMHeadModel.from_pretrained(
        tmp_path, output_loading_info=True, local_files_only=True, dtype=getattr(torch, np.dtype(dtype).name)
    )
    assert not any(notes.values()), notes
    ids = rng.integers(0, 50, (2, 9))
    logits = model.eval()(torch.from_numpy(ids)).logits.detach().numpy()
    atol = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(gpt2(parameters, ids, **settings)["logits"], logits, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "llama"),
        ("activation_function", "relu"),
        ("scale_attn_weights", False),
        ("scale_attn_by_inverse_layer_idx", True),
        ("add_cross_attention", True),
        ("tie_word_embeddings", False),
    ],
)
def test_other_models_are_refused(tmp_path, name, value):
    parameters = new_gpt2(np.random.default_rng(0), 5, 4, 4, 8, 1)
    write_gpt2(tmp_path, parameters, 2)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {name: value}))
    with pytest.raises(ValueError, match=f"{name} is {value!r}; expected"):
        read_gpt2(tmp_path)


def test_missing_files_weights_and_wrong_shapes_are_named(tmp_path):
    from safetensors.numpy import load_file, save_file

    with pytest.raises(FileNotFoundError, match="config.json"):
        read_gpt2(tmp_path)
    write_gpt2(tmp_path, new_gpt2(np.random.default_rng(0), 5, 4, 4, 8, 1), 2)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    without = {name: array for name, array in tensors.items() if name != "transformer.h.0.ln_2.bias"}
    save_file(without, file)
    with pytest.raises(ValueError, match="h.0.ln_2.bias is missing"):
        read_gpt2(tmp_path)
    save_file(tensors | {"transformer.h.0.mlp.c_fc.weight": np.ones((8, 4))}, file)
    with pytest.raises(ValueError, match=r"blocks/0/mlp/W_1 has shape \(8, 4\); config.json says \(4, 8\)"):
        read_gpt2(tmp_path)
    file.unlink()
    with pytest.raises(FileNotFoundError, match="no model.safetensors"):
        read_gpt2(tmp_path)


def test_names_without_prefix_and_further_arrays_do_no_harm(tmp_path):
    """The published GPT-2 has names without "transformer." and keeps its masks beside the weights."""
    from safetensors.numpy import load_file, save_file

    parameters = new_gpt2(np.random.default_rng(0), 5, 4, 4, 8, 1)
    write_gpt2(tmp_path, parameters, 2)
    file = tmp_path / "model.safetensors"
    tensors = {name.removeprefix("transformer."): array for name, array in load_file(file).items()}
    save_file(tensors | {"h.0.attn.bias": np.tril(np.ones((1, 1, 4, 4)))}, file)
    agree(read_gpt2(tmp_path)[0], parameters, 0)


TEXTS = ["the ferry, the ferry's lamp", "Ein Licht über dem Wasser.", "灯 🙂 \n\n  12345 <|endoftext|>", "\x00\x7f\xad"]


@pytest.mark.parametrize("kind", ["vocab.json and merges.txt", "tokenizer.json"])
def test_tokenizer_equals_that_of_transformers(tmp_path, kind):
    tokenizers = pytest.importorskip("tokenizers")
    from helpers.corpus.vocabulary import DATA

    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train([str(DATA / "text.txt")], vocab_size=400, min_frequency=2)
    trained.save_model(str(tmp_path))
    assert read_tokenizer(tmp_path)[1] == -1
    theirs = transformers.GPT2TokenizerFast(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    if kind == "tokenizer.json":
        theirs.save_pretrained(tmp_path / "fast")
    else:
        ids = json.loads((tmp_path / "vocab.json").read_text())
        (tmp_path / "vocab.json").write_text(json.dumps(ids | {"<|endoftext|>": len(ids)}))
    tokenizer, end = read_tokenizer(tmp_path / "fast" if kind == "tokenizer.json" else tmp_path)
    assert end == theirs.eos_token_id == 400
    assert len(tokenizer["vocab"]) == 401
    for text in TEXTS:
        ids = encode(tokenizer, text)
        assert decode(tokenizer, [*ids, end]) == text
        # our text never turns into a special token; theirs does
        assert ids == theirs.encode(text) or "<|" in text


def test_other_tokenizers_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="vocab.json"):
        read_tokenizer(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    with pytest.raises(ValueError, match="expected the ids of the 256 bytes first"):
        read_tokenizer(tmp_path)


def test_the_notebook_writes_with_the_model_of_the_folder(tmp_path, monkeypatch, capsys):
    """The branch of the cell that a saved notebook does not show."""
    tokenizers = pytest.importorskip("tokenizers")
    hugging_face(tmp_path, vocab_size=257, n_embd=8, n_head=2, n_layer=1, n_positions=64)
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([], vocab_size=257, special_tokens=[])
    tokenizer.save_model(str(tmp_path))
    monkeypatch.setenv("GPT2", str(tmp_path))
    notebook = load(NOTEBOOKS[0].parent / "09_decoder_only.ipynb")
    sources = {cell.id: cell.source for cell in notebook.code}
    space = {}
    for id in ("imports", "definition-gelu", "definition-gpt2", "definition-complete", "real"):
        exec(sources[id], space)
    printed = capsys.readouterr().out
    assert f"{count(read_gpt2(tmp_path)[0]):,} parameters" in printed
    assert len(printed.partition("Translation is hard because")[2].strip()) > 0


def test_where_the_folder_is_looked_for(tmp_path, monkeypatch):
    import huggingface_hub

    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *args, **more: asked.append(args) or tmp_path)
    monkeypatch.delenv("GPT2", raising=False)
    assert gpt2_folder() is None
    monkeypatch.setenv("GPT2", str(tmp_path))
    assert gpt2_folder() == tmp_path
    assert asked == []
    monkeypatch.setenv("GPT2", "download")
    assert gpt2_folder() == tmp_path
    assert asked == [("openai-community/gpt2",)]
