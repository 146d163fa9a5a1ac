"""Medians of things that are to be compared."""

import statistics
import time


def medians(actions, rounds=15):
    """{name: median milliseconds}; the actions take turns, so that a busy moment hits all of them alike.

    ``actions`` is {name: function}. A function may return its own milliseconds;
    otherwise its call is timed. The first round warms up and does not count.
    """
    times = {name: [] for name in actions}
    for _ in range(rounds + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            own = action()
            passed = 1000 * (time.perf_counter() - start)
            times[name].append(own if isinstance(own, float) else passed)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def line(what, times):
    """One line: each median, and each beside the first as a ratio."""
    (first, base), *others = times.items()
    parts = [f"{first} {base:.4g} ms", *(f"{name} {value:.4g} ms ({value / base:.2f} x)" for name, value in others)]
    return f"{what}: " + ", ".join(parts)
