"""Element types where shape inference stops, because an operator is not ONNX's own.

Schemas name their types: an output of type ``T`` has the type of the inputs that are ``T``.
ONNX Runtime's schemas state the same for its own operators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from isomorph.core.model import Node, TensorSpec
from isomorph.frameworks.onnx.schemas import any_schema
from isomorph.frameworks.onnx.stored_tensors import dtype_name

_FIXED = re.compile(r"^tensor\((\w+)\)$")
_SPELLED = {"float": "float32", "double": "float64"}


def complete(
    nodes: Sequence[Node], specs: dict[str, TensorSpec], versions: Mapping[str, int]
) -> None:
    """Fill in the element types that follow from the schemas, in place and in order."""
    for node in nodes:
        unknown = [
            (position, name)
            for position, name in enumerate(node.outputs)
            if name and specs[name].dtype is None
        ]
        if not unknown:
            continue
        domain = node.native_op.rpartition("::")[0]
        known = any_schema(domain, node.op, versions.get(domain, 1))
        for position, name in unknown if known is not None else ():
            dtype = _of_output(known, position, node, specs)
            specs[name] = replace(specs[name], dtype=dtype)


def _of_output(
    schema: Any,  # noqa: ANN401
    position: int,
    node: Node,
    specs: Mapping[str, TensorSpec],
) -> str | None:
    formal = _formal(schema.outputs, position)
    if formal is None:
        return None
    asked = node.attributes.get("output_dtype") or node.attributes.get("to")
    if isinstance(asked, int):
        return dtype_name(asked)
    word = _word(formal)
    fixed = _FIXED.match(word)
    if fixed is not None:
        return _SPELLED.get(fixed[1], fixed[1])
    for place, name in enumerate(node.inputs):
        given = _formal(schema.inputs, place)
        if given is not None and _word(given) == word and name in specs:
            return specs[name].dtype
    return None


def _formal(formals: Any, position: int) -> Any | None:  # noqa: ANN401
    # The last formal parameter may be variadic and stands for all that follow.
    return formals[min(position, len(formals) - 1)] if formals else None


def _word(formal: Any) -> str:  # noqa: ANN401
    return str(getattr(formal, "type_str", None) or getattr(formal, "typeStr", ""))
