"""The declared element types of a node's outputs, from those of its inputs.

The operator's definition states it: an output shares the type variable of an input, or has a
type of its own, or an attribute names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import onnx

from isomorph.frameworks.onnx.eval_attributes import schema_of
from isomorph.oracle.dtypes import ONNX_DTYPES, is_float, type_name

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.oracle_step import OnnxStep, Program

_SPELLINGS = {
    "float": "float32",
    "double": "float64",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
}

# The attribute that names the element type of the first output.
_NAMED_BY = ("to", "dtype", "output_datatype", "output_dtype", "stash_type")


def declared_outputs(step: OnnxStep, inputs: Sequence[str | None]) -> Sequence[str | None]:
    """The type of each output; None where only the computed array has it."""
    if step.op == "Constant" and not step.domain:
        value = next((v for k, v in step.attributes.items() if "value" in k), None)
        return [_of_value(value)]
    operator = step.op, step.version, step.domain
    return _outputs_of(operator, len(step.outputs), _named(step), tuple(inputs))


@cache  # a node is evaluated in every draw
def _outputs_of(
    operator: tuple[str, int, str], count: int, named: str | None, inputs: tuple[str | None, ...]
) -> tuple[str | None, ...]:
    """The types of ``count`` outputs; ``named`` is what an attribute states."""
    formals = _formals(*operator)
    first_float = next((dtype for dtype in inputs if is_float(dtype)), None)
    if formals is None:
        return (first_float,) * count
    bound = _bind(formals[0], inputs)
    types: list[str | None] = []
    for index in range(count):
        variable = formals[1][min(index, len(formals[1]) - 1)] if formals[1] else ""
        concrete = _concrete(variable)
        if concrete is not None:
            types.append(concrete)
        elif variable in bound:
            types.append(bound[variable])
        else:
            types.append(named or _from_like(operator[0], inputs) or first_float)
    return tuple(types)


def declared_types(program: Program, given: dict[str, str | None]) -> dict[str, str | None]:
    """What is known of every top-level tensor before anything has run."""
    known = dict(given)
    for step in program.steps:
        outputs = declared_outputs(step, [known.get(name) for name in step.inputs])
        if step.program is not None:
            inner = dict(
                zip(
                    step.program.inputs,
                    (known.get(name) for name in step.inputs),
                    # A call may leave optional inputs out.
                    strict=False,
                )
            )
            found = declared_types(step.program, inner)
            outputs = [found.get(name) for name in step.program.outputs]
        elif step.bodies:
            found = declared_types(next(iter(step.bodies.values())), {**known})
            names = next(iter(step.bodies.values())).outputs
            skipped = 1 if step.op == "Loop" else 0
            outputs = [found.get(name) for name in names[skipped:]]
        # A node may leave optional outputs out; an unknown type is none.
        for name, dtype in zip(step.outputs, outputs, strict=False):
            if name and known.get(name) is None:
                known[name] = dtype
    return known


def of_proto(proto: onnx.TypeProto) -> str | None:
    """The element type of a declared tensor, sequence or optional."""
    kind = proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return of_proto(getattr(proto, kind).elem_type)
    if kind in ("tensor_type", "sparse_tensor_type"):
        return ONNX_DTYPES.get(getattr(proto, kind).elem_type)
    return None


@cache
def _formals(op: str, version: int, domain: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    schema = schema_of(op, version, domain)
    if schema is None:
        return None
    return (
        tuple(formal.type_str for formal in schema.inputs),
        tuple(formal.type_str for formal in schema.outputs),
    )


def _bind(formals: Sequence[str], inputs: Sequence[str | None]) -> dict[str, str]:
    bound: dict[str, str] = {}
    for index, dtype in enumerate(inputs):
        if dtype is not None and formals:
            bound.setdefault(formals[min(index, len(formals) - 1)], dtype)
    return bound


def _concrete(variable: str) -> str | None:
    """The type in ``tensor(float)``, ``seq(tensor(int64))`` and the like."""
    if not variable.endswith(")"):
        return None
    inner = variable.rstrip(")").rpartition("(")[2]
    return _SPELLINGS.get(inner, inner)


def _named(step: OnnxStep) -> str | None:
    for attribute in _NAMED_BY:
        number = step.attributes.get(attribute)
        if isinstance(number, int) and number in ONNX_DTYPES:
            return ONNX_DTYPES[number]
    value = step.attributes.get("value")
    return _of_value(value) if step.op == "ConstantOfShape" and value is not None else None


def _from_like(op: str, inputs: Sequence[str | None]) -> str | None:
    # RandomNormalLike, EyeLike and Bernoulli take their input's type unless an attribute names one.
    if (op.endswith("Like") or op == "Bernoulli") and inputs:
        return inputs[0]
    return "float32" if op == "ConstantOfShape" else None


def _of_value(value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, tuple):
        value = value[0] if value else 0.0
    if isinstance(value, float):
        return "float32"
    if isinstance(value, int):
        return "int64"
    return "string" if isinstance(value, str) else type_name(value) if value is not None else None
