"""What causes and fixes examine about one fault, and what a cause concludes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.execution import Execution
    from isomorph.core.model import Graph, Node
    from isomorph.core.patch import Patch
    from isomorph.core.report import Experiment
    from isomorph.core.trace import Array


class FaultSite(StrEnum):
    """Where a fault lies: in the translated graph, or in the run of a graph that is right.

    ``GRID``: in a grid of integers of the graph, so that without any grid the graph is right.
    """

    GRAPH = "graph"
    RUN = "run"
    GRID = "grid"


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultContext:
    """The nodes of both sides, the wrong and the right value, and functions for experiments.

    ``nodes`` of the candidate lie between right tensors and the wrong one; ``counterparts`` do
    the same in the reference. ``constant`` reads a constant of a graph. ``restores`` returns
    whether the wrong tensor becomes right when these tensors of the candidate are replaced.

    ``value`` reads any tensor of a graph, with earlier faults corrected; ``rehearse`` returns the
    wrong tensor as the patched candidate computes it; ``matching_tensor`` returns the candidate's
    tensor with the values of one of the reference's.

    ``right_without_grids``: without any grid of integers the wrong tensor is right, so that
    nothing but a quantizer is wrong.

    ``same_framework``: both graphs are of one framework, and hold their axes in one order.

    ``execution`` is set where the run is wrong and not the graph: then both graphs are the same,
    ``wrong`` comes from the runtime and ``right`` from its oracle.
    """

    reference: Graph
    candidate: Graph
    node: Node
    nodes: tuple[Node, ...]
    counterparts: tuple[Node, ...]
    tensor: str
    wrong: Array = field(repr=False)
    right: Array = field(repr=False)
    permuted: bool
    constant: Callable[[Graph, str], Array | None]
    restores: Callable[[Mapping[str, Array]], bool]
    equals: Callable[[Array], bool]
    value: Callable[[Graph, str], Array | None] = field(default=_nothing, repr=False)
    matching_tensor: Callable[[str], str | None] = field(default=_nothing, repr=False)
    rehearse: Callable[[Patch], Array | None] = field(default=_nothing, repr=False)
    same_framework: bool = False
    right_without_grids: bool = False
    execution: Execution | None = None


class Certainty(IntEnum):
    """How well a diagnosis is founded; it orders the diagnoses of all causes."""

    REFUTED = 0
    """By an experiment."""
    POSSIBLE = 1
    """Nothing contradicts it."""
    VISIBLE = 2
    """The graphs differ in just this."""
    CONFIRMED = 3
    """An experiment that changed just this restored the node."""
    EVIDENT = 4
    """The values prove it."""


class Detail(StrEnum):
    """What is wrong, where that is no parameter, operator, type or optimizer."""

    CLIPPED = "clipped"
    COARSE = "coarse"
    OVERFLOW = "overflow"
    REORDERED = "reordered"
    SCALE = "scale"
    ZERO_POINT = "zero_point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What one cause concludes about a fault.

    ``node`` is the one node of the context whose change restores the fault, where it is a single
    one.
    ``restores_run``: with one change of the settings every output of the run is right.
    ``about`` names what exactly is wrong: parameters and their values, operators, types,
    optimizers, and members of ``Detail``.
    """

    cause: str
    summary: str
    certainty: Certainty
    experiments: tuple[Experiment, ...] = ()
    evidence: Mapping[str, object] = field(default_factory=dict)
    fix: str | None = None
    node: str | None = None
    restores_run: bool = False
    about: frozenset[str] = frozenset()
