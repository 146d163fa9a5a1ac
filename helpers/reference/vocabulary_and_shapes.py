"""Byte-level BPE as the ``tokenizers`` library has it, and the shapes of torch's modules (notebook 01)."""

import json

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

from helpers.layers.vocabulary_and_shapes import BYTES

# the library writes each byte as one visible character; in the order of their codes they are GPT-2's order
BYTE_OF = dict(zip(sorted(pre_tokenizers.ByteLevel.alphabet()), BYTES, strict=True))


def train_bpe(text, merges, specials=()):
    """The library's tokenizer, trained on one str with the settings that ours follows."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=len(specials) + len(BYTES) + merges,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(specials),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def tokenizer_nest(tokenizer):
    """Its vocabulary, merges and special tokens in the form of ours."""
    saved = json.loads(tokenizer.to_str())
    specials = {token["content"]: token["id"] for token in saved["added_tokens"]}
    ids = saved["model"]["vocab"]
    vocab = [b""] * len(ids)
    for token, i in ids.items():
        if token not in specials:
            vocab[i] = b"".join(BYTE_OF[character] for character in token)
    merges = {(ids[first], ids[second]): ids[first + second] for first, second in saved["model"]["merges"]}
    return {"vocab": vocab, "merges": merges, "specials": specials}


def encode(tokenizer, text):
    """Ids of a str."""
    return tokenizer.encode(text).ids


def decode(tokenizer, ids):
    """The str of a list of ids, without special tokens."""
    return tokenizer.decode(ids)


def shapes(N_vocab, d, ids):
    """Shapes of torch's embedding table, of what it looks up for the ids, and of the output layer's weight."""
    with torch.device("meta"):  # shapes alone: no memory, however large the vocabulary
        embedding, output = nn.Embedding(N_vocab, d), nn.Linear(d, N_vocab, bias=False)
        X = embedding(torch.tensor(ids, dtype=torch.long))
    return {
        "E": tuple(embedding.weight.shape),
        "X": tuple(X.shape),
        "W_vocab": tuple(output.weight.T.shape),  # nn.Linear stores the transpose
    }
