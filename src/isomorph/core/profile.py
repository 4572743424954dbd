"""What there is to look at: the error along both graphs, and single tensors close up.

The graphs are kept as columns of equal length, one entry for each node in topological order, so
that ten thousand nodes stay small and any neighborhood can be drawn from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from isomorph.core.dataset_summary import AxisProfile

Number = float | None
"""A measure, or None where it was not taken: never zero for want of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphProfile:
    """One side, node by node; every distance is relative to the size of the tensor (rms).

    ``sources`` are the places of the nodes whose outputs a node reads. ``execution`` is the run
    against its own oracle, and ``budget`` what rounding explains of it. ``translation`` is this
    side's oracle against the other's at the ``counterpart`` (a place in the other graph), and
    ``local`` the part of it that arises here: what is left when everything before is right.
    Nodes inside a branch or loop stand before the node that holds them, under their full names, and
    were fed with right values; ``rounds`` is the round, from 0, and None outside of bodies.
    """

    role: str
    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    tensors: tuple[str, ...]
    sources: tuple[tuple[int, ...], ...]
    """Places of the nodes whose outputs a node reads."""
    execution: tuple[Number, ...]
    """The run against its own oracle."""
    budget: tuple[Number, ...]
    """What rounding explains."""
    counterpart: tuple[int | None, ...] = ()
    """Places in the other graph."""
    translation: tuple[Number, ...] = ()
    """This oracle against the other side's."""
    local: tuple[Number, ...] = ()
    """What is left of the translation when everything before is right."""
    rounds: tuple[int | None, ...] = ()
    """The round, from 0, on which a node inside a body was looked at; null outside of bodies."""
    run_budget: tuple[Number, ...] = ()
    """What rounding explains of a run in another float type than the file's; empty otherwise."""
    modules: tuple[str, ...] = ()
    """The module of each node, as ``layers.2.norm``; empty where the exporter left none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """How often values fall into equal parts of ``least`` … ``most``, on both sides."""

    least: float
    most: float
    reference: tuple[int, ...]
    candidate: tuple[int, ...]
    reference_not_finite: int = 0
    candidate_not_finite: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The largest |difference| over two axes; a long axis in groups of neighbors."""

    row_axis: int
    column_axis: int
    rows: int
    columns: int
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element of a tensor, on both sides."""

    index: tuple[int, ...]
    reference: float
    candidate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseUp:
    """One tensor of both sides, in the candidate's arrangement of axes.

    ``kind``: ``node`` for a node fed with the right inputs, in float64; ``output`` for an output
    as both sides ran. ``by_axis`` holds the relative error along each axis.
    """

    kind: Literal["node", "output"]
    tensor: str
    counterpart: str
    dtype: str
    shape: tuple[int, ...]
    node: str | None = None
    max_abs: float | None = None
    relative: float | None = None
    histogram: Histogram | None = None
    heat_map: HeatMap | None = None
    by_axis: tuple[AxisProfile, ...] = ()
    worst: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorProfile:
    """Both graphs and the tensors worth a look, all on one sample."""

    origin: str
    graphs: tuple[GraphProfile, ...] = ()
    close_ups: tuple[CloseUp, ...] = field(default_factory=tuple)
