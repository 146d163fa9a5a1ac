"""Generating as PyTorch does it: the whole prefix through nn.Transformer at every step (notebook 10)."""

import torch

from helpers.reference import gradient, leaf, to_arrays
from helpers.reference.encoder_decoder import new_transformer


def probabilities(D, W_vocab):
    """Pi = softmax(D W_vocab) by row: torch.softmax over (..., d) @ (d, N_vocab)."""
    return torch.softmax(torch.from_numpy(D) @ torch.from_numpy(W_vocab), dim=-1).numpy()


def step_by_step(parameters, src, tgt_in, heads, src_lengths=None, norm="post"):
    """Pi of the last row for every prefix of tgt_in, each computed from scratch: (batch, S_tgt, N_vocab)."""
    model = new_transformer(parameters, heads, norm)
    src, tgt_in = torch.from_numpy(src), torch.from_numpy(tgt_in)
    with torch.no_grad():
        rows = [
            torch.softmax(model(src, tgt_in[:, :length], src_lengths)[2][:, -1], dim=-1)
            for length in range(1, tgt_in.shape[1] + 1)
        ]
    return to_arrays(torch.stack(rows, dim=1))


def greedy(parameters, src, heads, start, end, limit, src_lengths=None, norm="post"):
    """Greedy translation with torch.argmax: ids (batch, length), ``end`` after the first end token."""
    model = new_transformer(parameters, heads, norm)
    src = torch.from_numpy(src)
    prefix = torch.full((len(src), 1), start)
    ended = torch.zeros(len(src), dtype=torch.bool)
    with torch.no_grad():
        while prefix.shape[1] <= limit and not ended.all():
            token = model(src, prefix, src_lengths)[2][:, -1].argmax(dim=-1)
            token = token.masked_fill(ended, end)
            ended |= token == end
            prefix = torch.cat([prefix, token[:, None]], dim=1)
    return to_arrays(prefix[:, 1:])


def top_k(Pi, k):
    """The k largest of each row by torch.topk, shared out anew."""
    Pi = torch.from_numpy(Pi)
    values, places = Pi.topk(k, dim=-1)
    kept = torch.zeros_like(Pi).scatter_(-1, places, values)
    return (kept / kept.sum(dim=-1, keepdim=True)).numpy()


def top_p(Pi, p):
    """The largest of each row by torch.sort, until they hold p; shared out anew."""
    Pi = torch.from_numpy(Pi)
    values, places = Pi.sort(dim=-1, descending=True)
    enough = values.cumsum(dim=-1) >= p
    # the one that reaches p is still among them: only what follows it is dropped
    dropped = torch.roll(enough, 1, dims=-1)
    dropped[..., 0] = False
    kept = torch.zeros_like(Pi).scatter_(-1, places, values.masked_fill(dropped, 0))
    return (kept / kept.sum(dim=-1, keepdim=True)).numpy()


def untied_gradients(parameters, src, tgt_in, heads, dlogits):
    """Gradients of the table E and of a W_vocab of its own that starts as E^T: (N_vocab, d) and (d, N_vocab)."""
    model = new_transformer(parameters, heads)
    W_vocab = leaf(parameters["E"].T)
    _, D, _ = model(torch.from_numpy(src), torch.from_numpy(tgt_in))
    (D @ W_vocab).backward(torch.from_numpy(dlogits))
    return to_arrays({"E": gradient(model.E), "W_vocab": gradient(W_vocab)})
