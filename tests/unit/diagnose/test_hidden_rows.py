"""Rows of an attention that see no key: named as such only where they alone are wrong."""

import numpy as np
import pytest

from isomorph.core.fault_context import Certainty, FaultContext
from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.diagnose.hidden_rows import hidden_rows
from isomorph.fixes._unseen_rows import filled_with_infinity

ATTENTION = Node(
    name="a", op="Attention", native_op="sdpa", inputs=("q", "k", "v", "m"), outputs=("o",),
    attributes={},
)  # fmt: skip
MASK = np.tril(np.ones((1, 1, 4, 4), bool))
MASK[..., 2, :] = False
RIGHT = np.random.default_rng(0).normal(size=(1, 2, 4, 3))
RIGHT[:, :, 2] = 0.0
MEANS = RIGHT.copy()
MEANS[:, :, 2] = 0.7


def graph(*nodes, dtype="bool"):
    tensors = {"m": TensorSpec(name="m", dtype=dtype, shape=(1, 1, 4, 4))}
    return Graph(name="g", inputs=(), outputs=(), nodes=nodes, tensors=tensors, constants={})


def context(wrong, *, right=RIGHT, mask=MASK, dtype="bool", nodes=(), constants=None):
    reference, candidate = graph(ATTENTION, dtype=dtype), graph(*nodes)
    values = {("m", id(reference)): mask}
    return FaultContext(
        reference=reference, candidate=candidate, node=ATTENTION, nodes=nodes,
        counterparts=(ATTENTION,), tensor="o", wrong=wrong, right=right, permuted=False,
        constant=lambda _, name: (constants or {}).get(name), restores=lambda _: False,
        equals=lambda found: np.allclose(found, right),
        value=lambda side, name: values.get((name, id(side))),
    )  # fmt: skip


@pytest.mark.parametrize(("right", "wrong"), [(RIGHT, MEANS), (MEANS, RIGHT)])
def test_rows_without_a_key_are_counted(right, wrong):
    found = hidden_rows(context(wrong, right=right))
    assert found is not None
    assert (found.cause, found.certainty) == ("missing_op", Certainty.EVIDENT)
    assert found.evidence == {"rows_without_a_key": 1}
    assert "every key of 1 row" in found.summary


@pytest.mark.parametrize(
    "other",
    [
        context(MEANS + np.eye(4)[0][:, None]),  # another row is wrong as well
        context(MEANS, mask=np.tril(np.ones((1, 1, 4, 4), bool))),  # every row sees a key
        context(MEANS + 1.0, right=MEANS),  # neither side has zeros there
        context(MEANS, dtype="float32", mask=MASK.astype(np.float32)),  # added to the scores
        context(MEANS[..., :2]),  # of another shape
    ],
)
def test_anything_else_has_another_cause(other):
    assert hidden_rows(other) is None


def node(op, *inputs):
    return Node(name=op, op=op, native_op=op, inputs=inputs, outputs=(f"{op}_y",), attributes={})


LOWEST = np.array(np.finfo(np.float32).min)
GUARDED = (node("Where", "m", "x", "low"), node("IsNaN", "s"), node("Where", "n", "zero", "s"))


def test_the_number_of_a_mask_becomes_infinite_where_no_numbers_are_replaced():
    given = {"low": LOWEST, "zero": np.array(0.0, np.float32)}
    (patch,) = filled_with_infinity(context(MEANS, nodes=GUARDED, constants=given))
    (edit,) = patch.edits
    assert edit.tensor == "low"
    assert np.isneginf(edit.value)
    assert not list(filled_with_infinity(context(MEANS, nodes=GUARDED[:1], constants=given)))
