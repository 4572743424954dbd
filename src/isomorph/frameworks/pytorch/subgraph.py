"""A part of a PyTorch program as an exported program of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from isomorph.core.cutting import unknown_body
from isomorph.core.errors import UsageError
from isomorph.frameworks.pytorch.control_flow import is_control, run_control
from isomorph.frameworks.pytorch.export import Example, export
from isomorph.frameworks.pytorch.interpreter import (
    Plan,
    call,
    enter_body,
    execute,
    planner_of,
    starting_values,
)
from isomorph.frameworks.pytorch.program import Body, operator_name, replace_refs
from isomorph.frameworks.pytorch.session import feed

if TYPE_CHECKING:
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.pytorch.interpreter import Values
    from isomorph.frameworks.pytorch.model import TorchModel
    from isomorph.frameworks.pytorch.program import Program, Step


def piece_of(model: TorchModel, piece: Piece, feeds: Arrays) -> Any:  # noqa: ANN401
    """The exported program of the steps in between; it computes with the same operators."""
    program = model.program
    if piece.node is not None:
        program = _body(program, str(piece.node), str(piece.body))
        feeds = {name.removeprefix(program.name): value for name, value in feeds.items()}
        piece = replace(
            piece,
            feeds=tuple(name.removeprefix(program.name) for name in piece.feeds),
            fetch=tuple(name.removeprefix(program.name) for name in piece.fetch),
        )
    if not model.cuttable:
        raise UsageError(
            "NOT_CUTTABLE",
            "this module writes into memory that is read elsewhere, or decides in Python",
            fix="export it with torch.export first",
        )
    plan = planner_of(program).plan(frozenset(piece.feeds), piece.fetch)
    example = tuple(feed(program, name, feeds[name]) for name in piece.feeds)
    module = _Steps(program, plan, piece)
    # The order in memory is the kernel's business; a part starts from plain tensors.
    exported = export(module.eval(), Example(args=example))
    for inner in exported.graph_module.modules():
        if isinstance(inner, torch.fx.GraphModule):
            own = [step for _, step in plan.steps] if inner is exported.graph_module else []
            _give_sources(inner.graph.nodes, own)
    return exported


def _give_sources(nodes: Iterable[Any], steps: Sequence[Step]) -> None:
    """Let each node state the line of the step that it was made of, and none of this program."""
    left = iter(steps)
    step = next(left, None)
    for node in nodes:
        node.meta.pop("stack_trace", None)
        if node.op != "call_function" or step is None:
            continue
        if operator_name(node.target) != operator_name(step.target):
            continue
        place = step.source
        if place is not None and place.file is not None:
            line = f'  File "{place.file}", line {place.line}, in forward'
            node.meta["stack_trace"] = f"{line}\n    {place.text or ''}\n"
        step = next(left, None)


class _Steps(torch.nn.Module):  # type: ignore[misc]
    """The steps of a plan as a module, with the constants that they read as buffers."""

    def __init__(self, program: Program, plan: Plan, piece: Piece) -> None:
        super().__init__()
        self._program, self._plan, self._piece = program, plan, piece
        self._places: dict[str, str] = {}
        for name in sorted(plan.reads & program.constants.keys() - set(piece.feeds)):
            place = "".join(c if c.isalnum() else "_" for c in program.origins.get(name, name))
            while place in self._places.values() or hasattr(self, place) or not place:
                place += "_"
            self._places[name] = place
            self.register_buffer(place, program.constants[name].detach())

    def forward(self, *given: torch.Tensor) -> tuple[Any, ...]:
        """The fetched values, in order."""
        constants = {name: getattr(self, place) for name, place in self._places.items()}
        fed = dict(zip(self._piece.feeds, given, strict=True))
        start = starting_values(self._program, fed, self._plan, constants)
        found = execute(self._plan, start, self._piece.fetch, _evaluate)
        return tuple(_as_tensor(found[name]) for name in self._piece.fetch)


def _as_tensor(value: Any) -> Any:  # noqa: ANN401
    """What goes out is a tensor; whether a scripted loop goes on is a number of Python's."""
    return torch.as_tensor(value) if isinstance(value, (bool, int, float)) else value


def _evaluate(_: int, step: Step, values: Values) -> Any:  # noqa: ANN401
    if is_control(step):
        return _control(step, list(replace_refs(step.args, values.__getitem__)))
    if operator_name(step.target) == "aten.Bool.Tensor":
        # A decision must stay one: as Python's own it would be taken while exporting.
        return values[step.args[0].name].to(torch.bool)
    return call(step, values.__getitem__)


def _control(step: Step, arguments: list[Any]) -> Any:  # noqa: ANN401
    """Branches and loops once more as such, so that they are exported and not decided."""
    name = operator_name(step.target)
    if name == "higher_order.cond":
        decision, yes, no, operands = arguments[:4]
        # The operator itself: torch.cond would read our interpreter instead of running it.
        branches = _runs(step, yes), _runs(step, no)
        return torch.ops.higher_order.cond(decision, *branches, tuple(operands))
    if name == "higher_order.while_loop":
        test, loop, carried, extra = arguments[:4]
        inner = _runs(step, loop)
        return torch.ops.higher_order.while_loop(
            lambda *given: _runs(step, test)(*given)[0],
            # A loop may not hand on its own inputs.
            lambda *given: tuple(value.clone() for value in inner(*given)),
            tuple(carried),
            tuple(extra),
        )
    if name == "script.if":
        decision, yes, no, for_yes, for_no = arguments
        yes, no = step.bodies[yes.name], step.bodies[no.name]
        return _branch(decision, (yes, for_yes), (no, for_no))
    if name == "script.loop":
        raise UsageError(
            "NOT_CUTTABLE",
            f"the piece holds the control flow of {step.name!r}, which cannot be exported again",
            fix="export the module with torch.export first",
        )
    return run_control(step, arguments, lambda body, given: list(_run(body, given)))


def _branch(decision: Any, *branches: tuple[Program, Sequence[Any]]) -> Any:  # noqa: ANN401
    """A scripted ``if``: each branch reads its own values, of which some are no tensors."""
    read = [value for _, given in branches for value in given]
    tensors = {id(value): value for value in read if isinstance(value, torch.Tensor)}

    def runs(body: Program, given: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        def run(*fed: torch.Tensor) -> tuple[Any, ...]:
            now = dict(zip(tensors, fed, strict=True))
            return _run(body, [now.get(id(value), value) for value in given])

        return run

    operator = torch.ops.higher_order.cond
    return operator(decision, *(runs(*branch) for branch in branches), tuple(tensors.values()))


def _runs(step: Step, mark: Body) -> Callable[..., tuple[Any, ...]]:
    return lambda *given: _run(step.bodies[mark.name], given)


def _run(body: Program, given: Sequence[Any]) -> tuple[Any, ...]:
    plan, start = enter_body(body, given, {})
    found = execute(plan, start, body.outputs, _evaluate)
    return tuple(found[name] for name in body.outputs if name)


def _body(program: Program, node: str, key: str) -> Program:
    """The body of a step, however deep it lies; its steps are named after their place."""
    for step in program.steps:
        if f"{program.name}{step.name}" == node and key in step.bodies:
            return step.bodies[key]
        for body in step.bodies.values():
            if node.startswith(body.name):
                return _body(body, node, key)
    raise unknown_body(node, key)
