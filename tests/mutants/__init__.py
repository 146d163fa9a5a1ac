"""Faults planted in the notebooks' own definitions: one module per notebook, under the notebook's name.

Each module holds a list MUTANTS, as tests/mutants/attention.py:

    from tests.notebook_tools import Mutant

    MUTANTS = [
        Mutant("softmax over the wrong axis", "scores.max(axis=-1", "scores.max(axis=0"),
        Mutant("scaling forgotten", "if scaled:", "if not scaled:", cell="definition-attention"),
    ]

The second text takes the place of the first, which must stand exactly once
in the notebook's cells tagged ``definition`` (or in the one cell named).
The notebook then runs without its explorers and exercises, and a check, an
assert or a raise of its own must stop it. An error by accident, such as
shapes that do not multiply or an unknown name, is no catch.
"""
