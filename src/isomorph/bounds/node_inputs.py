"""What a transformer sees of a node: the intervals that it reads, and means to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array, Interval
    from isomorph.bounds.node_runs import NodeRuns
    from isomorph.bounds.rounding import TypeRounding
    from isomorph.core.model import Node


@dataclass(frozen=True, kw_only=True)
class NodeInputs:
    """One node whose inputs are intervals.

    ``moving`` are the names of the tensors whose values are not known, in the order of the inputs,
    each once. ``producers`` are the nodes that compute each tensor, for patterns of several nodes;
    ``fixed`` are the tensors that no input of the model changes.
    """

    node: Node
    intervals: Mapping[str, Interval]
    runs: NodeRuns
    rounding: TypeRounding
    producers: Mapping[str, Node]
    fixed: AbstractSet[str]

    @cached_property
    def moving(self) -> tuple[str, ...]:
        """The tensors that are no single known value."""
        return tuple(dict.fromkeys(n for n in self.node.inputs if n in self.intervals))

    @property
    def repeated(self) -> bool:
        """Whether the node reads one tensor at two places."""
        names = [name for name in self.node.inputs if name in self.intervals]
        return len(set(names)) < len(names)

    @property
    def first(self) -> Interval:
        """The first input, where it moves."""
        return self.intervals[self.node.inputs[0]]

    def interval(self, place: int) -> Interval | None:
        """The input at a place, where it is a tensor that moves."""
        return self.intervals.get(self.node.input(place))

    def known(self, place: int) -> Array | None:
        """The value of an input that no input of the model changes."""
        name = self.node.input(place)
        if not name or name in self.intervals or name not in self.runs.sample:
            return None
        value = self.runs.sample[name]
        return value if isinstance(value, np.ndarray) else None

    def magnitude(self, place: int) -> float | None:
        """The largest absolute value of an input; None for one that is absent or no number."""
        interval, value = self.interval(place), self.known(place)
        if interval is not None:
            return float(interval.magnitude.max(initial=0.0))
        if value is None or value.dtype.kind not in "biuf":
            return None
        return float(np.abs(np.asarray(value, np.float64)).max(initial=0.0))

    def attribute(self, *names: str, default: Any = None) -> Any:  # noqa: ANN401
        """The first of these attributes that the node states."""
        found = (self.node.attributes[name] for name in names if name in self.node.attributes)
        return next((value for value in found if value is not None), default)

    def run(self, *fed: Mapping[str, Array]) -> list[list[Array]]:
        """The outputs of the node for each set of inputs."""
        return self.runs.results(self.node, fed)

    def ends(self, *, upper: bool) -> dict[str, Array]:
        """Every moving input at its lower or at its upper bound."""
        return {
            name: self.intervals[name].upper if upper else self.intervals[name].lower
            for name in self.moving
        }

    @cached_property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the outputs."""
        return [np.shape(self.runs.sample[name]) for name in self.node.outputs if name]
