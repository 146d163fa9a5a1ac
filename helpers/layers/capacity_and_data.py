"""How many parameters, operations and bytes a Transformer needs, from formulas (notebook 12).

Counts come as dicts by part; the sum of a dict's values is the whole. An
operation (FLOP) is one multiplication or one addition, and only matrix products are
counted, as torch.utils.flop_counter does: (a, b) times (b, c) is 2 a b c.
Softmax, norms, sums and look-ups are left out.
Source: document section 12; "Attention Is All You Need", table 3 and section 6.2.
"""


def attention_parameters(d, bias=True):
    """W_Q, W_K, W_V, W_O and their biases; the number of heads is not in it."""
    return 4 * d * d + (4 * d if bias else 0)


def mlp_parameters(d, d_ff):
    """W_1, b_1, W_2, b_2."""
    return d * d_ff + d_ff + d_ff * d + d


def norm_parameters(d):
    """gamma and beta."""
    return 2 * d


def transformer_parameters(N_vocab, d, d_ff, blocks, norm="post", bias=True):
    """The encoder-decoder by part. The output uses E again, so its part is 0."""
    norms = 2 * blocks + 3 * blocks + (2 if norm == "pre" else 0)
    return {
        "embedding": N_vocab * d,
        "self-attention": 2 * blocks * attention_parameters(d, bias),
        "cross-attention": blocks * attention_parameters(d, bias),
        "MLP": 2 * blocks * mlp_parameters(d, d_ff),
        "layer norms": norms * norm_parameters(d),
        "output": 0,
    }


def gpt2_parameters(N_vocab, positions, d, d_ff, blocks):
    """The decoder-only model by part. Positions are learned; the output uses E again."""
    return {
        "embedding": N_vocab * d,
        "positions": positions * d,
        "self-attention": blocks * attention_parameters(d),
        "MLP": blocks * mlp_parameters(d, d_ff),
        "layer norms": (2 * blocks + 1) * norm_parameters(d),
        "output": 0,
    }


def projection_flops(d, S_q, S_k):
    """Q and O have a row for each of S_q positions, K and V for each of S_k."""
    return 2 * d * d * (2 * S_q + 2 * S_k)


def pair_flops(d, S_q, S_k):
    """Scores and mix: 2 d each for every pair of positions, however many heads share d."""
    return 2 * S_q * S_k * d + 2 * S_q * S_k * d


def mlp_flops(d, d_ff, S):
    """Two products for each of S rows."""
    return 2 * S * d * d_ff + 2 * S * d_ff * d


def transformer_flops(N_vocab, d, d_ff, blocks, S_src, S_tgt):
    """One forward pass of the encoder-decoder over one pair of sequences, by part."""
    encoder, decoder, cross = (S_src, S_src), (S_tgt, S_tgt), (S_tgt, S_src)
    return {
        "embedding": 0,
        "self-attention": blocks * sum(projection_flops(d, *S) for S in (encoder, decoder)),
        "cross-attention": blocks * projection_flops(d, *cross),
        "pairs of positions": blocks * sum(pair_flops(d, *S) for S in (encoder, decoder, cross)),
        "MLP": blocks * mlp_flops(d, d_ff, S_src + S_tgt),
        "output": 2 * S_tgt * d * N_vocab,
    }


def gpt2_flops(N_vocab, d, d_ff, blocks, S):
    """One forward pass of the decoder-only model over one sequence, by part."""
    return {
        "embedding": 0,
        "self-attention": blocks * projection_flops(d, S, S),
        "pairs of positions": blocks * pair_flops(d, S, S),
        "MLP": blocks * mlp_flops(d, d_ff, S),
        "output": 2 * S * d * N_vocab,
    }


def training_flops(forward):
    """Forward and back: each product asks for two more of its size, one for each factor."""
    return 3 * forward


def overtaking_length(flops_at_1):
    """The S at which pairs cost as much as all else, from the operations by part at S = 1.

    Pairs grow with S², everything else with S.
    """
    pairs = flops_at_1["pairs of positions"]
    return (sum(flops_at_1.values()) - pairs) / pairs


def attention_states(d, S_q, S_k):
    """Q, H, H_concat and O have a row for each of S_q positions, K and V for each of S_k."""
    return 4 * S_q * d + 2 * S_k * d


def pair_states(heads, S_q, S_k):
    """scores and A: a number for every pair of positions, in every head."""
    return 2 * heads * S_q * S_k


def norm_states(d, S):
    """X_hat and Y, and a standard deviation for each row."""
    return 2 * S * d + S


def transformer_states(N_vocab, d, heads, d_ff, blocks, S_src, S_tgt):
    """Numbers that `transformer`, post-norm, keeps for the way back, by part."""
    readings = [(S_src, S_src), (S_tgt, S_tgt), (S_tgt, S_src)]
    return {
        "embedding": (S_src + S_tgt) * d,
        "attention": blocks * sum(attention_states(d, *S) for S in readings),
        "pairs of positions": blocks * sum(pair_states(heads, *S) for S in readings),
        "MLP": blocks * (S_src + S_tgt) * (d_ff + d),  # U and F
        "layer norms": blocks * (2 * norm_states(d, S_src) + 3 * norm_states(d, S_tgt)),
        "output": S_tgt * N_vocab,
    }


def gpt2_states(N_vocab, d, heads, d_ff, blocks, S):
    """Numbers that `gpt2` keeps for the way back, by part."""
    return {
        "embedding": S * d,
        "attention": blocks * attention_states(d, S, S),
        "pairs of positions": blocks * pair_states(heads, S, S),
        "MLP": blocks * S * (2 * d_ff + d),  # T, U and F
        "residual sums": blocks * 2 * S * d,  # Z and X_new
        "layer norms": (2 * blocks + 1) * norm_states(d, S),
        "output": S * N_vocab,
    }


def cache_numbers(d, blocks, S, S_src=0):
    """K and V of every block: S positions written so far, S_src that cross-attention reads."""
    return 2 * blocks * (S + S_src) * d
