"""One operator of a quantized TFLite model kept in float: dequantized before, quantized behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.frameworks.tflite.op_writer import Spelled
from isomorph.frameworks.tflite.program import ABSENT
from isomorph.kernels.quantized import dequantize

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.edit_graph import Editor

_INTEGERS = frozenset(
    {schema.TensorType.INT8, schema.TensorType.UINT8, schema.TensorType.INT16,
     schema.TensorType.INT32}
)  # fmt: skip


def keep_float(editor: Editor, node: Any) -> None:  # noqa: ANN401
    """Let this operator read and make real numbers; its neighbors see what they saw."""
    place = editor.graph.operators.index(node)
    reads = []
    for index in (int(each) for each in node.inputs):
        if index == ABSENT or not _on_grid(editor.graph.tensors[index]):
            reads.append(index)
        elif editor.graph.tensors[index].buffer and _stored(editor, index):
            reads.append(_dequantized(editor, index))
        else:
            real = _real(editor, index)
            _operator(editor, "DEQUANTIZE", index, real, place)
            place += 1
            reads.append(real)
    node.inputs = np.asarray(reads, np.int32)
    made = []
    for index in (int(each) for each in node.outputs):
        if not _on_grid(editor.graph.tensors[index]):
            made.append(index)
            continue
        real = _real(editor, index)
        _operator(editor, "QUANTIZE", real, index, place + 1)
        made.append(real)
    node.outputs = np.asarray(made, np.int32)


def _on_grid(tensor: Any) -> bool:  # noqa: ANN401
    grid = tensor.quantization
    return tensor.type in _INTEGERS and grid is not None and grid.scale is not None


def _stored(editor: Editor, index: int) -> bool:
    known = editor.program.main.tensors
    return index < len(known) and known[index].constant


def _real(editor: Editor, index: int) -> int:
    """A tensor like this one, of real numbers."""
    own = editor.graph.tensors[index].name or b"tensor"
    found = editor.like(index, editor.fresh(f"{own.decode('utf-8', 'replace')}.real"))
    tensor = editor.graph.tensors[found]
    tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
    return found


def _dequantized(editor: Editor, index: int) -> int:
    """A constant of the real numbers that a stored one stands for."""
    described = editor.program.main.tensors[index]
    whole, grid = editor.program.array(described), described.quantization
    assert whole is not None, "only stored tensors come here"
    assert grid is not None, "only quantized ones"
    zeros = np.asarray(grid.zero_points)
    value = dequantize(np.asarray(whole), np.asarray(grid.scales), zeros, grid.axis)
    found = _real(editor, index)
    editor.store(editor.graph.tensors[found], value.astype(np.float32), "float32")
    return found


def _operator(editor: Editor, op: str, source: int, result: int, place: int) -> None:
    node = schema.OperatorT()
    node.inputs, node.outputs = np.asarray([source], np.int32), np.asarray([result], np.int32)
    editor.write(node, Spelled(op=op))
    editor.graph.operators.insert(place, node)
    editor.nodes[editor.fresh(f"{op}.{len(editor.nodes)}")] = node
