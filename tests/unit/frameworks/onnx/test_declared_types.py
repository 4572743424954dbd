"""The types of outputs, which are kept for operators, attributes and inputs that are alike."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.frameworks.onnx.declared_types import declared_outputs


def step(op, outputs=1, **attributes):
    names = tuple(f"y{place}" for place in range(outputs))
    return SimpleNamespace(op=op, version=17, domain="", attributes=attributes, outputs=names)


@pytest.mark.parametrize(
    ("node", "inputs", "expected"),
    [
        (step("Cast", to=10), ["float32"], ["float16"]),
        (step("Cast", to=7), ["float32"], ["int64"]),
        (step("Add"), ["float32", "float32"], ["float32"]),
        (step("Add"), ["float16", "float16"], ["float16"]),
        (step("Split", outputs=2), ["float16", "int64"], ["float16", "float16"]),
        (step("Split"), ["float16", "int64"], ["float16"]),
        (step("ArgMax"), ["float16"], ["int64"]),
        (step("EyeLike"), ["int32"], ["int32"]),
        (step("EyeLike", dtype=1), ["int32"], ["float32"]),
        (step("ConstantOfShape"), ["int64"], ["float32"]),
        (step("ConstantOfShape", value=np.zeros(1, np.int32)), ["int64"], ["int32"]),
        (step("Constant", value_int=3), [], ["int64"]),
    ],
    ids=lambda each: each.op if isinstance(each, SimpleNamespace) else None,
)
def test_they_follow_from_the_operator_its_attributes_and_its_inputs(node, inputs, expected):
    assert list(declared_outputs(node, inputs)) == expected
