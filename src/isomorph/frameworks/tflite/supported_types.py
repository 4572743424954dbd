"""Which types the installed LiteRT computes with, found by trying."""

from __future__ import annotations

from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

_QUANTIZED = frozenset({"int8", "uint8", "int16"})
"""Where these are added, they stand for real numbers; without a scale LiteRT divides by zero."""

_NUMBERS = frozenset(
    {"float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
     "uint32", "int64", "uint64", "complex64", "complex128", "bool"}
)  # fmt: skip


def computed_types() -> tuple[str, ...]:
    """NumPy's names of the types in which two numbers can be added, or truths be joined."""
    known = {word.lower(): kind for word, kind in vars(schema.TensorType).items()}
    return tuple(sorted(name for name in _NUMBERS & set(known) if _runs(name, known[name])))


def _runs(name: str, kind: int) -> bool:
    try:
        interpreter = Interpreter(model_content=_model(name, kind))
        interpreter.allocate_tensors()
        interpreter.invoke()
    except Exception:  # noqa: BLE001 - whatever the error, it does not compute with this type
        return False
    return True


def _model(name: str, kind: int) -> bytes:
    """One operator on two numbers of this type."""
    word = "LOGICAL_AND" if name == "bool" else "ADD"
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, word)
    graph = schema.SubGraphT()
    graph.tensors = [_tensor(name, kind, each) for each in (b"a", b"b", b"c")]
    graph.inputs, graph.outputs = [0, 1], [2]
    operator = schema.OperatorT()
    operator.inputs, operator.outputs = [0, 1], [2]
    if word == "ADD":
        operator.builtinOptionsType = schema.BuiltinOptions.AddOptions
        operator.builtinOptions = schema.AddOptionsT()
    graph.operators = [operator]
    model = schema.ModelT()
    model.version, model.subgraphs, model.operatorCodes = 3, [graph], [code]
    model.buffers = [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(name: str, kind: int, label: bytes) -> Any:  # noqa: ANN401
    tensor = schema.TensorT()
    tensor.shape, tensor.type, tensor.name, tensor.buffer = [1], kind, label, 0
    if name in _QUANTIZED:
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = [0.5], [0]
    return tensor
