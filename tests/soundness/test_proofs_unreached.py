"""What differs for inputs that no sample reaches is not proven: nothing was measured to stop it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import isomorph

F32, F16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
FAR = np.array(1e6, np.float32)


def model(nodes, shape, constants, *, outputs=("y",), opset=21, dtype=F32):
    ends = [helper.make_tensor_value_info(name, dtype, shape) for name in ("x", *outputs)]
    for end in ends[1:]:
        end.type.tensor_type.ClearField("shape")
    stored = [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op, given, made, **options):
    return helper.make_node(op, given.split(), made.split(), **options)


def test_a_constant_outside_a_domain_is_refused_again():
    """The second of two normalizations reads terms that the refused first one has made."""
    constants = {
        "scale": np.ones(3, np.float32), "none": np.zeros(3, np.float32),
        "variance": -np.ones(3, np.float32), "far": FAR,
    }  # fmt: skip
    normalized = [
        node("BatchNormalization", "x scale none none variance", made) for made in ("p", "q")
    ]
    chosen = [node("Greater", "x far", "g"), node("Where", "g w x", "y")]
    one = [*normalized, node("Sub", "q q", "z"), node("Add", "x z", "w"), *chosen]
    other = [normalized[0], node("Identity", "x", "w"), *chosen]
    shape, outputs = [1, 3, 2], ("y", "p")
    pair = [model(each, shape, constants, outputs=outputs) for each in (one, other)]
    found = isomorph.prove(*pair, in_process=True)
    assert not any(each.standing == "proven" for each in found.outputs)


def test_a_slope_of_an_older_operator_set_belongs_to_a_channel():
    constants = {"far": FAR, "slope": np.float32([0.1, 0.2, 0.3])}
    nodes = [node("Add", "x far", "z"), node("PRelu", "z slope", "y")]
    pair = [model(nodes, [1, 3, 3, 3], constants, opset=opset) for opset in (6, 7)]
    if_channels = isomorph.prove(*pair, in_process=True)
    assert if_channels.outputs[0].standing == "open"
    constants["slope"] = np.float32([0.1])
    pair = [model(nodes, [1, 3, 3, 3], constants, opset=opset) for opset in (7, 9)]
    assert isomorph.prove(*pair, in_process=True).whole


@pytest.mark.parametrize(("dtype", "every"), [(F32, True), (F16, False)])
def test_a_size_that_halves_cannot_hold_is_no_size(dtype, every):
    """A mean of 70,000 rows of halves, divided by their count, is zero: the count is infinite."""
    parts = [
        node("Shape", "x", "s", start=0, end=1), node("Squeeze", "s", "n"),
        node("Cast", "n", "c", to=dtype), node("ReduceSum", "x first", "t", keepdims=0),
        node("Div", "t c", "y"),
    ]  # fmt: skip
    first = {"first": np.array([0], np.int64)}
    whole = [node("ReduceMean", "x first", "y", keepdims=0)]
    pair = [model(each, ["n", 3], first, dtype=dtype) for each in (parts, whole)]
    x = np.ones((5, 3), helper.tensor_dtype_to_np_dtype(dtype))
    found = isomorph.prove(*pair, inputs={"x": x}, in_process=True)
    assert found.whole
    assert [each.every_size for each in found.axes] == [every]


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_a_change_behind_an_idle_dropout_is_a_change():
    torch = pytest.importorskip("torch")

    class Changing(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            z = torch.nn.functional.dropout(y, 0.5, training=False)
            z.add_(torch.relu(x - 1e6))
            return y

    program = torch.export.export(Changing(), (torch.zeros(2, 3),))
    doubled = model([node("Mul", "x two", "y")], [2, 3], {"two": np.float32(2)})
    assert not isomorph.prove(program, doubled, in_process=True).whole
    added = [node("Mul", "x two", "d"), node("Sub", "x far", "f"), node("Relu", "f", "r"),
             node("Add", "d r", "y")]  # fmt: skip
    changed = model(added, [2, 3], {"two": np.float32(2), "far": FAR})
    assert isomorph.prove(program, changed, in_process=True).whole
