"""A part of a PyTorch program as an exported program of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from isomorph.core.errors import UsageError
from isomorph.native.torch_control import is_control
from isomorph.native.torch_export import Example, export
from isomorph.native.torch_interpreter import Plan, Planner, call, execute, starting_values
from isomorph.native.torch_session import feed

if TYPE_CHECKING:
    from isomorph.core.piece import Piece
    from isomorph.core.trace import Arrays
    from isomorph.native.torch_interpreter import Values
    from isomorph.native.torch_model import TorchModel
    from isomorph.native.torch_program import Program, Step


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
    plan = Planner(program).plan(frozenset(piece.feeds), piece.fetch)
    example = tuple(feed(program, name, feeds[name]) for name in piece.feeds)
    module = _Steps(program, plan, piece)
    # The order in memory is the kernel's business; a part starts from plain tensors.
    return export(module.eval(), Example(args=example))


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
        return tuple(found[name] for name in self._piece.fetch)


def _evaluate(_: int, step: Step, values: Values) -> Any:  # noqa: ANN401
    if is_control(step):
        raise UsageError(
            "NOT_CUTTABLE",
            f"the piece holds the control flow of {step.name!r}, which cannot be exported again",
        )
    return call(step, values.__getitem__)


def _body(program: Program, node: str, key: str) -> Program:
    """The body of a step, however deep it lies; its steps are named after their place."""
    for step in program.steps:
        if f"{program.name}{step.name}" == node and key in step.bodies:
            return step.bodies[key]
        for body in step.bodies.values():
            if node.startswith(body.name):
                return _body(body, node, key)
    raise UsageError("UNKNOWN_NODE", f"the model has no body {key!r} of node {node!r}")
