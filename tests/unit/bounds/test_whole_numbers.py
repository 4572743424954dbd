"""Integers that may wrap around have the bounds of their type alone."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import isomorph
from isomorph.bounds.interval import within
from isomorph.bounds.node_inputs import NodeInputs
from isomorph.bounds.rounding import type_rounding
from isomorph.bounds.whole_numbers import may_wrap
from isomorph.core.model import Node

INT8, UINT8, INT64 = (np.iinfo(each) for each in (np.int8, np.uint8, np.int64))


def reads(op, *given, **attributes):
    """A node whose inputs are ranges of three numbers, constants, or absent."""
    names = [f"i{place}" if each is not None else "" for place, each in enumerate(given)]
    known = dict(zip(names, given, strict=True))
    node = Node(name="n", op=op, native_op=op, inputs=tuple(names), outputs=("y",),
                attributes=attributes)  # fmt: skip
    return NodeInputs(
        node=node,
        intervals={n: within((3,), *each) for n, each in known.items() if isinstance(each, tuple)},
        runs=SimpleNamespace(
            sample={
                n: np.zeros(3) if isinstance(x, tuple) else np.asarray(x)
                for n, x in known.items()
                if x is not None
            }
        ),
        rounding=type_rounding("int8", None),
        producers={},
        fixed=frozenset(),
    )


@pytest.mark.parametrize(
    ("inputs", "facts", "expected"),
    [
        (reads("Add", (-60, 60), (0, 66)), INT8, False),
        (reads("Add", (-60, 60), (0, 67)), INT8, True),
        (reads("Add", (0, 60), np.int8(70)), INT8, True),
        (reads("Add", (0, 20), (0, 30), alpha=4), INT8, True),
        (reads("Sub", (0, 3), np.uint8(1)), UINT8, True),
        (reads("Mul", (-9, 9), (-14, 14)), INT8, False),
        (reads("Mul", (-9, 9), (-15, 14)), INT8, True),
        (reads("Neg", (-128, 0)), INT8, True),
        (reads("Abs", (-127, 0)), INT8, True),
        (reads("Abs", (-126, 0)), INT8, False),
        (reads("ReduceSum", (0, 42), None), INT8, False),
        (reads("ReduceSum", (0, 43), None), INT8, True),
        (reads("MatMul", (0, 4), (0, 10)), INT8, False),
        (reads("MatMul", (0, 4), (0, 11)), INT8, True),
        (reads("Cast", (-128, 127)), INT8, False),
        (reads("Cast", (-128, 128)), INT8, True),
        (reads("Cast", (-1, 0)), UINT8, True),
        (reads("Cast", (0, np.inf)), INT64, True),
        (reads("Max", (-(2.0**70), 2.0**70)), INT8, False),
        (reads("Pow", (0, 2), np.int8(2)), INT8, True),
    ],
)
def test_what_may_leave_its_type(inputs, facts, expected):
    assert may_wrap(inputs, facts) is expected


@pytest.mark.parametrize("op", ["Mul", "Neg", "Cast"])
def test_a_bound_holds_for_what_wraps(tmp_path, op):
    """At both ends 44, -128 or 0, and anything in between."""
    to, second = (TensorProto.INT8, []) if op == "Cast" else (TensorProto.INT32, ["x"])
    nodes = [helper.make_node(op, ["x", *(second if op == "Mul" else [])], ["y"],
                              **({"to": to} if op == "Cast" else {}))]  # fmt: skip
    ends = [
        helper.make_tensor_value_info("x", TensorProto.INT32, [2]),
        helper.make_tensor_value_info("y", to, [2]),
    ]
    nodes.append(helper.make_node("Cast", ["y"], ["z"], to=TensorProto.FLOAT))
    last = helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])
    graph = helper.make_graph(nodes, "g", ends[:1], [last], value_info=ends[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, tmp_path / "m.onnx")
    low, high = {"Mul": (0, 2**16), "Neg": (-(2**31), 5), "Cast": (-300, 300)}[op]
    found = isomorph.ranges(tmp_path / "m.onnx", ranges={"x": (low, high)}, in_process=True)
    facts = np.iinfo(np.int8 if op == "Cast" else np.int32)
    (tensor,) = (each for each in found.tensors if each.name == "z")
    assert tensor.lower <= facts.min
    assert tensor.upper >= facts.max
