"""Nodes of OpenVINO for the float64 executor: kernels, bodies and their declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isomorph.oracle.declared_graph import DeclaredStep, NamedBody
from isomorph.oracle.step import WIDE, View

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import Body
    from isomorph.oracle.noise import NoiseSource
    from isomorph.oracle.value import EvalValue

_LOOK_UPS = frozenset({"Gather", "GatherElements", "GatherND"})


@dataclass(frozen=True, slots=True, kw_only=True)
class IrStep(DeclaredStep):
    """One node, and what it runs inside."""

    bodies: Mapping[str, Part] = field(default_factory=dict)

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """A table that is looked up is not lifted whole."""
        table = inputs[0] if self.op in _LOOK_UPS and view is WIDE else None
        if table is None or not table.constant or table.shifted:
            return [view(value) for value in inputs]
        return [table.data, *(view(value) for value in inputs[1:])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(NamedBody[IrStep]):
    """A body, and how it is connected."""

    body: Body
