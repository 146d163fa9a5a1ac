"""Planted faults in the definitions of notebook 12."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant("W_O not counted", "4 * d * d + (4 * d if bias else 0)", "3 * d * d + (3 * d if bias else 0)"),
    Mutant("biases of attention not counted", "4 * d * d + (4 * d if bias else 0)", "4 * d * d"),
    Mutant("b_1 not counted", "d * d_ff + d_ff + d_ff * d + d", "d * d_ff + d_ff * d + d"),
    Mutant("gamma without beta", "    return 2 * d\n", "    return d\n"),
    Mutant("a decoder block with two norms", "3 * blocks +", "2 * blocks +"),
    Mutant(
        "cross-attention counted for the encoder as well",
        '"cross-attention": blocks * attention_parameters',
        '"cross-attention": 2 * blocks * attention_parameters',
    ),
    Mutant(
        "shared table counted twice",
        '"layer norms": norms * norm_parameters(d),\n        "output": 0',
        '"layer norms": norms * norm_parameters(d),\n        "output": N_vocab * d',
    ),
    Mutant("last norm of GPT-2 forgotten", "(2 * blocks + 1) * norm_parameters(d)", "2 * blocks * norm_parameters(d)"),
    Mutant("table of positions forgotten", '"positions": positions * d', '"positions": 0'),
    Mutant("multiply-adds for operations", "return 2 * d * d * (", "return d * d * ("),
    Mutant("keys and values of the asking positions", "(2 * S_q + 2 * S_k)", "(4 * S_q)"),
    Mutant("half of the pairs", "2 * S_q * S_k * d + 2 * S_q * S_k * d", "S_q * S_k * d + S_q * S_k * d"),
    Mutant("pairs for every head anew", "2 * S_q * S_k * d + 2", "2 * S_q * S_k * d * 8 + 2"),
    Mutant("MLP of the target alone", "mlp_flops(d, d_ff, S_src + S_tgt)", "mlp_flops(d, d_ff, S_tgt)"),
    Mutant("output for the source", "2 * S_tgt * d * N_vocab", "2 * S_src * d * N_vocab"),
    Mutant("back costs as much as forward", "return 3 * forward", "return 2 * forward"),
    Mutant("scores of one head", "2 * heads * S_q * S_k", "2 * S_q * S_k"),
    Mutant("standard deviations forgotten", "2 * S * d + S\n", "2 * S * d\n"),
    Mutant("input of the GELU forgotten", "(2 * d_ff + d)", "(d_ff + d)"),
    Mutant("cache without values", "2 * blocks * (S + S_src) * d", "blocks * (S + S_src) * d"),
    Mutant("pairs counted among the rest", "(sum(flops_at_1.values()) - pairs)", "sum(flops_at_1.values())"),
]
