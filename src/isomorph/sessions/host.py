"""Where models are opened: in worker processes, or here when debugging.

Stages see only this shape, so none of them knows whether a crash could reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.model import Model
    from isomorph.core.patch import Patch
    from isomorph.core.protocols import Session
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays, Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one worker may use: seconds per phase, bytes of memory (None: three quarters of it).

    Seconds during which the machine had no core for the worker do not count.
    """

    load_seconds: float = 120.0
    open_seconds: float = 180.0
    run_seconds: float = 600.0
    memory_bytes: int | None = None


class Host(Protocol):
    """Opens models and sessions."""

    isolation: str
    memory_bytes: int | None
    """What one worker may hold; None where nobody watches."""

    def warm(self, names: Sequence[str]) -> None:
        """Start what these runtimes will need; returns without waiting for it."""
        ...

    def shares_worker(self, weights: int) -> bool:
        """Whether the oracle and the usual runtime of a model of this size share a worker."""
        ...

    def load(self, source: Any, framework: str, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, validate and describe a model."""
        ...

    def open(self, model: Model, environment: Environment) -> Session:
        """A session of this model in ``environment.runtime``."""
        ...

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy of the model; its framework does it."""
        ...

    def rehearse(self, model: Model, patch: Patch, feeds: Arrays, fetch: Sequence[str]) -> Arrays:
        """Tensors of the patched model in float64, without writing it."""
        ...

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model as a model of its own; its framework does it."""
        ...

    def close(self) -> None:
        """End every worker and remove every temporary file."""
        ...
