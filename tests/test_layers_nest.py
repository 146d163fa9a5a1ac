"""Nests: paths, the way back, files."""

import numpy as np
import pytest

from helpers.layers.nest import count, flatten, load, map_nest, save, unflatten, walk

NEST = {
    "E": np.arange(6.0).reshape(3, 2),
    "encoder": [{"W_Q": np.ones((2, 2)), "b": np.zeros(2, np.float32)}, {"W_Q": np.full((2, 2), 3.0), "b": np.ones(2)}],
}


def same(ours, theirs):
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and list(ours) == list(theirs) and all(same(ours[k], theirs[k]) for k in theirs)
    return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))


def test_walk_gives_paths_in_order():
    assert [path for path, _ in walk(NEST)] == [
        "E", "encoder/0/W_Q", "encoder/0/b", "encoder/1/W_Q", "encoder/1/b"
    ]  # fmt: skip
    assert dict(walk(NEST))["encoder/1/W_Q"] is NEST["encoder"][1]["W_Q"]


def test_unflatten_is_the_inverse_of_flatten():
    assert same(unflatten(flatten(NEST)), NEST)
    assert same(unflatten(flatten(NEST["E"])), NEST["E"])


def test_eleven_blocks_stay_in_order():
    nest = [{"b": np.full(1, float(i))} for i in range(11)]
    assert same(unflatten(flatten(nest)), nest)
    assert same(unflatten(dict(sorted(flatten(nest).items()))), nest)


def test_numbers_that_do_not_count_from_zero_are_keys():
    assert list(unflatten({"1": np.ones(1), "2": np.ones(1)})) == ["1", "2"]


def test_map_nest_goes_side_by_side_and_keeps_the_first():
    doubled = map_nest(lambda a, b: a + b, NEST, NEST)
    assert same(doubled, map_nest(lambda a: 2 * a, NEST))
    assert NEST["encoder"][0]["W_Q"][0, 0] == 1.0


@pytest.mark.parametrize(
    "other",
    [
        {"E": NEST["E"]},
        {**NEST, "more": np.ones(1)},
        {**NEST, "encoder": NEST["encoder"][:1]},
        {**NEST, "encoder": np.ones((2, 2))},
    ],
)
def test_map_nest_names_the_keys_that_differ(other):
    with pytest.raises(ValueError, match="keys"):
        map_nest(lambda a, b: a, NEST, other)


def test_map_nest_tells_a_list_from_a_dict():
    with pytest.raises(ValueError, match="keys"):
        map_nest(lambda a, b: a, [np.ones(1)], {0: np.ones(1)})


def test_count():
    assert count(NEST) == 6 + 2 * (4 + 2)


def test_files_come_back_equal_and_are_the_same_each_time(tmp_path):
    for name in ("one", "two"):
        save(tmp_path / name, NEST)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert same(load(tmp_path / "one"), NEST)


def test_no_pickle(tmp_path):
    with pytest.raises(ValueError):
        save(tmp_path / "objects", {"a": np.array([{}])})
