"""Constants as a type stores them that is narrower than their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.bounds.rounding import overflow_begins, rounded_constant
from isomorph.oracle.dtypes import is_float

if TYPE_CHECKING:
    from isomorph.bounds.node_inputs import NodeInputs
    from isomorph.core.model import Node

ROUNDED_OPERANDS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Concat", "Where", "Max", "Min", "Pad", "Clip", "Sum", "Mean",
     "Stack", "FloorDiv", "SquaredDifference", "PRelu", "Pow", "QuantizeLinear",
     "DequantizeLinear"}
)  # fmt: skip
"""Operators whose constants are intervals where a narrow type rounds them. The others widen their
results by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowConstants:
    """What a target type makes of the tensors that no input changes.

    ``beyond`` are those with a number that the target has not, which are read.
    """

    sample: Mapping[str, Any]
    declared: Callable[[str], str | None]
    target: str | None
    beyond: frozenset[str]

    def rounded(self, inputs: NodeInputs, *, overflowing: bool) -> NodeInputs:
        """What a node reads, with the constants of elementwise operators as intervals.

        If ``overflowing``, with infinities, as a run has them.
        """
        if self.target is None or inputs.node.op not in ROUNDED_OPERANDS:
            return inputs
        rounded = {}
        for name in inputs.node.inputs:
            value = self.sample.get(name)
            if name and name not in inputs.intervals and isinstance(value, np.ndarray):
                interval = rounded_constant(
                    value, self.declared(name), self.target, overflowing=overflowing
                )
                if value.dtype.kind == "f" and not interval.is_point.all():
                    rounded[name] = interval
        if not rounded:
            return inputs
        return replace(inputs, intervals={**inputs.intervals, **rounded})

    def lose(self, node: Node) -> bool:
        """Whether a run computes a node with infinities for constants that are no intervals."""
        return node.op not in ROUNDED_OPERANDS and bool(self.beyond.intersection(node.inputs))


def constants_beyond(
    sample: Mapping[str, Any], names: Iterable[str], target: str | None
) -> frozenset[str]:
    """The tensors of these with a finite number that the target would store as an infinity."""
    if not is_float(target):
        return frozenset()
    begins = overflow_begins(str(target))
    values = ((name, sample[name]) for name in names)
    return frozenset(
        name
        for name, value in values
        if isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and bool((np.abs(value[np.isfinite(value)]) >= begins).any())
    )
