"""What PyTorch counts: numel of a model's parameters and torch.utils.flop_counter (notebook 12).

The models live on torch's "meta" device: tensors with a shape and no numbers, so
that the base model and GPT-2 small cost neither memory nor time.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from helpers.reference.decoder_only import GPT2
from helpers.reference.encoder_decoder import Transformer

# the name of a module's part in our words
PARTS = {
    "E": "embedding",
    "tokens": "embedding",
    "positions": "positions",
    "self_attn": "self-attention",
    "multihead_attn": "cross-attention",
    "linear1": "MLP",
    "linear2": "MLP",
}


def new_transformer(N_vocab, d, heads, d_ff, blocks, norm="post"):
    """nn.Transformer with one shared table, without numbers; the last norms are there with norm="pre" only."""
    with torch.device("meta"):
        return Transformer(N_vocab, d, heads, d_ff, blocks, norm, final_norms=norm == "pre")


def new_gpt2(N_vocab, positions, d, heads, d_ff, blocks):
    """GPT-2 without numbers."""
    with torch.device("meta"):
        return GPT2(N_vocab, positions, d, heads, d_ff, blocks)


def parameters(model):
    """Numbers in the parameters by part: the sum of `numel`."""
    counts = {}
    for name, parameter in model.named_parameters():
        part = next((PARTS[word] for word in name.split(".") if word in PARTS), "layer norms")
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def transformer_flops(model, S_src, S_tgt):
    """(forward by part, forward and backward together) for one pair of sequences."""
    E = model.E
    X_src, X_tgt = (torch.empty_like(E[:1]).expand(1, S, -1).requires_grad_() for S in (S_src, S_tgt))  # (1, S, d)
    return _count(lambda: model.body(X_src, X_tgt, tgt_mask=_future(S_tgt), tgt_is_causal=True) @ E.T)


def gpt2_flops(model, S):
    """(forward by part, forward and backward together) for one sequence."""
    with torch.device("meta"):
        ids = torch.zeros(1, S, dtype=torch.int64)
        return _count(lambda: model(ids)[1])


def _future(S):
    """True where reading is forbidden."""
    return torch.ones(S, S, dtype=torch.bool, device="meta").triu(1)


def _count(forward):
    # math: every product on its own, so that none is counted as part of a fused call
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as counter:
            forward()
        by_part = _by_part(counter.get_flop_counts())
        with FlopCounterMode(display=False) as counter:
            forward().sum().backward()
    return by_part, counter.get_total_flops()


def _by_part(by_module):
    """Batched products are those of scores and mix; what belongs to no part's module is the output."""
    counts = {}
    for name, operations in by_module.items():
        part = PARTS.get(name.split(".")[-1])
        if part is not None:
            pairs = operations.get(torch.ops.aten.bmm, 0)
            counts["pairs of positions"] = counts.get("pairs of positions", 0) + pairs
            counts[part] = counts.get(part, 0) + sum(operations.values()) - pairs
    counts["output"] = sum(by_module["Global"].values()) - sum(counts.values())
    return counts
