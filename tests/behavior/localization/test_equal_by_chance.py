"""Numbers that equal booleans by chance are not taken for right."""

import numpy as np
import pytest

import isomorph
from weight_pairs import F32, floats, model, node

GIVEN = {"x": np.array([[1, 2, 3], [4, 5, 6]], F32)}


def replaced_nan(*first, last="Where"):
    """What the first nodes make, without NaN."""
    nodes = [*first, node("IsNaN", "a", "n"), node(last, "n k a", "y")]
    return model(nodes, {"x": floats(2, 3)}, {"y": floats(2, 3)}, {"k": F32(0)})


@pytest.mark.parametrize("second", ["Sub", "Div"])
def test_a_node_whose_zeros_equal_a_mask_without_any_is_named(second):
    """The difference of an input and itself is zero everywhere, as a mask that hides nothing."""
    reference = replaced_nan(node("Add", "x x", "a"))
    candidate = replaced_nan(node(second, "x x", "a"))
    report = isomorph.check(reference, candidate, inputs=GIVEN, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert report.findings[0].node == f"{second}_a"


def test_a_mask_that_was_cast_is_still_a_mask():
    def masked(*, as_numbers):
        cast = [node("Cast", "n", "m", to=1), node("Cast", "m", "c", to=9)] if as_numbers else []
        nodes = [node("IsNaN", "x", "n"), *cast, node("Exp", "x", "e"),
                 node("Where", f"{'c' if as_numbers else 'n'} k e", "y")]  # fmt: skip
        return model(nodes, {"x": floats(2, 3)}, {"y": floats(2, 3)}, {"k": F32(0)})

    sides = masked(as_numbers=False), masked(as_numbers=True)
    report = isomorph.check(*sides, inputs=GIVEN, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
