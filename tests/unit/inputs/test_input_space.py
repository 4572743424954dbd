import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.core.rule_examples import constant, linted_model, node, spec
from isomorph.inputs.input_space import RangeOrigin, ValueKind, input_space, measured_bounds


def graph(*nodes, inputs, constants=()):
    return linted_model(*nodes, inputs=inputs, constants=constants).model.graph


def test_ids_stay_within_their_table_and_masks_are_masks():
    made = graph(
        node("Gather", "table", "ids", axis=0),
        node("Add", "y", "x", out="z"),
        inputs=(spec("ids", "int64"), spec("x"), spec("mask", "bool")),
        constants=(constant("table", shape=(50, 3)),),
    )
    feeds = {"ids": np.zeros((2, 3), np.int64), "x": np.zeros((2, 3)), "mask": np.ones((2, 3))}
    space = input_space(made, feeds, {"": (-1.0, 0.1)}, {})
    ids, x, mask = space.variables
    assert (ids.kind, ids.lower, ids.upper) == (ValueKind.ROW, 0, 49)
    assert (x.kind, x.origin, x.upper) == (ValueKind.REAL, RangeOrigin.STATED, 0.1)
    assert (mask.kind, mask.upper) == (ValueKind.MASK, 1)
    random = np.random.default_rng(0)
    for share in (0.0, 1.0):
        drawn = space.changed(space.drawn(random, corners=share), random, 0.5)
        assert drawn["ids"].dtype == np.int64
        assert drawn["ids"].min() >= 0
        assert drawn["ids"].max() <= 49
        assert drawn["x"].dtype == np.float32
        assert drawn["x"].astype(float).max() <= 0.1
        assert drawn["mask"].dtype == bool


def test_a_range_that_is_missing_or_impossible_is_wrong_use():
    made = graph(node("Relu"), inputs=(spec("x"),))
    feeds = {"x": np.zeros((2, 3), np.float32)}
    with pytest.raises(UsageError, match="range of input 'x' is not known"):
        input_space(made, feeds, {}, {})
    with pytest.raises(UsageError, match="no input 'y'"):
        input_space(made, feeds, {"y": (0, 1)}, {})
    found = input_space(made, feeds, {}, measured_bounds([{"x": np.array([-2.0, 3.0])}]))
    assert (found.variables[0].lower, found.variables[0].upper) == (-2.0, 3.0)
    assert measured_bounds([{"n": np.array([4, -7])}]) == {"n": (-7.0, 4.0)}
    assert measured_bounds([{"x": np.array([np.inf, 1.0, np.nan])}]) == {"x": (1.0, 1.0)}
    table = graph(
        node("Gather", "table", "ids", axis=0),
        inputs=(spec("ids", "int64"),),
        constants=(constant("table", shape=(50, 3)),),
    )
    with pytest.raises(UsageError, match="0:60"):
        input_space(table, {"ids": np.zeros((2, 3), np.int64)}, {"ids": (0, 60)}, {})
