"""Rebuild the files in data/: `python tools/data.py` runs every step, `python tools/data.py corpus` one."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from helpers.corpus.generator import write_files  # noqa: E402
from helpers.explorers import decoder_only_translator  # noqa: E402
from helpers.explorers import learning_curves as course_curves  # noqa: E402
from helpers.explorers import translator as course_translator  # noqa: E402


def corpus():
    """The sentence pairs and the vocabulary, byte for byte the same every time."""
    write_files(ROOT / "data")


def translator():
    """The trained weights, how they came about, and their accuracy; the same each time up to rounding."""
    course_translator.make(ROOT / "data")


def decoder_only():
    """The decoder-only translator of notebook 09: its weights and their accuracy; the same up to rounding."""
    decoder_only_translator.make(ROOT / "data")


def learning_curves():
    """The learning curves of notebook 12; what the file already holds is not trained again."""
    course_curves.make(ROOT / "data")


STEPS = {  # in this order
    "corpus": corpus,
    "translator": translator,
    "decoder_only": decoder_only,
    "learning_curves": learning_curves,
}


def main(names):
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        sys.exit(f"no such step: {', '.join(unknown)}; steps are {', '.join(STEPS)}")
    for name in names or STEPS:
        print(f"data: {name}")
        STEPS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
