"""What the search for guilty nodes finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.stages.run.layout import Rearrangement


@dataclass(frozen=True, slots=True, kw_only=True)
class Guilt:
    """One place where the candidate goes wrong although everything before it is right.

    ``node`` makes ``tensor``, whose right value is ``counterpart`` of the reference, brought into
    place by ``moved``. ``nodes`` are all that lie between the last right tensors and this one.
    ``shape`` is the one that the tensor has now. ``scattered``: the right values are there, in the
    wrong order. ``share`` is how much of the output error vanishes when this alone is put right.
    ``where`` says in which of its elements the tensor is wrong.
    """

    node: str
    nodes: tuple[str, ...]
    tensor: str
    counterpart: str
    reference_nodes: tuple[str, ...]
    moved: Rearrangement
    value: Array = field(repr=False, compare=False)
    local_error: float
    shape: tuple[int, ...] | None = None
    scattered: bool = False
    proven: bool = False
    share: float | None = None
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The guilty places, in the order of the graph, and whether they explain everything."""

    guilts: tuple[Guilt, ...]
    explained: bool
    left_over: tuple[str, ...] = ()


NOBODY = Trail(guilts=(), explained=True)
"""Where nothing is wrong."""
