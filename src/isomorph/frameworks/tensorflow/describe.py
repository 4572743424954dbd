"""The neutral description of a TensorFlow program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, Quantization, Source, TensorSpec
from isomorph.frameworks.tensorflow.attributes import FunctionName
from isomorph.frameworks.tensorflow.neutral_attributes import neutral_attributes
from isomorph.frameworks.tensorflow.op_names import module_of, neutral_name
from isomorph.frameworks.tensorflow.program import Spec, TfNode, TfProgram

_DEEPEST = 40
"""Bodies nested deeper than this were made by nobody honest."""


def describe(program: TfProgram, prefix: str = "", depth: int = 0) -> Graph:
    """Nodes, tensors and constants; inside bodies everything is named ``node/body#k/…``."""
    constants = _constants(program, prefix)
    tensors = {name: _tensor(prefix + name, program.specs.get(name)) for name in _names(program)}
    return Graph(
        name=prefix.rstrip("/") or "main",
        inputs=tuple(tensors[port.tensor] for port in program.inputs),
        outputs=tuple(tensors[port.tensor] for port in program.outputs),
        nodes=tuple(_node(program, node, prefix, depth) for node in program.nodes),
        tensors={spec.name: spec for spec in tensors.values()},
        constants=constants,
        quantization=tuple(_quantized(program, prefix)),
        framework="tensorflow",
    )


def _names(program: TfProgram) -> tuple[str, ...]:
    computed = (name for node in program.nodes for name in node.outputs)
    given = (port.tensor for port in program.inputs)
    return tuple(dict.fromkeys((*given, *program.constants, *computed)))


def _tensor(name: str, spec: Spec | None) -> TensorSpec:
    spec = spec or Spec()
    kind = "sequence" if spec.kind == "sequence" else "tensor"
    return TensorSpec(name=name, dtype=spec.dtype, shape=spec.shape, kind=kind)


def _constants(program: TfProgram, prefix: str) -> Mapping[str, Constant]:
    return {
        prefix + name: constant_of(prefix + name, array, body=bool(prefix))
        for name, array in program.constants.items()
    }


def _node(program: TfProgram, node: TfNode, prefix: str, depth: int) -> Node:
    attributes = {name: _plain(value) for name, value in node.attributes.items()}
    module = module_of(node.name)
    return Node(
        name=prefix + node.name,
        op=neutral_name(node.op),
        native_op=node.op,
        inputs=tuple(prefix + name for name in node.inputs),
        outputs=tuple(prefix + name for name in node.outputs),
        attributes=attributes | neutral_attributes(node, program.constants),
        bodies=_bodies(program, node, prefix, depth),
        source=Source(module=module) if module else None,
    )


def _bodies(program: TfProgram, node: TfNode, prefix: str, depth: int) -> dict[str, Graph]:
    if depth >= _DEEPEST:
        return {}
    return {
        key: describe(program.functions[function], f"{prefix}{node.name}/{key}#{place}/", depth + 1)
        for place, (key, function) in enumerate(node.functions.items())
        if function in program.functions
    }


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, np.ndarray):
        return tuple(value.reshape(-1).tolist())
    if isinstance(value, FunctionName):
        return str(value)
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return value


def _quantized(program: TfProgram, prefix: str) -> list[Quantization]:
    """The grids that FakeQuant operators put their tensors on, nudged as TensorFlow does."""
    found = []
    for node in program.nodes:
        bounds = _range(program, node)
        if bounds is None:
            continue
        low, high = bounds
        bits = int(node.attributes.get("num_bits", 8))
        least = 1 if node.attributes.get("narrow_range") else 0
        most = (1 << bits) - 1
        scale = (high - low) / (most - least)
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = np.clip(np.round(least - low / scale), least, most)
        found.append(
            Quantization(
                tensor=prefix + node.outputs[0],
                dtype="uint8" if bits <= 8 else "uint16",
                scale=tuple(float(each) for each in scale),
                zero_point=tuple(int(each) for each in np.nan_to_num(zero)),
                axis=-1 if node.op.endswith("PerChannel") else None,
            )
        )
    return found


def _range(program: TfProgram, node: TfNode) -> tuple[Any, Any] | None:
    if node.op == "FakeQuantWithMinMaxArgs":
        ends = [node.attributes["min"], node.attributes["max"]]
    elif node.op in {"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}:
        if not all(name in program.constants for name in node.inputs[1:3]):
            return None
        ends = [program.constants[name] for name in node.inputs[1:3]]
    else:
        return None
    low, high = (np.asarray(end, np.float64).reshape(-1) for end in ends)
    return low, high
