"""The parameters of a node, wherever they are kept, and the edits that set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.patch import AddConstant, Edit, EditBody, SetAttribute, SetConstant, SetInput
from isomorph.match.topology import Topology
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array

# Parameters that ONNX has as inputs since some opset, by operator: name and place.
PARAMETER_INPUTS = {
    "Clip": {"min": 1, "max": 2},
    "Pad": {"pads": 1, "constant_value": 2, "axes": 3},
    "CumSum": {"axis": 1},
    "Gather": {"indices": 1},
    "GatherElements": {"indices": 1},
    "GatherND": {"indices": 1},
    "ScatterElements": {"indices": 1},
    "ScatterND": {"indices": 1},
    "NonMaxSuppression": {
        "max_output_boxes_per_class": 2, "iou_threshold": 3, "score_threshold": 4,
    },
    "OneHot": {"depth": 1, "values": 2},
    "Tile": {"repeats": 1},
    "TopK": {"k": 1},
    "Trilu": {"k": 1},
    "Dropout": {"ratio": 1, "training_mode": 2},
    "Squeeze": {"axes": 1},
    "Unsqueeze": {"axes": 1},
    "Slice": {"starts": 1, "ends": 2, "axes": 3, "steps": 4},
}  # fmt: skip
# No runtime need take both: TFLite's own kernels refuse a resize that has them.
_EXCLUDES = {"align_corners": "half_pixel_centers", "half_pixel_centers": "align_corners"}
_NUMBERS = frozenset({"axis", "k", "constant_value", "min", "max", "ratio", "depth",
                      "max_output_boxes_per_class", "iou_threshold",
                      "score_threshold"})  # fmt: skip
# What ONNX means where a window's vector is left out: one number for each spatial axis.
_LEFT_OUT = {"strides": 1, "dilations": 1, "pads": 0}
_IN_PYTORCH = {"strides": "stride", "dilations": "dilation", "pads": "padding"}
_WINDOWED = frozenset({"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "AveragePool",
                       "MaxPool", "LpPool", "FusedConv"})  # fmt: skip
_REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
               "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")  # fmt: skip


def parameter_places(graph: Graph, node: Node) -> Mapping[str, int]:
    """The parameters of this node that it may read as inputs."""
    if node.op in _REDUCTIONS:
        return {"axes": 1}
    tables = operator_tables(graph.framework)
    if tables.own_options:
        return tables.parameter_inputs.get(node.native_op, {})
    return PARAMETER_INPUTS.get(node.op, {})


def unused_name(context: FaultContext, name: str) -> str:
    """A name that neither a tensor nor a node of the candidate has."""
    taken = set(context.candidate.tensors) | set(context.candidate.constants)
    taken |= {node.name for node in context.candidate.nodes}
    while name in taken:
        name += "_"
    return name


def shortest_decimal(number: float) -> str:
    """A number in the fewest digits that give it back, as a float32 or as it is."""
    narrow = np.float32(number) if abs(number) <= float(np.finfo(np.float32).max) else None
    for digits in range(1, 18):
        short = f"{number:.{digits}g}"
        if float(short) == number or (narrow is not None and np.float32(short) == narrow):
            return short
    return repr(number)


def dtype_of(context: FaultContext, tensor: str) -> np.dtype[Any] | None:
    """The declared type of a tensor of the candidate, where NumPy has it."""
    spec = context.candidate.tensors.get(tensor)
    try:
        return np.dtype(spec.dtype) if spec is not None and spec.dtype else None
    except TypeError:
        return None


def constant_edits(context: FaultContext, name: str, value: Array) -> tuple[Edit, ...]:
    """Edits that replace a constant of the faulty nodes, for them alone if others read it too."""
    faulty = {node.name for node in context.nodes}
    readers = [node for node in context.candidate.nodes if name in Topology.reads(node)]
    outsiders = [node for node in readers if node.name not in faulty]
    insiders = [node for node in readers if node.name in faulty]
    # Real numbers for stored integers are put onto the constant's own grid, which a new one lacks.
    on_grid = value.dtype.kind == "f" and "float" not in context.candidate.constants[name].dtype
    if not outsiders or not insiders or on_grid:
        return (SetConstant(tensor=name, value=value),)
    own = unused_name(context, f"{name}_repaired")
    kind = np.dtype(context.candidate.constants[name].dtype)
    redirected = [
        SetInput(node=node.name, index=place, tensor=own)
        for node in insiders
        for place, each in enumerate(node.inputs)
        if each == name
    ]
    inside = [
        EditBody(node=node.name, body=key, edits=(SetConstant(tensor=name, value=value),))
        for node in insiders
        for key, body in node.bodies.items()
        if any(name in Topology.reads(inner) for inner in body.nodes)
    ]
    added = [AddConstant(name=own, value=value.astype(kind))] if redirected else []
    return (*added, *redirected, *inside)


def as_input(context: FaultContext, node: Node, index: int, value: Any) -> tuple[Edit, ...]:  # noqa: ANN401
    """A parameter that the node reads as an input gets this value."""
    known = node.input(index)
    if known in context.candidate.constants:
        old = context.candidate.constants[known]
        array = np.asarray(value).astype(old.dtype)
        fits = array.size == int(np.prod(old.shape))
        array = array.reshape(old.shape) if fits else array
        if node.inputs.count(known) == 1:
            return constant_edits(context, known, array)
        # An exporter that stores equal numbers once lets a node read one for two parameters.
        return _own(context, node, index, array)
    kind = dtype_of(context, node.inputs[0])
    array = np.asarray(value)
    array = array.astype(kind) if kind is not None and array.dtype.kind == "f" else array
    return _own(context, node, index, array)


def _own(context: FaultContext, node: Node, index: int, array: Array) -> tuple[Edit, ...]:
    """A new constant for one input of one node."""
    name = unused_name(context, f"{node.outputs[0]}_parameter_{index}")
    return (AddConstant(name=name, value=array), SetInput(node=node.name, index=index, tensor=name))


def parameter(context: FaultContext, node: Node, name: str, value: Any) -> tuple[Edit, ...]:  # noqa: ANN401
    """An attribute, or the input that has taken its place, set to a value."""
    places = parameter_places(context.candidate, node)
    if name in places and name not in node.attributes:
        return as_input(context, node, places[name], value)
    other = _EXCLUDES.get(name)
    if other is not None and value and node.attributes.get(other):
        beside = SetAttribute(node=node.name, name=other, value=False)
        return (SetAttribute(node=node.name, name=name, value=value), beside)
    return (SetAttribute(node=node.name, name=name, value=value),)


def current(context: FaultContext, node: Node, name: str) -> Any:  # noqa: ANN401
    """The value that a parameter has now; None where it is absent or computed."""
    return _stated(context.candidate, node, name)


def stated(graph: Graph, node: Node) -> dict[str, Any]:
    """Every parameter of a node, whether it is an attribute or a constant that it reads."""
    every = {name: _stated(graph, node, name) for name in parameter_places(graph, node)}
    known = {name: value for name, value in every.items() if value is not None}
    return {**known, **attributes(graph, node)}


def attributes(graph: Graph, node: Node) -> dict[str, Any]:
    """What the node states, and what leaving a window's vector out means."""
    implied = {}
    axes = _spatial_axes(graph, node) if node.op in _WINDOWED else 0
    for name, value in _LEFT_OUT.items():
        length = 2 * axes if name == "pads" else axes
        padded = node.attributes.get("auto_pad", "NOTSET") == "NOTSET"
        if length and (name != "pads" or padded) and _IN_PYTORCH[name] not in node.attributes:
            implied[name] = (value,) * length
    return {**implied, **_directions(node), **node.attributes}


def _directions(node: Node) -> dict[str, Any]:
    """The default directions of a Scan: forward, for all inputs and outputs."""
    scanned = node.attributes.get("num_scan_inputs") if node.op == "Scan" else None
    if not isinstance(scanned, int):
        return {}
    stacked = len(node.outputs) - (len(node.inputs) - scanned)
    return {
        "scan_input_directions": (0,) * scanned,
        "scan_output_directions": (0,) * max(stacked, 0),
    }


def _spatial_axes(graph: Graph, node: Node) -> int:
    """The number of spatial axes of a window; 0 where it is unknown or declared elsewhere."""
    if operator_tables(graph.framework).own_options:
        return 0  # it has an option of its own for each axis
    for name in ("kernel_shape", "strides", "dilations"):
        vector = node.attributes.get(name)
        if isinstance(vector, (tuple, list)):
            return len(vector)
    kernel = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    return max(len(kernel.shape) - 2, 0) if kernel is not None else 0


def _stated(graph: Graph, node: Node, name: str) -> Any:  # noqa: ANN401
    known = node.attributes if name in node.attributes else attributes(graph, node)
    if name in known:
        return known[name]
    place = parameter_places(graph, node).get(name)
    if place is None or place >= len(node.inputs) or not node.inputs[place]:
        return None
    constant = graph.constants.get(node.inputs[place])
    if constant is None or constant.values is None:
        return None
    # One number is often stored as a list of one.
    single = not constant.shape or (name in _NUMBERS and len(constant.values) == 1)
    return constant.values[0] if single else constant.values
