"""The folder in which Hugging Face's GPT2LMHeadModel.save_pretrained leaves a model (notebook 09).

config.json holds the sizes, model.safetensors the weights, and tokenizer.json, or
vocab.json with merges.txt, the tokenizer. Its weights are (n_in, n_out), as ours;
queries, keys and values stand side by side in one ``c_attn``.
"""

import json
import os
from pathlib import Path

import numpy as np

from helpers.layers.decoder_only import gpt2_shapes
from helpers.layers.nest import flatten, walk
from helpers.layers.vocabulary_and_shapes import BYTES

VARIABLE = "GPT2"
PUBLISHED = "openai-community/gpt2"
END = "<|endoftext|>"

# what `layers.decoder_only.gpt2` computes; a folder that asks for anything else is refused
EXPECTED = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}


def gpt2_folder():
    """The folder that the environment variable GPT2 names, or None without one.

    With GPT2=download the published GPT-2 small is fetched once, about 550 MB,
    into Hugging Face's own cache; this is the only thing in the course that uses
    the network.
    """
    where = os.environ.get(VARIABLE)
    if where != "download":
        return Path(where).expanduser() if where else None
    from huggingface_hub import snapshot_download

    files = ["config.json", "model.safetensors", "vocab.json", "merges.txt"]
    return Path(snapshot_download(PUBLISHED, allow_patterns=files))


def read_gpt2(folder):
    """(parameters, settings) of the model in a folder; call ``gpt2(parameters, ids, **settings)``.

    The parameters keep their type, float32 or float64; float16 becomes float32.

    Raises FileNotFoundError for a missing file, and ValueError for a model that
    is not built as GPT-2 and for a weight that is missing or has another shape.
    """
    from safetensors.numpy import load_file

    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for name, values in EXPECTED.items():
        if config.get(name, values[0]) not in values:
            raise ValueError(f"config.json: {name} is {config[name]!r}; expected {values[0]!r}")
    files = sorted(folder.glob("model*.safetensors"))  # a large model is cut into several
    if not files:
        raise FileNotFoundError(f"{folder} holds no model.safetensors")
    tensors = {}
    for file in files:
        tensors |= {name.removeprefix("transformer."): array for name, array in load_file(file).items()}
    parameters = from_hugging_face(tensors, config["n_layer"])
    d = config["n_embd"]
    expected = gpt2_shapes(
        config["vocab_size"], config["n_positions"], d, config.get("n_inner") or 4 * d, config["n_layer"]
    )
    shapes = flatten(expected)
    for path, array in walk(parameters):
        if array.shape != shapes[path]:
            raise ValueError(f"model.safetensors: {path} has shape {array.shape}; config.json says {shapes[path]}")
    return parameters, {"heads": config["n_head"], "epsilon": config["layer_norm_epsilon"]}


def from_hugging_face(tensors, blocks):
    """Our nest of parameters from arrays under Hugging Face's names, the prefix "transformer." left out.

    Raises ValueError for a name that is missing.
    """

    def take(name):
        if name not in tensors:
            raise ValueError(f"model.safetensors: {name} is missing")
        array = tensors[name]
        return array.astype(np.float32) if array.dtype == np.float16 else array

    def norm(name):
        return {"gamma": take(f"{name}.weight"), "beta": take(f"{name}.bias")}

    def block(name):
        attention = {"W_O": take(f"{name}.attn.c_proj.weight"), "b_O": take(f"{name}.attn.c_proj.bias")}
        for letter, kind in (("W", "weight"), ("b", "bias")):
            parts = np.split(take(f"{name}.attn.c_attn.{kind}"), 3, axis=-1)  # three of (d, d) or (d,)
            attention |= {f"{letter}_{symbol}": part for symbol, part in zip("QKV", parts, strict=True)}
        mlp = {"W_1": take(f"{name}.mlp.c_fc.weight"), "b_1": take(f"{name}.mlp.c_fc.bias")}
        mlp |= {"W_2": take(f"{name}.mlp.c_proj.weight"), "b_2": take(f"{name}.mlp.c_proj.bias")}
        return {"attention": attention, "norm_1": norm(f"{name}.ln_1"), "mlp": mlp, "norm_2": norm(f"{name}.ln_2")}

    parameters = {"E": take("wte.weight"), "P": take("wpe.weight")}
    return parameters | {"blocks": [block(f"h.{i}") for i in range(blocks)], "norm": norm("ln_f")}


def to_hugging_face(parameters):
    """The inverse of `from_hugging_face`: a flat dict from name to array."""
    tensors = {"wte.weight": parameters["E"], "wpe.weight": parameters["P"]}

    def put(name, weight, bias):
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = weight, bias

    for i, block in enumerate(parameters["blocks"]):
        attention, mlp = block["attention"], block["mlp"]
        put(f"h.{i}.ln_1", **as_weight_and_bias(block["norm_1"]))
        joined = (np.concatenate([attention[f"{letter}_{symbol}"] for symbol in "QKV"], axis=-1) for letter in "Wb")
        put(f"h.{i}.attn.c_attn", *joined)  # (d, 3 d) and (3 d,)
        put(f"h.{i}.attn.c_proj", attention["W_O"], attention["b_O"])
        put(f"h.{i}.ln_2", **as_weight_and_bias(block["norm_2"]))
        put(f"h.{i}.mlp.c_fc", mlp["W_1"], mlp["b_1"])
        put(f"h.{i}.mlp.c_proj", mlp["W_2"], mlp["b_2"])
    put("ln_f", **as_weight_and_bias(parameters["norm"]))
    return tensors


def as_weight_and_bias(norm):
    """gamma and beta under the names that torch and Hugging Face use."""
    return {"weight": norm["gamma"], "bias": norm["beta"]}


def write_gpt2(folder, parameters, heads, epsilon=1e-5):
    """Write config.json and model.safetensors, so that GPT2LMHeadModel.from_pretrained opens our model."""
    from safetensors.numpy import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    N_vocab, d = parameters["E"].shape
    config = {name: values[0] for name, values in EXPECTED.items()} | {"architectures": ["GPT2LMHeadModel"]}
    config |= {"vocab_size": N_vocab, "n_positions": len(parameters["P"]), "n_embd": d, "n_head": heads}
    config |= {"n_layer": len(parameters["blocks"]), "n_inner": parameters["blocks"][0]["mlp"]["W_1"].shape[1]}
    config |= {"layer_norm_epsilon": epsilon, "dtype": str(parameters["E"].dtype)}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tensors = {
        f"transformer.{name}": np.ascontiguousarray(array) for name, array in to_hugging_face(parameters).items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def read_tokenizer(folder):
    """(tokenizer, end id) from tokenizer.json, or from vocab.json and merges.txt.

    The tokenizer is one of notebook 01: ``encode`` and ``decode`` take it. The end
    id is that of <|endoftext|>, or -1, which no token has.

    Raises FileNotFoundError when the files are missing, and ValueError when the
    ids are not the bytes followed by the merges in their order.
    """
    folder = Path(folder)
    if (folder / "tokenizer.json").exists():
        stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        ids, merges = stored["model"]["vocab"], stored["model"]["merges"]
        added = {token["content"]: token["id"] for token in stored["added_tokens"]}
    else:
        ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
        merges = [line for line in lines if line and not line.startswith("#version")]
        added = {END: ids[END]} if END in ids else {}
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in merges]
    alphabet = byte_characters()
    vocab = [b""] * (max((ids | added).values()) + 1)  # what was added stands for no text
    for text, i in ids.items():
        if text not in added:
            vocab[i] = b"".join(alphabet[character] for character in text)
    learned = {(ids[left], ids[right]): ids[left + right] for left, right in pairs}
    expected = list(range(len(BYTES), len(BYTES) + len(learned)))
    if vocab[: len(BYTES)] != BYTES or list(learned.values()) != expected:
        raise ValueError("tokenizer: expected the ids of the 256 bytes first, then one id for each merge in its order")
    return {"vocab": vocab, "merges": learned, "specials": {}}, added.get(END, -1)


def byte_characters():
    """{character: byte} of the files: a byte that prints stands for itself, the others are U+0100 and up."""
    visible = [byte.decode("latin-1") for byte in BYTES[:188]]
    return dict(zip(visible + [chr(256 + n) for n in range(68)], BYTES, strict=True))
