"""Single random changes of an ONNX file, for ``export_mutants.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

OTHERS = {
    "Tanh": "Sigmoid", "Sigmoid": "Tanh", "Erf": "Tanh", "Relu": "Abs", "Add": "Sub", "Sub": "Add",
    "Mul": "Add", "Div": "Mul", "Sin": "Cos", "Cos": "Sin", "Sqrt": "Exp",
    "ReduceMean": "ReduceMax", "Max": "Min", "Min": "Max", "MaxPool": "AveragePool",
    "Less": "LessOrEqual",
}  # fmt: skip
STEPS = (1.0, 1e-1, 1e-3, 1e-4)
"""How far a number is changed, relatively; re-rounded constants differ by 1e-6 at most."""


def mutant(model: onnx.ModelProto, draw: Any) -> tuple[onnx.ModelProto, str] | None:
    """A copy with one change, and what it is; None where the drawn kind does not apply."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    kind = draw.choice([_weight, _weight, _number, _whole, _attribute, _operator, _swap, _rewire])
    what = kind(made.graph, draw)
    return None if what is None else (made, f"{kind.__name__[1:]}: {what}")


def _pick(listed: list, draw: Any) -> Any:
    return listed[int(draw.integers(len(listed)))] if listed else None


def _store(tensor: onnx.TensorProto, array: Any) -> None:
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _changed(tensor: onnx.TensorProto, draw: Any) -> str:
    array = numpy_helper.to_array(tensor).copy()
    place = tuple(int(draw.integers(size)) for size in array.shape)
    old = float(array[place])
    step = float(draw.choice(STEPS)) * float(draw.choice([-1.0, 1.0]))
    new = step if old == 0.0 or not np.isfinite(old) else old * (1.0 + step)
    array[place] = new
    _store(tensor, array)
    return f"{tensor.name}{list(place)} {old:.9g} -> {float(array[place]):.9g}"


def _floats(graph: onnx.GraphProto, *, single: bool) -> list:
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
    sizes = {each.name: int(np.prod(each.dims)) for each in graph.initializer}
    return [
        each
        for each in graph.initializer
        if each.data_type in floats and sizes[each.name] and (sizes[each.name] == 1) == single
    ]


def _weight(graph: onnx.GraphProto, draw: Any) -> str | None:
    tensor = _pick(_floats(graph, single=False), draw)
    return None if tensor is None else _changed(tensor, draw)


def _number(graph: onnx.GraphProto, draw: Any) -> str | None:
    tensor = _pick(_floats(graph, single=True), draw)
    return None if tensor is None else _changed(tensor, draw)


def _whole(graph: onnx.GraphProto, draw: Any) -> str | None:
    wholes = [
        each
        for each in graph.initializer
        if each.data_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
        and int(np.prod(each.dims, initial=1))
    ]
    tensor = _pick(wholes, draw)
    if tensor is None:
        return None
    array = numpy_helper.to_array(tensor).copy()
    place = tuple(int(draw.integers(size)) for size in array.shape)
    array[place] += int(draw.choice([-1, 1]))
    _store(tensor, array)
    return f"{tensor.name}{list(place)} = {array[place]}"


def _attribute(graph: onnx.GraphProto, draw: Any) -> str | None:
    listed = [
        (node, each) for node in graph.node for each in node.attribute if each.type in (1, 2, 7)
    ]
    if not listed:
        return None
    node, attribute = _pick(listed, draw)
    if attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = attribute.f * (1.0 + float(draw.choice(STEPS))) if attribute.f else 1.0
    elif attribute.type == onnx.AttributeProto.INT:
        attribute.i += int(draw.choice([-1, 1]))
    elif attribute.ints:
        place = int(draw.integers(len(attribute.ints)))
        attribute.ints[place] += int(draw.choice([-1, 1]))
    return f"{node.op_type}.{attribute.name}"


def _operator(graph: onnx.GraphProto, draw: Any) -> str | None:
    node = _pick([each for each in graph.node if each.op_type in OTHERS and not each.domain], draw)
    if node is None:
        return None
    node.op_type = OTHERS[node.op_type]
    return f"{node.name} is {node.op_type}"


def _swap(graph: onnx.GraphProto, draw: Any) -> str | None:
    node = _pick([each for each in graph.node if len(each.input) > 1 and each.input[1]], draw)
    if node is None:
        return None
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return f"{node.op_type} {node.name}"


def _rewire(graph: onnx.GraphProto, draw: Any) -> str | None:
    """Another tensor of the same type and shape, computed or stored before."""
    shapes = {
        each.name: (each.type.tensor_type.elem_type,
                    tuple(d.dim_value for d in each.type.tensor_type.shape.dim))
        for each in [*graph.value_info, *graph.input]
    }  # fmt: skip
    shapes |= {each.name: (each.data_type, tuple(each.dims)) for each in graph.initializer}
    known = {each.name for each in [*graph.input, *graph.initializer]}
    choices = []
    for node in graph.node:
        for place, name in enumerate(node.input):
            equal = [
                n for n in known if n != name and n in shapes and shapes[n] == shapes.get(name)
            ]
            choices += [(node, place, other) for other in sorted(equal)[:40]]
        known |= set(node.output)
    found = _pick(choices, draw)
    if found is None:
        return None
    node, place, other = found
    what = f"{node.name} reads {other} for {node.input[place]}"
    node.input[place] = other
    return what
