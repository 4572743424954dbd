"""Sequences and maps as tensors under stable paths."""

import numpy as np

from isomorph.core.trace import flatten


def test_a_tensor_and_nothing_are_themselves():
    array = np.zeros(2)
    assert flatten("y", array) == {"y": array}
    assert flatten("y", None) == {"y": None}


def test_elements_of_sequences_have_their_place_at_any_depth():
    assert flatten("y", [1, (2, 3)]) == {"y[0]": 1, "y[1][0]": 2, "y[1][1]": 3}
    assert flatten("y", []) == {}


def test_a_map_is_its_sorted_keys_and_their_values():
    found = flatten("y", {3: 0.5, 1: 0.25})
    assert found["y.keys"].tolist() == [1, 3]
    assert found["y.values"].tolist() == [0.25, 0.5]


def test_words_are_kept_whole():
    found = flatten("y", [{"b": 1.0, "long word": 2.0}])
    assert found["y[0].keys"].dtype == object
    assert found["y[0].keys"].tolist() == ["b", "long word"]
