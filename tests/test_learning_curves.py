"""The recorded learning curves in data/: complete, at equal compute, and what the code gives today."""

import numpy as np
import pytest

from helpers.corpus.vocabulary import DATA
from helpers.explorers import learning_curves
from helpers.explorers.learning_curves import BUDGET, SHARES, cells, load_curves, load_data, steps_within, train_cell
from helpers.layers.training import take

FILE = DATA / "learning_curves.json"


def test_every_cell_is_recorded():
    recorded = load_curves()
    assert set(recorded) == set(cells())
    for curves in recorded.values():
        assert curves["share"] == [0, *SHARES]
        for seen in ("train", "held_out"):
            assert all(len(values) == len(SHARES) + 1 and np.isfinite(values).all() for values in curves[seen].values())
            assert all(0 <= right <= 1 for right in curves[seen]["accuracy"])
        assert 0 <= curves["exact_match"] <= curves["held_out"]["accuracy"][-1]


def test_every_cell_spent_the_budget():
    vocabulary, everything, _ = load_data()
    for (d, pairs, _, _), curves in load_curves().items():
        assert curves["steps"] == steps_within(BUDGET, d, take(everything, slice(0, pairs)), vocabulary)


def test_training_still_begins_as_recorded():
    recorded = load_curves()[64, 200, 4, 0]
    curves, _ = train_cell(64, 200, shares=SHARES[:1])
    for seen in ("train", "held_out"):
        for name in ("loss", "accuracy"):
            assert curves[seen][name] == pytest.approx(recorded[seen][name][:2], abs=0.01)


def test_nothing_is_trained_twice(tmp_path, monkeypatch):
    copy = tmp_path / "learning_curves.json"
    lines = FILE.read_text(encoding="utf-8").split("\n")
    assert '"seed": 1' in lines[-3]
    copy.write_text("\n".join([*lines[:-4], lines[-4].rstrip(","), *lines[-2:]]), encoding="utf-8")
    trained = []

    def train_cell(*cell):
        trained.append(cell)
        curves = dict(load_curves()[cell])
        return {name: curves[name] for name in curves if name != "exact_match"}, cell

    monkeypatch.setattr(learning_curves, "train_cell", train_cell)
    monkeypatch.setattr(learning_curves, "exact_match", lambda run, *data: load_curves()[run]["exact_match"])
    learning_curves.make(tmp_path)
    assert trained == [cells()[-1]]
    assert copy.read_bytes() == FILE.read_bytes()
