"""Planted faults in the definitions of notebook 01."""

from tests.notebook_tools import Mutant

MUTANTS = [
    Mutant("a merge that leaves one half behind", "merged[-1] = new", "merged.append(new)"),
    Mutant("a merge compares the halves in the wrong order", "(merged[-1], i) == pair", "(i, merged[-1]) == pair"),
    Mutant("of equal counts the largest ids", "best = min(pair for pair", "best = max(pair for pair"),
    Mutant("of equal counts the pair met first", "best = min(pair for pair", "best = next(pair for pair"),
    Mutant("a piece counts once however often it occurs", "sign * times[word]", "sign"),
    Mutant("pairs that occur once are merged too", "if top < 2:", "if top < 1:"),
    Mutant("pairs that occur twice are not merged", "if top < 2:", "if top < 3:"),
    Mutant(
        "new pairs are not counted",
        "merge_pair(words[word], best, learned[best])\n            add(word, +1)",
        "merge_pair(words[word], best, learned[best])",
    ),
    Mutant("halves glued in the wrong order", "vocab[best[0]] + vocab[best[1]]", "vocab[best[1]] + vocab[best[0]]"),
    Mutant(
        "special tokens take no ids in training",
        "words = [byte_ids(piece, specials) for",
        "words = [byte_ids(piece, ()) for",
    ),
    Mutant("special tokens shift no ids in encoding", 'byte_ids(piece, tokenizer["specials"])', "byte_ids(piece, ())"),
    Mutant("a piece that comes again is dropped", "        ids += known[piece]", "            ids += known[piece]"),
    Mutant("the latest offer instead of the earliest merge", "heapq.heappop(heap)", "heap.pop()"),
    Mutant(
        "a stale offer is taken",
        "merges.get((ids[left], ids[right])) != new",
        "(ids[left], ids[right]) not in merges",
    ),
    Mutant("no new pair to the left", "        offer(before[left], left)\n", ""),
    Mutant("no new pair to the right", "        offer(left, after[left])\n", ""),
    Mutant("bytes in the wrong order", 'b"".join(vocab[i] for i in ids)', 'b"".join(vocab[i] for i in ids[::-1])'),
    Mutant("a space between tokens", 'b"".join(vocab[i] for i in ids)', 'b" ".join(vocab[i] for i in ids)'),
    Mutant("negative ids are taken from the end", "if not 0 <= i < len(vocab)", "if not i < len(vocab)"),
    Mutant("the limit excludes its own length", "if len(ids) > limit:", "if len(ids) >= limit:"),
    Mutant("no limit at all", "if len(ids) > limit:", "if len(ids) > 10 * limit:"),
    Mutant("an unknown word is taken for the most frequent one", "ids.get(word, unknown)", "ids.get(word, 1)"),
    Mutant("rare words instead of frequent ones", "(-counts[word], word)", "(counts[word], word)"),
]
