"""The neutral description of a PyTorch program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.core.threads import in_threads
from isomorph.frameworks.pytorch.arrays import dtype_name, to_array
from isomorph.frameworks.pytorch.mapped_weights import LARGE
from isomorph.frameworks.pytorch.op_names import neutral_name
from isomorph.frameworks.pytorch.program import Body, Program, Ref, Spec, Step, operator_name, refs


def describe(program: Program, release: Callable[[], None] = lambda: None) -> Graph:
    """Nodes, tensors and constants, with the operators' defaults filled in.

    ``release`` lets go of the weights that were read; it is called after each large one.
    """
    tensors = {
        name: _tensor(program.name + name, program.specs.get(name, Spec()))
        for name in _tensor_names(program)
    }
    return Graph(
        name=program.name.rstrip("/") or "main",
        inputs=tuple(tensors[name] for name in program.inputs),
        outputs=tuple(tensors[name] for name in program.outputs if name in tensors),
        nodes=tuple(_node(program, step) for step in program.steps),
        tensors={spec.name: spec for spec in tensors.values()},
        constants=_constants(program, release),
        framework="pytorch",
    )


def _tensor_names(program: Program) -> tuple[str, ...]:
    computed = (name for step in program.steps for name in step.outputs if _holds(program, name))
    return tuple(dict.fromkeys((*program.inputs, *program.constants, *computed)))


def _holds(program: Program, name: str) -> bool:
    """Whether the value is a tensor or number, and not a type, a device or a word."""
    return program.specs.get(name, Spec()).kind != "other"


def _tensor(name: str, spec: Spec) -> TensorSpec:
    kind = "sequence" if spec.kind == "list" else "tensor"
    return TensorSpec(
        name=name, dtype=dtype_name(spec.dtype, spec.kind), shape=spec.shape, kind=kind
    )


def _constants(program: Program, release: Callable[[], None]) -> Mapping[str, Constant]:
    # Tied weights are one tensor under several names, and need to be read only once.
    places = {name: _place(name, tensor) for name, tensor in program.constants.items()}
    first = {place: name for name, place in reversed(places.items())}
    # Hashing is most of the work, and other threads run while one hashes.
    constants = in_threads(lambda name: _constant(program, name, release), first.values())
    described = dict(zip(first, constants, strict=True))
    return {
        program.name + name: replace(
            described[place],
            name=program.name + name,
            file_offset=program.file_offsets.get(name),
        )
        for name, place in places.items()
    }


def _place(name: str, tensor: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """What two names of one tensor share; a tensor without elements has no place."""
    if not tensor.numel():
        return (name,)
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))


def _constant(program: Program, name: str, release: Callable[[], None]) -> Constant:
    array = to_array(program.constants[name], copy=False)
    described = constant_of(program.name + name, array, body=bool(program.name))
    if array.nbytes >= LARGE:
        release()
    return described


def _node(program: Program, step: Step) -> Node:
    attributes, inputs = _arguments(step)
    operator = operator_name(step.target)
    return Node(
        name=program.name + step.name,
        op=neutral_name(operator),
        native_op=operator,
        inputs=tuple(
            program.name + name if name else "" for name in inputs if _holds(program, name)
        ),
        outputs=tuple(program.name + name for name in step.outputs if _holds(program, name)),
        attributes=attributes,
        bodies={name: describe(body) for name, body in step.bodies.items()},
        source=step.source,
    )


def _arguments(step: Step) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Everything that is no tensor is an attribute, by its name in the operator's schema."""
    attributes: dict[str, Any] = {}
    inputs: list[str] = []
    for name, value, is_tensor in _named_arguments(step):
        found = list(refs(value))
        inputs += found
        if is_tensor and value is None:
            inputs.append("")
        elif not _is_wholly_computed(value) and not (is_tensor and found):
            attributes[name] = _plain(value)
    while inputs and inputs[-1] == "":
        inputs.pop()
    return attributes, tuple(inputs)


def _named_arguments(step: Step) -> list[tuple[str, Any, bool]]:
    schema = getattr(step.target, "_schema", None)
    if schema is None:
        named = [(f"argument_{index}", value, False) for index, value in enumerate(step.args)]
        return named + [(key, value, False) for key, value in step.kwargs.items()]
    listed = []
    for index, argument in enumerate(schema.arguments):
        is_tensor = "Tensor" in str(argument.type)
        if not argument.kwarg_only and index < len(step.args):
            value = step.args[index]
        elif argument.name in step.kwargs:
            value = step.kwargs[argument.name]
        elif argument.has_default_value():
            value = argument.default_value
        else:
            continue
        listed.append((argument.name, value, is_tensor))
    return listed


def _is_wholly_computed(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, (list, tuple)) and value:
        return all(_is_wholly_computed(item) for item in value)
    return isinstance(value, (Ref, Body))


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item) for item in value)
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
