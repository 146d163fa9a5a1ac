"""Prints how fast the course is, each figure beside the usual way of doing the same: `make bench`.

A section is a module ``tools/bench_<what>.py``: the first line of its docstring
is the heading, its ``lines()`` gives the lines to print. With the names of
sections only these are run: ``python tools/bench.py explorers``.
"""

import os
import sys
from pathlib import Path

# before NumPy and torch are loaded, so that both use the same number of threads
THREADS = os.environ.setdefault("OMP_NUM_THREADS", "2")
for other in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(other, THREADS)

TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS.parent))


def main(chosen):
    """Run the chosen sections, or all."""
    import importlib

    names = sorted(path.stem.removeprefix("bench_") for path in TOOLS.glob("bench_*.py"))
    unknown = set(chosen) - set(names)
    if unknown:
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    print(f"medians, {os.cpu_count()} cores, {THREADS} threads for NumPy and torch")
    for name in names:
        if not chosen or name in chosen:
            section = importlib.import_module(f"tools.bench_{name}")
            print("\n" + section.__doc__.splitlines()[0])
            for line in section.lines():
                print(f"  {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
