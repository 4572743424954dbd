"""What a comparison needs of either side: a model that is evaluated, a part of it, or a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from isomorph.core.errors import IsomorphError
    from isomorph.core.model import Graph, Model
    from isomorph.core.trace import Array
    from isomorph.measure.spread import Spread


class Comparand(Protocol):
    """What a comparison needs of either side."""

    model: Model
    recorded: bool

    @property
    def isolated(self) -> bool: ...  # noqa: D102
    @property
    def run_dtype(self) -> str: ...  # noqa: D102
    def pending(self, *, rounding: bool = True) -> bool: ...  # noqa: D102
    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError: ...  # noqa: D102
    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError: ...  # noqa: D102
    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError: ...  # noqa: D102
    def rounding(self) -> Mapping[str, Spread] | IsomorphError: ...  # noqa: D102
    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError: ...  # noqa: D102
    def execution_loss(self) -> Mapping[str, Spread] | IsomorphError: ...  # noqa: D102
    def allowance(  # noqa: D102
        self, constants: tuple[str, ...]
    ) -> Mapping[str, Spread] | IsomorphError: ...
    def draw_more(self, draws: int, *, allowance: bool = True) -> bool: ...  # noqa: D102
    def draw_wider(self) -> bool: ...  # noqa: D102
    def oracle_outputs_toward(  # noqa: D102
        self, target: Mapping[str, Array]
    ) -> Mapping[str, Array] | IsomorphError: ...


def unmatched_constants(graph: Graph, other: Graph) -> tuple[str, ...]:
    """Return the float constants whose values the other graph does not have in any order."""
    there = {constant.value_digest for constant in other.constants.values()}
    return tuple(
        name
        for name, constant in graph.constants.items()
        if "float" in constant.dtype and constant.value_digest not in there
    )
