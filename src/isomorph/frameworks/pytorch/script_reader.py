"""Reads a TorchScript graph into steps: no example inputs, and no re-export, are needed."""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from typing import Any

import torch

from isomorph.frameworks.pytorch.export_reader import spec_of
from isomorph.frameworks.pytorch.program import Body, Program, Ref, Step, refs
from isomorph.frameworks.pytorch.script_ops import ALIASES, script_target, with_types
from isomorph.frameworks.pytorch.script_scope import (
    Scope,
    input_spec,
    named,
    needed,
    output_spec,
    path_of,
    source_of,
    structure,
)


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
    parameters = frozenset(path for path, _ in script.named_parameters())
    scope = Scope("", {given[0].debugName(): script}, {}, parameters)
    arguments = script.forward.schema.arguments[1:]
    inputs = []
    declared = list((script if typed is None else typed).inlined_graph.inputs())[1:]
    for value, shown, argument in zip(given[1:], declared, arguments, strict=True):
        scope.known[value.debugName()] = Ref(argument.name)
        scope.specs[argument.name] = input_spec(shown, argument)
        inputs.append(argument.name)
    _read(scope, graph)
    results = [structure(scope, value) for value in graph.outputs()]
    outputs = tuple(refs(results))
    steps = needed(scope.steps, outputs)
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


def _read(scope: Scope, block: Any) -> None:  # noqa: ANN401
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
            items = [structure(scope, value) for value in node.inputs()]
            scope.known[outputs[0].debugName()] = items if "List" in word else tuple(items)
        elif word == "prim::DictConstruct":
            flat = [structure(scope, value) for value in node.inputs()]
            scope.known[outputs[0].debugName()] = dict(zip(flat[::2], flat[1::2], strict=True))
        elif word in {"prim::ListUnpack", "prim::TupleUnpack"}:
            _unpack(scope, node, outputs)
        elif word == "prim::TupleIndex":
            _index(scope, node, outputs[0])
        elif word in ALIASES:
            scope.known[outputs[0].debugName()] = structure(scope, next(node.inputs()))
        elif word in {"prim::If", "prim::Loop"}:
            _control(scope, node, outputs)
        elif outputs:
            _call(scope, node, outputs)


def _constant(scope: Scope, value: Any) -> None:  # noqa: ANN401
    constant = value.toIValue()
    if isinstance(constant, torch.Tensor):
        name = f"{scope.prefix}c_{value.debugName()}"
        scope.constants[name], scope.specs[name] = constant.detach(), spec_of(constant)
        constant = Ref(name)
    scope.known[value.debugName()] = constant


def _attribute(scope: Scope, node: Any, value: Any) -> None:  # noqa: ANN401
    owner = structure(scope, next(node.inputs()))
    attribute = getattr(owner, node.s("name"))
    if isinstance(attribute, torch.Tensor):
        path = path_of(scope, next(node.inputs()), node.s("name"))
        mark = "p" if path in scope.parameters else "b"
        name = f"{mark}_" + re.sub(r"\W", "_", path)
        if name not in scope.constants:
            scope.constants[name], scope.specs[name] = attribute.detach(), spec_of(attribute)
            scope.origins[name] = path
        attribute = Ref(name)
    elif isinstance(attribute, torch.nn.Module | torch.jit.ScriptModule):
        scope.names[value.debugName()] = path_of(scope, next(node.inputs()), node.s("name"))
    scope.known[value.debugName()] = attribute


def _unpack(scope: Scope, node: Any, outputs: list[Any]) -> None:  # noqa: ANN401
    source = structure(scope, next(node.inputs()))
    if isinstance(source, (list, tuple)):
        for value, item in zip(outputs, source, strict=True):
            scope.known[value.debugName()] = item
        return
    names = tuple(named(scope, node, value) for value in outputs)
    place = next((i for i, step in enumerate(scope.steps) if step.outputs == (source.name,)), None)
    if place is not None and not scope.steps[place].listed:
        # The list came straight out of an operator: its parts are that operator's outputs.
        scope.steps[place] = replace(scope.steps[place], outputs=names, listed=True, whole=True)
    else:
        for index, name in enumerate(names):
            scope.steps.append(_getitem(name, source, index))
    for value, name in zip(outputs, names, strict=True):
        scope.known[value.debugName()] = Ref(name)
        scope.specs[name] = output_spec(value)


def _index(scope: Scope, node: Any, value: Any) -> None:  # noqa: ANN401
    source, place = (structure(scope, each) for each in node.inputs())
    if isinstance(source, Ref):
        name = named(scope, node, value)
        scope.steps.append(_getitem(name, source, place))
        scope.specs[name] = output_spec(value)
        scope.known[value.debugName()] = Ref(name)
    else:
        scope.known[value.debugName()] = source[place]


def _getitem(name: str, source: Ref, place: int) -> Step:
    return Step(
        name=name, target=operator.getitem, args=(source, place), kwargs={}, outputs=(name,)
    )


def _call(scope: Scope, node: Any, outputs: list[Any]) -> None:  # noqa: ANN401
    schema = node.schema()
    # torch's pass has removed the writes that nobody sees; a schema marks the rest with !.
    if "!" in schema:
        scope.writes.append(node.kind())
    arguments = [structure(scope, value) for value in node.inputs()]
    names = tuple(named(scope, node, value) for value in outputs)
    args, kwargs = with_types(node, arguments)
    scope.steps.append(
        Step(
            name=names[0],
            target=script_target(node.kind(), schema),
            args=args,
            kwargs=kwargs,
            outputs=names,
            listed=len(names) > 1,
            source=source_of(scope, node, refs(args)),
        )
    )
    for value, name in zip(outputs, names, strict=True):
        scope.known[value.debugName()] = Ref(name)
        scope.specs[name] = output_spec(value)


def _control(scope: Scope, node: Any, outputs: list[Any]) -> None:  # noqa: ANN401
    if not outputs:
        return  # it can only raise, as assertions do
    names = tuple(named(scope, node, value) for value in outputs)
    given = [structure(scope, value) for value in node.inputs()]
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
            source=source_of(scope, node),
        )
    )
    for value, name in zip(outputs, names, strict=True):
        scope.known[value.debugName()] = Ref(name)
        scope.specs[name] = output_spec(value)


def _own(node: Any, mark: str) -> int:  # noqa: ANN401
    """How many inputs of the body are its own block's, before those it takes from outside."""
    return len(list(next(iter(node.blocks())).inputs())) if mark == "loop" else 0


def _body(scope: Scope, prefix: str, block: Any) -> Program:  # noqa: ANN401
    inner = scope.inside(prefix)
    own = []
    for value in block.inputs():
        inner.known[value.debugName()] = Ref(value.debugName())
        own.append(value.debugName())
        inner.specs[value.debugName()] = output_spec(value)
    _read(inner, block)
    results = [structure(inner, value) for value in block.outputs()]
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
    steps = needed(inner.steps, tuple(names))
    made = {name for step in steps for name in step.gives}
    read = [name for step in steps for name in step.needs] + names
    free = [name for name in dict.fromkeys(read) if name not in made and name not in own]
    return Program(
        name=prefix, inputs=(*own, *free), outputs=tuple(names), steps=steps,
        constants={}, specs=inner.specs,
    )  # fmt: skip
