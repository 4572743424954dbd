"""Reads a TorchScript graph into steps: no example inputs, and no re-export, are needed."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from isomorph.core.errors import UnreadableModelError
from isomorph.core.model import Source
from isomorph.native.torch_exported import spec_of
from isomorph.native.torch_program import Body, Program, Ref, Spec, Step, refs
from isomorph.native.torch_script_ops import ALIASES, script_target, with_types

Structure = Any
"""A value that is known while reading: a number, None, or lists and tuples around ``Ref``."""


@dataclass(slots=True)
class _Scope:
    """What reading has found so far in one block and those around it."""

    prefix: str
    known: dict[str, Structure]
    names: dict[str, str]
    constants: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)

    def inside(self, prefix: str) -> _Scope:
        """A scope for a block: it sees what is known outside, and shares the constants."""
        inner = _Scope(prefix, dict(self.known), self.names)
        inner.constants, inner.origins, inner.specs = self.constants, self.origins, self.specs
        inner.writes = self.writes
        return inner


def read_script(script: Any, typed: Any = None) -> tuple[Program, tuple[str, ...]]:  # noqa: ANN401
    """The inlined graph of ``forward``, and the operators in it that write into memory.

    Bodies of branches and loops become bodies of steps.

    ``typed`` is the same module with the shapes it was traced with, where they are known.
    """
    graph = script.inlined_graph.copy()
    torch._C._jit_pass_remove_mutation(graph)
    torch._C._jit_pass_constant_propagation(graph)
    torch._C._jit_pass_dce(graph)
    given = list(graph.inputs())
    scope = _Scope("", {given[0].debugName(): script}, {})
    arguments = script.forward.schema.arguments[1:]
    inputs = []
    declared = list((script if typed is None else typed).inlined_graph.inputs())[1:]
    for value, shown, argument in zip(given[1:], declared, arguments, strict=True):
        scope.known[value.debugName()] = Ref(argument.name)
        scope.specs[argument.name] = _input_spec(shown, argument)
        inputs.append(argument.name)
    _read(scope, graph)
    results = [_structure(scope, value) for value in graph.outputs()]
    outputs = tuple(refs(results))
    steps = _needed(scope.steps, outputs)
    read = {name for step in steps for name in step.needs} | set(outputs)
    program = Program(
        name="",
        inputs=tuple(inputs),
        outputs=outputs,
        steps=steps,
        constants={name: value for name, value in scope.constants.items() if name in read},
        specs=scope.specs,
        origins=scope.origins,
    )
    return program, tuple(dict.fromkeys(scope.writes))


def _input_spec(value: Any, argument: Any) -> Spec:  # noqa: ANN401
    kind = value.type().kind()
    if kind == "TensorType":
        return _tensor_spec(value)
    if kind in {"IntType", "FloatType", "BoolType"}:
        return Spec(kind=kind.removesuffix("Type").lower(), shape=())
    raise UnreadableModelError(
        "UNSUPPORTED_INPUT",
        f"input {argument.name!r} is of type {value.type()}",
        why="inputs of a TorchScript model must be tensors or numbers",
        fix="wrap the model in a module that takes tensors, and save that",
    )


def _tensor_spec(value: Any) -> Spec:  # noqa: ANN401
    kind = value.type()
    sizes = kind.sizes() if hasattr(kind, "sizes") else None
    return Spec(
        dtype=kind.dtype() if hasattr(kind, "dtype") else None,
        shape=None if sizes is None else tuple(sizes),
    )


def _read(scope: _Scope, block: Any) -> None:  # noqa: ANN401
    for node in block.nodes():
        word = node.kind()
        outputs = list(node.outputs())
        if word == "prim::Uninitialized":
            scope.known[outputs[0].debugName()] = None  # never read, by construction
        elif word == "prim::Constant":
            _constant(scope, outputs[0])
        elif word == "prim::GetAttr":
            _attribute(scope, node, outputs[0])
        elif word in {"prim::ListConstruct", "prim::TupleConstruct"}:
            items = [_structure(scope, value) for value in node.inputs()]
            scope.known[outputs[0].debugName()] = items if "List" in word else tuple(items)
        elif word == "prim::DictConstruct":
            flat = [_structure(scope, value) for value in node.inputs()]
            scope.known[outputs[0].debugName()] = dict(zip(flat[::2], flat[1::2], strict=True))
        elif word in {"prim::ListUnpack", "prim::TupleUnpack"}:
            _unpack(scope, node, outputs)
        elif word == "prim::TupleIndex":
            _index(scope, node, outputs[0])
        elif word in ALIASES:
            scope.known[outputs[0].debugName()] = _structure(scope, next(node.inputs()))
        elif word in {"prim::If", "prim::Loop"}:
            _control(scope, node, outputs)
        elif outputs:
            _call(scope, node, outputs)


def _structure(scope: _Scope, value: Any) -> Structure:  # noqa: ANN401
    return scope.known[value.debugName()]


def _constant(scope: _Scope, value: Any) -> None:  # noqa: ANN401
    held = value.toIValue()
    if isinstance(held, torch.Tensor):
        name = f"{scope.prefix}c_{value.debugName()}"
        scope.constants[name], scope.specs[name] = held.detach(), spec_of(held)
        held = Ref(name)
    scope.known[value.debugName()] = held


def _attribute(scope: _Scope, node: Any, value: Any) -> None:  # noqa: ANN401
    owner = _structure(scope, next(node.inputs()))
    held = getattr(owner, node.s("name"))
    if isinstance(held, torch.Tensor):
        path = _path(scope, next(node.inputs()), node.s("name"))
        mark = "p" if isinstance(held, torch.nn.Parameter) else "b"
        name = f"{mark}_" + re.sub(r"\W", "_", path)
        if name not in scope.constants:
            scope.constants[name], scope.specs[name] = held.detach(), spec_of(held)
            scope.origins[name] = path
        held = Ref(name)
    elif isinstance(held, torch.nn.Module | torch.jit.ScriptModule):
        scope.names[value.debugName()] = _path(scope, next(node.inputs()), node.s("name"))
    scope.known[value.debugName()] = held


def _path(scope: _Scope, owner: Any, name: str) -> str:  # noqa: ANN401
    above = scope.names.get(owner.debugName(), "")
    return f"{above}.{name}" if above else name


def _named(scope: _Scope, node: Any, value: Any) -> str:  # noqa: ANN401
    # A bare number says nothing; the operator in front of it does.
    word, name = node.kind().partition("::")[2], value.debugName()
    return f"{word.rstrip('_')}_{name}" if name.isdigit() else name


def _unpack(scope: _Scope, node: Any, outputs: list[Any]) -> None:  # noqa: ANN401
    held = _structure(scope, next(node.inputs()))
    if isinstance(held, (list, tuple)):
        for value, item in zip(outputs, held, strict=True):
            scope.known[value.debugName()] = item
        return
    names = tuple(_named(scope, node, value) for value in outputs)
    place = next((i for i, step in enumerate(scope.steps) if step.outputs == (held.name,)), None)
    if place is not None and not scope.steps[place].listed:
        # The list came straight out of an operator: its parts are that operator's outputs.
        scope.steps[place] = replace(scope.steps[place], outputs=names, listed=True, whole=True)
    else:
        for index, name in enumerate(names):
            scope.steps.append(_getitem(name, held, index))
    for value, name in zip(outputs, names, strict=True):
        scope.known[value.debugName()] = Ref(name)
        scope.specs[name] = _output_spec(value)


def _index(scope: _Scope, node: Any, value: Any) -> None:  # noqa: ANN401
    held, place = (_structure(scope, each) for each in node.inputs())
    if isinstance(held, Ref):
        name = _named(scope, node, value)
        scope.steps.append(_getitem(name, held, place))
        scope.specs[name] = _output_spec(value)
        scope.known[value.debugName()] = Ref(name)
    else:
        scope.known[value.debugName()] = held[place]


def _getitem(name: str, held: Ref, place: int) -> Step:
    return Step(name=name, target=operator.getitem, args=(held, place), kwargs={}, outputs=(name,))


def _call(scope: _Scope, node: Any, outputs: list[Any]) -> None:  # noqa: ANN401
    schema = node.schema()
    # torch's pass has removed the writes that nobody sees; a schema marks the rest with !.
    if "!" in schema:
        scope.writes.append(node.kind())
    arguments = [_structure(scope, value) for value in node.inputs()]
    names = tuple(_named(scope, node, value) for value in outputs)
    args, kwargs = with_types(node, arguments)
    scope.steps.append(
        Step(
            name=names[0],
            target=script_target(node.kind(), schema),
            args=args,
            kwargs=kwargs,
            outputs=names,
            listed=len(names) > 1,
            source=_source(node),
        )
    )
    for value, name in zip(outputs, names, strict=True):
        scope.known[value.debugName()] = Ref(name)
        scope.specs[name] = _output_spec(value)


def _output_spec(value: Any) -> Spec:  # noqa: ANN401
    kind = value.type().kind()
    if kind == "TensorType":
        return _tensor_spec(value)
    if kind in {"IntType", "FloatType", "BoolType"}:
        return Spec(kind=kind.removesuffix("Type").lower(), shape=())
    if kind == "OptionalType" and "Tensor" in str(value.type()):
        return Spec()
    return Spec(kind="list" if kind == "ListType" else "other")


def _control(scope: _Scope, node: Any, outputs: list[Any]) -> None:  # noqa: ANN401
    if not outputs:
        return  # it can only raise, as assertions do
    names = tuple(_named(scope, node, value) for value in outputs)
    given = [_structure(scope, value) for value in node.inputs()]
    is_branch = node.kind() == "prim::If"
    bodies: dict[str, Program] = {}
    for place, block in enumerate(node.blocks()):
        mark = ("then", "else")[place] if is_branch else "loop"
        bodies[mark] = _body(scope, f"{scope.prefix}{names[0]}/body#{place}/", block)
    free = {mark: [Ref(name) for name in body.inputs[_own(node, mark):]]
            for mark, body in bodies.items()}  # fmt: skip
    args = (
        (given[0], Body("then"), Body("else"), free["then"], free["else"])
        if is_branch
        else (given[0], given[1], Body("loop"), given[2:], free["loop"])
    )
    scope.steps.append(
        Step(
            name=names[0],
            target="script.if" if is_branch else "script.loop",
            args=args,
            kwargs={},
            outputs=names,
            listed=True,
            bodies=bodies,
            source=_source(node),
        )
    )
    for value, name in zip(outputs, names, strict=True):
        scope.known[value.debugName()] = Ref(name)
        scope.specs[name] = _output_spec(value)


def _own(node: Any, mark: str) -> int:  # noqa: ANN401
    """How many inputs of the body are its own block's, before those it takes from outside."""
    return len(list(next(iter(node.blocks())).inputs())) if mark == "loop" else 0


def _body(scope: _Scope, prefix: str, block: Any) -> Program:  # noqa: ANN401
    inner = scope.inside(prefix)
    own = []
    for value in block.inputs():
        inner.known[value.debugName()] = Ref(value.debugName())
        own.append(value.debugName())
        inner.specs[value.debugName()] = _output_spec(value)
    _read(inner, block)
    results = [_structure(inner, value) for value in block.outputs()]
    # A result may be a number or a list known while reading; a step of its own gives it.
    names = []
    for place, result in enumerate(results):
        if isinstance(result, Ref):
            names.append(result.name)
            continue
        name = f"result.{place}"
        target, args = script_target("script::value", None), (result,)
        inner.steps.append(Step(name=name, target=target, args=args, kwargs={}, outputs=(name,)))
        names.append(name)
    steps = _needed(inner.steps, tuple(names))
    made = {name for step in steps for name in step.gives}
    read = [name for step in steps for name in step.needs] + names
    free = [name for name in dict.fromkeys(read) if name not in made and name not in own]
    return Program(
        name=prefix, inputs=(*own, *free), outputs=tuple(names), steps=steps,
        constants={}, specs=inner.specs,
    )  # fmt: skip


def _needed(steps: list[Step], outputs: tuple[str, ...]) -> tuple[Step, ...]:
    wanted = set(outputs)
    kept = []
    for step in reversed(steps):
        if wanted.intersection(step.gives):
            kept.append(step)
            wanted.update(step.needs)
    return tuple(reversed(kept))


_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def _source(node: Any) -> Source | None:  # noqa: ANN401
    # Scopes read S::/torch.nn.modules.conv.Conv2d::c: what stands last after :: is the path.
    pieces = [piece.rpartition("::")[2] for piece in node.scopeName().split("/")]
    module = ".".join(piece for piece in pieces if piece)
    place = _PLACE.search(node.sourceRange())
    if not module and place is None:
        return None
    return Source(
        module=module,
        file=place["file"] if place else None,
        line=int(place["line"]) if place else None,
    )
