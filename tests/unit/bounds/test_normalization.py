"""How far a normalized element may be from zero."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.bounds.interval import within
from isomorph.bounds.node_inputs import NodeInputs
from isomorph.bounds.normalization import normalization
from isomorph.bounds.rounding import type_rounding
from isomorph.core.model import Node

SHAPE = (2, 3, 100)


def largest(weight, **attributes):
    node = Node(name="n", op="LayerNormalization", native_op="LayerNormalization",
                inputs=("x", "w"), outputs=("y",), attributes=attributes)  # fmt: skip
    inputs = NodeInputs(
        node=node,
        intervals={"x": within(SHAPE, -1e4, 1e4)},
        runs=SimpleNamespace(sample={"w": weight, "x": np.zeros(SHAPE), "y": np.zeros(SHAPE)}),
        rounding=type_rounding("float32", None),
        producers={},
        fixed=frozenset({"w"}),
    )
    (found,) = normalization(inputs)
    return found.most


@pytest.mark.parametrize(
    ("axis", "weight", "count"),
    [(-1, (100,), 100), (-1, (1,), 100), (1, (100,), 300), (0, (3, 100), 600)],
)
def test_elements_are_normalized_over_all_axes_behind_the_first(axis, weight, count):
    """One element that differs from all others is √(n - 1)."""
    found = largest(np.ones(weight, np.float32), axis=axis, epsilon=1e-12)
    assert math.sqrt(count - 1) <= found <= 1.01 * math.sqrt(count)


@pytest.mark.parametrize(("epsilon", "bounded"), [(0.0, False), (1e-5, True)])
def test_without_an_epsilon_equal_elements_are_no_numbers(epsilon, bounded):
    assert math.isfinite(largest(np.ones(100, np.float32), axis=-1, epsilon=epsilon)) is bounded
