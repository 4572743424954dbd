"""Reads a ``torch.export`` program into steps: every ATen call, with its place in the source."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from isomorph.core.model import Source
from isomorph.frameworks.pytorch.idle_dropout import without_idle_dropout
from isomorph.frameworks.pytorch.in_place_ops import mutates
from isomorph.frameworks.pytorch.program import Body, Program, Ref, Spec, Step, packet_name
from isomorph.frameworks.pytorch.recurrent_stacks import unstacked
from isomorph.frameworks.pytorch.rounding_classes import ASSERTIONS
from isomorph.frameworks.pytorch.silence_logs import quietly

_TAKES_PART = "export.access_subclass_inner_tensor"
"""Takes one of the tensors that a tensor of another class consists of."""


def read_exported(exported: Any) -> Program:  # noqa: ANN401
    """The program of an ``ExportedProgram``.

    In-place operators are run on copies where that gives the same values. Where it does not
    (something else still sees the memory), torch's own functionalization rewrites the graph.
    """
    if mutates(exported.graph_module):
        with quietly():
            exported = without_idle_dropout(exported).run_decompositions({})
    signature = exported.graph_signature
    constants: dict[str, Any] = {}
    origins: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    inputs: list[str] = []
    whole: dict[str, tuple[Any, str]] = {}
    for entry in signature.input_specs:
        name = entry.arg.name
        if entry.kind.name == "USER_INPUT":
            if hasattr(entry.arg, "value"):
                fixed[name] = entry.arg.value
            else:
                inputs.append(name)
            continue
        stored = _stored(exported, entry.target)
        if isinstance(stored, torch.Tensor) and is_traceable_wrapper_subclass(stored):
            whole[name] = stored, entry.target
        elif isinstance(stored, torch.Tensor):
            constants[name], origins[name] = stored.detach(), entry.target
        else:
            fixed[name] = stored
    for name, (part, origin) in _parts(exported.graph_module, whole).items():
        constants[name], origins[name] = part.detach(), origin
    outputs = tuple(
        entry.arg.name
        for entry in signature.output_specs
        if entry.kind.name == "USER_OUTPUT" and not hasattr(entry.arg, "value")
    )
    program = _program(
        exported.graph_module, name="", inputs=tuple(inputs), outputs=outputs,
        constants=constants, fixed=fixed, origins=origins,
    )  # fmt: skip
    return unstacked(program)


def _parts(module: Any, whole: Mapping[str, tuple[Any, str]]) -> dict[str, tuple[Any, str]]:  # noqa: ANN401
    """The tensors that quantized tensors consist of, by the node that takes each of them."""
    found: dict[str, tuple[Any, str]] = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and packet_name(node.target) == _TAKES_PART:
            holder, word = node.args
            tensor, origin = found.get(holder.name) or whole[holder.name]
            found[node.name] = getattr(tensor, word), f"{origin}.{word}"
    return {
        name: each
        for name, each in found.items()
        if isinstance(each[0], torch.Tensor) and not is_traceable_wrapper_subclass(each[0])
    }


def _stored(exported: Any, target: str) -> Any:  # noqa: ANN401
    if target in exported.state_dict:
        return exported.state_dict[target]
    return exported.constants[target]


def _program(
    module: Any,  # noqa: ANN401
    *,
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    constants: Mapping[str, Any],
    fixed: Mapping[str, Any] = MappingProxyType({}),
    origins: Mapping[str, str] = MappingProxyType({}),
) -> Program:
    steps: list[Step] = []
    specs: dict[str, Spec] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            specs[node.name] = spec_of(node.meta.get("val", constants.get(node.name)))
        elif node.op == "get_attr" and not isinstance(_attribute(module, node), torch.nn.Module):
            constants = {**constants, node.name: _attribute(module, node).detach()}
            specs[node.name] = spec_of(_attribute(module, node))
        elif node.op == "call_function" and not _is_taken_by_its_producer(node):
            if packet_name(node.target) in ASSERTIONS:
                continue
            if packet_name(node.target) == _TAKES_PART:
                specs[node.name] = spec_of(constants.get(node.name))
                continue
            step, declared = _step(name, module, node)
            steps.append(step)
            specs.update(declared)
    return Program(
        name=name,
        inputs=inputs,
        outputs=outputs,
        steps=tuple(steps),
        constants=constants,
        specs=specs,
        fixed=fixed,
        origins=origins,
    )


def _attribute(module: Any, node: Any) -> Any:  # noqa: ANN401
    return operator.attrgetter(node.target)(module)


def _holds_module(node: Any) -> bool:  # noqa: ANN401
    attribute = node.op == "get_attr" and _attribute(node.graph.owning_module, node)
    return isinstance(attribute, torch.nn.Module)


def _step(name: str, module: Any, node: Any) -> tuple[Step, dict[str, Spec]]:  # noqa: ANN401
    values = node.meta.get("val")
    listed = isinstance(values, (list, tuple)) or bool(_items(node))
    outputs = _output_names(node, values) if listed else (node.name,)
    # Outputs that nothing reads have no name.
    declared = dict(zip(outputs, map(spec_of, values if listed else (values,)), strict=False))
    step = Step(
        name=node.name,
        target=node.target,
        args=_argument(node.args),
        kwargs=_argument(node.kwargs),
        outputs=outputs,
        listed=listed,
        whole=listed and any(not _is_taken_by_its_producer(user) for user in node.users),
        bodies=_bodies(name, module, node),
        source=_source(node),
    )
    return step, declared


def _items(node: Any) -> dict[int, str]:  # noqa: ANN401
    # The first getitem of each index names that output; a second one is a step of its own.
    items: dict[int, str] = {}
    for user in node.users:
        if user.op == "call_function" and user.target is operator.getitem and user.args[0] is node:
            items.setdefault(user.args[1], user.name)
    return items


def _is_taken_by_its_producer(node: Any) -> bool:  # noqa: ANN401
    if node.target is not operator.getitem or not hasattr(node.args[0], "users"):
        return False
    return bool(_items(node.args[0]).get(node.args[1]) == node.name)


def _output_names(node: Any, values: Any) -> tuple[str, ...]:  # noqa: ANN401
    items = _items(node)
    known = len(values) if isinstance(values, (list, tuple)) else 0
    count = max(known, *(index + 1 for index in items), 0) if items else known
    return tuple(items.get(index, f"{node.name}.{index}") for index in range(count))


def _argument(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, torch.fx.Node):
        return Body(value.name) if _holds_module(value) else Ref(value.name)
    if isinstance(value, list):
        return [_argument(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_argument(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _argument(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(_argument(value.start), _argument(value.stop), _argument(value.step))
    return value


def _bodies(name: str, module: Any, node: Any) -> dict[str, Program]:  # noqa: ANN401
    bodies: dict[str, Program] = {}
    for argument in node.all_input_nodes:
        if argument.op != "get_attr":
            continue
        body = _attribute(module, argument)
        if not isinstance(body, torch.fx.GraphModule):
            continue
        inputs = tuple(each.name for each in body.graph.nodes if each.op == "placeholder")
        bodies[argument.name] = _program(
            body, name=f"{name}{node.name}/body#{len(bodies)}/", inputs=inputs,
            outputs=_returned(body), constants={},
        )  # fmt: skip
    return bodies


def _returned(body: Any) -> tuple[str, ...]:  # noqa: ANN401
    (result,) = body.graph.output_node().args
    results = result if isinstance(result, (list, tuple)) else (result,)
    return tuple(value.name if isinstance(value, torch.fx.Node) else "" for value in results)


def spec_of(value: Any) -> Spec:  # noqa: ANN401
    """What a fake or real tensor, or a symbolic number, declares."""
    if isinstance(value, torch.Tensor):
        shape = tuple(size if isinstance(size, int) else str(size) for size in value.shape)
        strided = value.layout is torch.strided
        strides = [_size(stride) for stride in value.stride()] if strided else [None]
        return Spec(dtype=value.dtype, shape=shape, order=order_of(strides))
    for kind, types in (
        ("bool", (bool, torch.SymBool)),
        ("int", (int, torch.SymInt)),
        ("float", (float, torch.SymFloat)),
    ):
        if isinstance(value, types):
            return Spec(kind=kind, shape=())
    return Spec(kind="tensor" if value is None else "other")


def order_of(strides: Sequence[int | None]) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest; None for the usual order, or an unknown one."""
    known = [stride for stride in strides if stride is not None]
    if len(known) != len(strides):
        return None
    order = tuple(sorted(range(len(known)), key=lambda axis: -known[axis]))
    return None if order == tuple(range(len(known))) else order


def _size(value: Any) -> int | None:  # noqa: ANN401
    if isinstance(value, int):
        return value
    hint = getattr(value.node, "hint", None)
    return hint if isinstance(hint, int) else None


_PLACE = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*(?:\n\s*(?P<text>[^\n]+))?'
)

_TORCH_ITSELF = re.compile(r"(^|[/\\])torch[/\\](nn|fx|_|export)|^<eval_with_key>")


def _source(node: Any) -> Source | None:  # noqa: ANN401
    stack = node.meta.get("nn_module_stack") or {}
    return source_of([path for path, _ in stack.values()], node.meta.get("stack_trace") or "")


def source_of(modules: Sequence[str], trace: str) -> Source | None:
    """The innermost of these module paths, and the user's own line in a stack trace."""
    paths = [path for path in modules if not path.startswith("_empty_")]
    module = paths[-1] if paths else None
    places = list(_PLACE.finditer(trace))
    if module is None and not places:
        return None
    # The last frame outside torch itself is the user's own line.
    own = [place for place in places if not _TORCH_ITSELF.search(place["file"])]
    place = next(reversed(own or places), None)
    return Source(
        module=_module_path(module),
        file=place["file"] if place else None,
        line=int(place["line"]) if place else None,
        text=place["text"].strip() if place and place["text"] else None,
    )


def _module_path(path: str | None) -> str | None:
    # Exporters write L['self'].layer1.0 or L__self___layer1_0; both begin at the root module.
    if path is None:
        return None
    return re.sub(r"^L\['self'\]\.?|^L__self__+", "", path)
