"""Which weights that are off as a whole are certain to make another function."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.match.constant_difference import ConstantDifference
from isomorph.match.misrounded_weights import compared_together
from isomorph.match.rounding_grids import OtherGrid
from isomorph.match.stored_weights import StoredWeight

ALL = np.ones((2, 2), bool)


def weight(name, dtype="int8"):
    return StoredWeight(
        name=name, dtype=dtype, shape=(2, 2), digest=name, value_digest=name, readers=()
    )


def different(name, dtype="int8", **grid):
    return ConstantDifference(
        weight=weight(name, dtype), reference=("w",), evidence=("value",), beyond=ALL,
        expected=np.zeros((2, 2)), relative=0.1, shown=(),
        grid=OtherGrid(beyond=ALL, moved=ALL, **grid),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "dtype", "others", "certain"),
    [
        ({"factor": 2.0}, "int8", (), True),
        ({"factor": 2.0}, "int8", ("other",), False),
        ({"shift": -1}, "int8", (), True),
        ({"shift": -1}, "int8", ("other",), True),
        ({"shift": -1}, "int32", ("other",), False),
    ],
)
def test_a_factor_may_be_compensated_for_and_a_zero_point_may_not(grid, dtype, others, certain):
    found = different("a", dtype, **grid)
    side = SimpleNamespace(stored=dict.fromkeys(("a", *others)))
    (judged,) = compared_together([found], side, ())
    assert judged.certain is certain


def test_factors_in_opposite_directions_may_compensate_for_each_other():
    found = [different("a", factor=2.0), different("b", factor=0.5)]
    side = SimpleNamespace(stored=dict.fromkeys("ab"))
    assert not any(each.certain for each in compared_together(found, side, ()))
