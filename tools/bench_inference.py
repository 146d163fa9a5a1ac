"""Generation with and without a cache: milliseconds and multiplications for the next token against S.

Random float32 weights, a source of 16 tokens, the decoder alone: C is computed once in both. Without a cache the
whole prefix goes through the decoder again. Times are medians of turns.
"""

from functools import partial

import numpy as np

from helpers.checks.counting import multiplications
from helpers.layers.attention import causal_mask
from helpers.layers.encoder_decoder import decoder, embed_sequence, encoder, new_transformer, output_scores
from helpers.layers.inference import decode, new_cache
from helpers.layers.nest import map_nest
from tools.timing import medians

SIZES = [{"d": 64, "heads": 4, "blocks": 2}, {"d": 512, "heads": 8, "blocks": 2}]
LENGTHS = (8, 32, 128, 512)
N_VOCAB, S_SRC = 620, 16


def steps(d, heads, blocks, S):
    """(parameters, cached, recomputed): two functions of the parameters that give the scores after S tokens."""
    rng = np.random.default_rng(0)
    drawn = new_transformer(rng, N_VOCAB, d, 4 * d, blocks)
    parameters = map_nest(lambda array: array.astype(np.float32), drawn)
    src, ids = rng.integers(0, N_VOCAB, S_SRC), rng.integers(0, N_VOCAB, S)
    C = encoder(parameters, embed_sequence(parameters["E"], src), heads)["C"]
    cache = new_cache(parameters, src, heads, S)
    decode(parameters, cache, ids[:-1], heads=heads)
    taken = cache["lengths"]

    def cached(parameters):
        cache["lengths"] = taken  # the same step each time
        return decode(parameters, cache, ids[-1:], heads=heads)[-1]

    def recomputed(parameters):
        D = decoder(parameters, embed_sequence(parameters["E"], ids), C, heads, causal_mask(S))["D"]
        return output_scores(parameters["E"], D[-1])

    return parameters, cached, recomputed


def lines():
    """Yield the lines of the section."""
    for size in SIZES:
        for S in LENGTHS:
            parameters, *ways = steps(**size, S=S)
            names = ("cached", "recomputed")
            times = medians({name: partial(way, parameters) for name, way in zip(names, ways, strict=True)}, rounds=9)
            counts = [multiplications(way, parameters) for way in ways]
            parts = [f"{n} {times[n]:8.2f} ms {c / 1e6:9.2f} million" for n, c in zip(names, counts, strict=True)]
            where = f"d {size['d']}, {size['blocks']} blocks, S {S}"
            ratios = f"{times['recomputed'] / times['cached']:.1f} x the time, {counts[1] / counts[0]:.1f} x the work"
            yield f"{where:24}{'   '.join(parts)}   {ratios}"


if __name__ == "__main__":
    for line in lines():
        print(line)
