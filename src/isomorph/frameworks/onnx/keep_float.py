"""One node of a quantized ONNX model kept in float, in either way to write such a model down.

Between a pair of quantizer and dequantizer the node reads what the quantizer was given. An
operator that computes on integers becomes the float one: its activations are dequantized, its
weights stored as real numbers, and its result is quantized behind it as before. Two neighbors
that are both kept in float hand each other real numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper

from isomorph.core.errors import UsageError
from isomorph.kernels.quantized import dequantize

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.onnx.edit_graph import Editor


@dataclass(frozen=True, slots=True, kw_only=True)
class _Integer:
    """An operator on integers: the float one, where its operands' grids and its own stand.

    ``axis`` is that of a weight's channels, by the place of the weight.
    """

    op: str
    reads: tuple[int, ...]
    makes: int
    bias: int | None = None
    axis: int = 0


_OPS: Mapping[str, _Integer] = {
    "QLinearConv": _Integer(op="Conv", reads=(0, 3), makes=6, bias=8),
    "QLinearMatMul": _Integer(op="MatMul", reads=(0, 3), makes=6, axis=-1),
    "QLinearAdd": _Integer(op="Add", reads=(0, 3), makes=6),
    "QLinearMul": _Integer(op="Mul", reads=(0, 3), makes=6),
    "QGemm": _Integer(op="Gemm", reads=(0, 3), makes=7, bias=6, axis=-1),
    "QLinearSigmoid": _Integer(op="Sigmoid", reads=(0,), makes=3),
    "QLinearLeakyRelu": _Integer(op="LeakyRelu", reads=(0,), makes=3),
    "QLinearAveragePool": _Integer(op="AveragePool", reads=(0,), makes=3),
    "QLinearGlobalAveragePool": _Integer(op="GlobalAveragePool", reads=(0,), makes=3),
}

# Products of integers whose operand is quantized as it comes: the float one, and a weight's axis.
_DYNAMIC = {"ConvInteger": ("Conv", 0), "MatMulInteger": ("MatMul", -1)}


def keep_float(editor: Editor, node: Any) -> None:  # noqa: ANN401
    """Let this node read and make real numbers; its neighbors see what they saw."""
    kind = _OPS.get(node.op_type)
    if node.op_type in _DYNAMIC:
        _undone(editor, node, *_DYNAMIC[node.op_type])
    elif kind is None:
        _read_unquantized(editor, node)
    else:
        _in_float(editor, node, kind)


def _read_unquantized(editor: Editor, node: Any) -> None:  # noqa: ANN401
    makers = _makers(editor)
    for place, name in enumerate(node.input):
        back = makers.get(name)
        if back is not None and back.op_type == "DequantizeLinear":
            there = makers.get(back.input[0])
            if there is not None and there.op_type == "QuantizeLinear":
                node.input[place] = _unquantized(editor, there)


def _unquantized(editor: Editor, quantizer: Any) -> str:  # noqa: ANN401
    """What a quantizer was given; cut at zero where its grid begins there.

    Quantizing tools leave the work of a ReLU to the saturation of such a grid.
    """
    source = str(quantizer.input[0])
    zero = _value(editor, quantizer.input[2]) if _given(quantizer, 2) else np.zeros(1, np.uint8)
    maker = _makers(editor).get(source)
    rectified = maker is not None and maker.op_type == "Relu"
    if zero is None or rectified or np.any(zero != np.iinfo(zero.dtype).min):
        return source
    made = next(
        (n for n in editor.graph.node if n.op_type == "Relu" and n.input[0] == source), None
    )
    if made is None:
        name = editor.fresh(f"{source}.rectified")
        made = helper.make_node("Relu", [source], [name], name=name)
        editor.graph.node.append(made)
    return str(made.output[0])


def _in_float(editor: Editor, node: Any, kind: _Integer) -> None:  # noqa: ANN401
    if any(entry.name == "channels_last" and entry.i for entry in node.attribute):
        raise UsageError(
            "PATCH_KEEP_FLOAT", f"{node.op_type} {node.name!r} keeps its channels last"
        )
    reads = [_real(editor, node, place, kind.axis) for place in kind.reads]
    if kind.bias is not None and _given(node, kind.bias):
        reads.append(_bias(editor, node, kind))
    kept = [entry for entry in node.attribute if entry.name != "channels_last"]
    floats = [type(entry).FromString(entry.SerializeToString()) for entry in kept]
    result, grid = node.output[0], list(node.input[kind.makes : kind.makes + 2])
    del node.input[:], node.attribute[:]
    node.op_type, node.domain = kind.op, ""
    node.input.extend(reads)
    node.attribute.extend(floats)
    if grid and grid[0]:
        node.output[0] = editor.fresh(f"{result}.float")
        editor.graph.node.append(
            helper.make_node(
                "QuantizeLinear",
                [node.output[0], *filter(None, grid)],
                [result],
                name=editor.fresh(f"{node.name or result}.quantized"),
            )
        )
    editor.retyped.update((result, node.output[0]))


def _undone(editor: Editor, node: Any, op: str, axis: int) -> None:  # noqa: ANN401
    """Quantizing, integer product, cast and scaling in one: the product of what was quantized."""
    makers = _makers(editor)
    quantizer = makers.get(node.input[0])
    cast = _only_reader(editor, node.output[0], "Cast")
    scaled = _only_reader(editor, cast.output[0], "Mul") if cast is not None else None
    if quantizer is None or quantizer.op_type != "DynamicQuantizeLinear" or scaled is None:
        raise UsageError("PATCH_KEEP_FLOAT", f"{node.op_type} {node.name!r} is not scaled behind")
    factor = makers.get(next(name for name in scaled.input if name != cast.output[0]))
    scales = [_value(editor, name) for name in factor.input] if factor is not None else []
    scale = next((each for each in scales if each is not None), None)
    constant = _value(editor, node.input[1])
    if constant is None:
        raise UsageError("PATCH_KEEP_FLOAT", f"the weight {node.input[1]!r} is no constant")
    zero = _value(editor, node.input[3]) if _given(node, 3) else None
    stored = constant.dtype.kind == "f"
    weight = (
        node.input[1] if stored else _stored(editor, node.input[1], constant, (scale, zero), axis)
    )
    result = scaled.output[0]
    for each in (cast, scaled):
        editor.graph.node.remove(each)
    del node.input[:]
    node.op_type, node.domain = op, ""
    node.input.extend([quantizer.input[0], weight])
    node.output[0] = result
    editor.retyped.add(result)


def _only_reader(editor: Editor, name: str, op: str) -> Any:  # noqa: ANN401
    readers = [each for each in editor.graph.node if name in each.input]
    return readers[0] if len(readers) == 1 and readers[0].op_type == op else None


def _given(node: Any, place: int) -> bool:  # noqa: ANN401
    return len(node.input) > place and bool(node.input[place])


def _real(editor: Editor, node: Any, place: int, axis: int) -> str:  # noqa: ANN401
    """The name of an operand in real numbers: as it was, stored, or dequantized."""
    name, (scale, zero) = node.input[place], node.input[place + 1 : place + 3]
    constant = _value(editor, name)
    if constant is not None and constant.dtype.kind == "f":
        return str(name)
    if constant is not None:
        return _stored(editor, name, constant, (_value(editor, scale), _value(editor, zero)), axis)
    maker = _makers(editor).get(name)
    if maker is not None and maker.op_type == "QuantizeLinear":
        return _unquantized(editor, maker)
    fresh = editor.fresh(f"{name}.real")
    grid = [each for each in (scale, zero) if each]
    back = helper.make_node("DequantizeLinear", [name, *grid], [fresh], name=fresh)
    editor.graph.node.append(back)
    return fresh


def _bias(editor: Editor, node: Any, kind: _Integer) -> str:  # noqa: ANN401
    """A bias counts in products of the two scales."""
    name = node.input[kind.bias]
    constant = _value(editor, name)
    scales = [_value(editor, node.input[place + 1]) for place in kind.reads]
    if constant is None or scales[0] is None or scales[1] is None:
        raise UsageError("PATCH_KEEP_FLOAT", f"the bias {name!r} or its scale is no constant")
    if constant.dtype.kind == "f":
        return str(name)
    product = scales[0].astype(np.float64).reshape(-1) * scales[1].astype(np.float64).reshape(-1)
    alpha = next((entry.f for entry in node.attribute if entry.name == "alpha"), 1.0)
    return _new(editor, name, constant.astype(np.float64) * (product * alpha))


def _stored(
    editor: Editor, name: str, constant: Array, grid: tuple[Array | None, Array | None], axis: int
) -> str:
    scale, zero = grid
    if scale is None:
        raise UsageError("PATCH_KEEP_FLOAT", f"the scale of {name!r} is no constant")
    along = axis % constant.ndim if scale.size > 1 else None
    points = zero.reshape(-1) if zero is not None and along is not None else zero
    scales = scale.reshape(-1) if along is not None else scale
    return _new(editor, name, dequantize(constant, scales, points, along))


def _new(editor: Editor, name: str, value: Array) -> str:
    fresh = editor.fresh(f"{name}.real")
    editor.graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), fresh))
    editor.stored.add(fresh)
    return fresh


def _value(editor: Editor, name: str) -> Array | None:
    """A stored tensor, as the original holds it where the copy has only its header."""
    if not name:
        return None
    for tensor in editor.graph.initializer:
        if tensor.name == name:
            known = editor.model.stored.get(name)
            whole = known if known is not None and name not in editor.stored else tensor
            return np.asarray(editor.model.array(whole))
    return None


def _makers(editor: Editor) -> dict[str, Any]:
    return {name: each for each in editor.graph.node for name in each.output}
