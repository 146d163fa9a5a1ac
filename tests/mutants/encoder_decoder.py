"""Planted faults in the definitions of notebook 08."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant(
        "the residual adds C",
        'parameters["norm_2"], residual(B, cross["O"]',
        'parameters["norm_2"], residual(C, cross["O"]',
    ),
    Mutant("cross-attention asks with X", '["cross_attention"], B, C, heads', '["cross_attention"], X, C, heads'),
    Mutant(
        "cross-attention with the parameters of self-attention, post-norm",
        'multi_head_attention(parameters["cross_attention"], B, C',
        'multi_head_attention(parameters["self_attention"], B, C',
    ),
    Mutant(
        "cross-attention reads the target, pre-norm",
        'norm_2["Y"], C, heads, M_src',
        'norm_2["Y"], norm_2["Y"], heads, None',
    ),
    Mutant("padding not masked in cross-attention, post-norm", "B, C, heads, M_src)", "B, C, heads, None)"),
    Mutant(
        "the MLP adds B instead of Z",
        'parameters["norm_3"], residual(Z, within',
        'parameters["norm_3"], residual(B, within',
    ),
    Mutant("pre-norm code for post-norm", 'if norm == "post":', 'if norm == "pre":', cell="definition-block"),
    Mutant("gradient of X without keys and values", "dX = dX + dX_q + dX_kv", "dX = dX + dX_q"),
    Mutant("gradient of B without the residual, post-norm", 'states["norm_1"], dB + dB_q)', 'states["norm_1"], dB_q)'),
    Mutant("gradient of B without the queries, post-norm", 'states["norm_1"], dB + dB_q)', 'states["norm_1"], dB)'),
    Mutant("gradient of Z without the MLP's path", 'states["norm_2"], dZ + dZ_mlp)', 'states["norm_2"], dZ)'),
    Mutant(
        "gradient of B without its path through the norm, pre-norm",
        "residual_backward(dB + dB_norm",
        "residual_backward(dB",
    ),
    Mutant(
        "every encoder block starts from the input",
        '        X = blocks[-1]["X_new"]\n    states = {"blocks": blocks}\n    if "encoder_norm"',
        '    X = blocks[-1]["X_new"]\n    states = {"blocks": blocks}\n    if "encoder_norm"',
    ),
    Mutant(
        "padding not masked in the encoder",
        "encoder(parameters, X_src, heads, M_src",
        "encoder(parameters, X_src, heads, None",
    ),
    Mutant(
        "padding not masked in cross-attention, in the whole model",
        'read["C"], heads, M_tgt, M_src, norm',
        'read["C"], heads, M_tgt, None, norm',
    ),
    Mutant(
        "causal mask missing in the decoder",
        "M_tgt = causal_mask(tgt_in.shape[-1]) if M_tgt is None else M_tgt",
        "M_tgt = causal_mask(tgt_in.shape[-1]) if M_tgt is not None else M_tgt",
    ),
    Mutant(
        "cross-attention reads the first encoder block",
        'X_tgt, read["C"], heads',
        'X_tgt, read["blocks"][0]["X_new"], heads',
    ),
    Mutant(
        "√d forgotten",
        "add_positions(embed(E, ids), P)",
        "add_positions(embed(E, ids), P, scaled=False)",
    ),
    Mutant(
        "all decoder blocks are one",
        '"decoder": [new_decoder_block(rng, d, d_ff) for _ in range(blocks)]',
        '"decoder": [new_decoder_block(rng, d, d_ff)] * blocks',
    ),
    Mutant(
        "the final norm of the decoder left out",
        'if "decoder_norm" in parameters:\n        states["norm"]',
        'if "no_norm" in parameters:\n        states["norm"]',
    ),
    Mutant("gradient of C from the first block only", "dC = dC + dC_block", "dC = dC_block"),
    Mutant(
        "√d forgotten in the backward",
        "embed_backward(E, ids, math.sqrt(E.shape[1]) * dX)",
        "embed_backward(E, ids, dX)",
    ),
    Mutant("tied gradient without the output", "dE_output + dE_src + dE_tgt", "dE_src + dE_tgt"),
    Mutant("tied gradient without the source", "dE_output + dE_src + dE_tgt", "dE_output + dE_tgt"),
    Mutant("tied gradient without the target", "dE_output + dE_src + dE_tgt", "dE_output + dE_src"),
    Mutant(
        "dropout of the inputs forgotten in the backward",
        "        dX = dropout(dX, keep, rate)\n",
        "        dX = dX * 1\n",
    ),
]
