"""Planted faults in the definitions of notebook 10."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant("greedy reads the first row", "D[..., -1, :]", "D[..., 0, :]"),
    Mutant(
        "greedy goes on after the end token",
        "ended |= token == end",
        "ended |= token == start",
        cell="definition-greedy",
    ),
    Mutant("greedy writes one token more than the limit", "prefix.shape[-1] <= limit", "prefix.shape[-1] <= limit + 1"),
    Mutant(
        "keys and values exchanged",
        '{"K": split_heads(K, heads), "V": split_heads(V, heads)}',
        '{"K": split_heads(V, heads), "V": split_heads(K, heads)}',
    ),
    Mutant("values are not remembered", 'for name in "KV":', 'for name in "K":'),
    Mutant(
        "positions start again at 0",
        "return taken[..., None] + np.arange(S_new)",
        "return 0 * taken[..., None] + np.arange(S_new)",
    ),
    Mutant(
        "new tokens read each other's future", "source <= positions[..., None]", "source <= positions[..., -1:, None]"
    ),
    Mutant(
        "the newest token does not read itself",
        "source <= positions[..., None]",
        "source < np.maximum(positions[..., None], 1)",
    ),
    Mutant("post-norm and pre-norm exchanged", 'if norm == "post":', 'if norm != "post":'),
    Mutant("padding of the source is read", '"M_src": M_src', '"M_src": None'),
    Mutant("embedding without its factor", "math.sqrt(E.shape[1]) * embed(E, ids)", "embed(E, ids)"),
    Mutant("scores multiplied by the temperature", "softmax(logits / temperature)", "softmax(logits * temperature)"),
    Mutant("top-k keeps one more", "[..., :k]", "[..., : k + 1]"),
    Mutant("top-p drops the token that reaches p", "before < p, falling", "before + falling < p, falling"),
    Mutant(
        "draws are bent towards likely tokens",
        "(1 - rng.random(Pi.shape[:-1] + (1,)))",
        "(1 - rng.random(Pi.shape[:-1] + (1,))) ** 2",
    ),
    Mutant("beam keeps the worst", "np.argsort(-totals, axis=None", "np.argsort(totals, axis=None"),
    Mutant(
        "beam forgets what a prefix has cost",
        "totals = sums[:, None] + log_softmax",
        "totals = 0 * sums[:, None] + log_softmax",
    ),
    Mutant("prefixes go on from another one's cache", "array[rows]", "array[np.sort(rows)]"),
    Mutant("multiplied by the length penalty", "float(total) / length_penalty", "float(total) * length_penalty"),
    Mutant("root of the length alone", "((5 + length) / 6) ** alpha", "(5 + length) ** alpha / 6"),
    Mutant(
        "GPT-2 counts the padding of a prompt",
        "(ids.shape[-1] if lengths is None else lengths)",
        "ids.shape[-1]",
        cell="definition-gpt2",
    ),
    Mutant("GPT-2 without its final norm", 'D = layer_norm(parameters["norm"], X, epsilon)["Y"]', "D = X"),
]
