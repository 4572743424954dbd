"""Names that the rest of the program relies on."""

import pytest
import torch

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.pytorch import rounding_classes
from isomorph.frameworks.pytorch.composite_ops import COMPOSITES
from isomorph.frameworks.pytorch.op_names import NEUTRAL, neutral_name
from isomorph.frameworks.pytorch.program import operator_name


@pytest.mark.parametrize(
    ("operator", "neutral"),
    [
        (torch.ops.aten.conv2d.default, "Conv"),
        (torch.ops.aten.linear.default, "Gemm"),
        (torch.ops.aten.relu_.default, "Relu"),
        (torch.ops.aten.max.dim, "ReduceMax"),
        (torch.ops.aten.max.other, "Max"),
        (torch.ops.aten.__and__.Tensor, "And"),
        (torch.ops.higher_order.cond, "If"),
        (torch.ops.aten.erfinv.default, "aten.erfinv.default"),
    ],
)
def test_neutral_names(operator, neutral):
    assert neutral_name(operator_name(operator)) == neutral


TABLES = {
    name: table for name, table in vars(rounding_classes).items() if isinstance(table, frozenset)
}


@pytest.mark.parametrize("table", [frozenset(NEUTRAL), frozenset(COMPOSITES), *TABLES.values()])
def test_every_word_names_an_operator(table):
    aten = [word for word in table if "." not in word]
    assert aten
    # An operator may exist in its in-place form alone.
    unrelated = [w for w in aten if not any(hasattr(torch.ops.aten, w + end) for end in ("", "_"))]
    assert not unrelated


def test_no_operator_has_two_rules():
    kinds = [
        "SUMS",
        "ONE",
        "AT_LEAST_ONE",
        "INPUT",
        "OWN",
        "PRODUCTS",
        "DIFFERENCES",
        "NEGATIVE_SIDE",
        "EXACT",
    ]
    words = [word for kind in kinds for word in TABLES[kind]] + list(COMPOSITES)
    assert len(words) == len(set(words))


def test_what_moves_data_in_the_neutral_vocabulary_does_so_here():
    assert {"Relu", "Transpose", "Concat", "MaxPool"} <= MOVES_DATA & set(NEUTRAL.values())
