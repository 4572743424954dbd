"""What a fix leaves out is noted, so that a repair that fails can name it."""

import numpy as np
import pytest

from isomorph.core.limits import noted_limits
from isomorph.core.model import Node
from isomorph.core.repair_limits import CONCAT_PARTS, OUTPUT_ORDERS, TRANSPOSED_AXES
from isomorph.diagnose.constant_diff import difference
from isomorph.fixes.interface import _orders as orders_of_outputs
from isomorph.fixes.layout import _orders as orders_of_axes
from isomorph.fixes.layout import _parts


def _noted(iterator):
    with noted_limits() as hit:
        found = list(iterator)
    return len(found), list(hit)


@pytest.mark.parametrize(("count", "found", "hit"), [(3, 6, []), (5, 0, [OUTPUT_ORDERS])])
def test_many_outputs_are_not_tried_in_every_order(count, found, hit):
    assert _noted(orders_of_outputs(tuple("abcdefgh"[:count]))) == (found, hit)


@pytest.mark.parametrize(("axes", "found", "hit"), [(3, 6, []), (6, 15, [TRANSPOSED_AXES])])
def test_of_many_axes_only_pairs_are_exchanged(axes, found, hit):
    assert _noted(orders_of_axes(tuple(range(axes)))) == (found, hit)


@pytest.mark.parametrize(("count", "found", "hit"), [(3, 5, []), (6, 0, [CONCAT_PARTS])])
def test_many_parts_are_not_tried_in_every_order(count, found, hit):
    node = Node(
        name="c",
        op="Concat",
        native_op="Concat",
        inputs=tuple(f"x{place}" for place in range(count)),
        outputs=("y",),
        attributes={},
    )
    assert _noted(_parts(node)) == (found, hit)


def test_a_constant_of_five_axes_is_compared_in_every_order():
    right = np.random.default_rng(0).standard_normal((2, 3, 4, 5, 6))
    with noted_limits() as hit:
        assert (
            difference(right.transpose(4, 3, 2, 1, 0).reshape(right.shape), right).cause == "layout"
        )
    assert not hit
