"""The constants of a program in float64, lifted once as long as there is room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isomorph.frameworks.pytorch.float64_steps import lifted
from isomorph.frameworks.pytorch.mapped_weights import LARGE

KEPT_BYTES = 16 << 20
"""Beyond this many bytes a weight is lifted at each use, which costs little beside using it."""


class LiftedWeights:
    """Lifts on first use, and keeps what fits."""

    def __init__(
        self, constants: Mapping[str, Any], release: Callable[[], None] = lambda: None
    ) -> None:
        self.constants, self.release = constants, release
        self._kept: dict[str, Any] = {}
        self._room = KEPT_BYTES

    def owns(self, name: str, value: Any) -> bool:  # noqa: ANN401
        """Whether this value is the program's own constant, and not one fed in its place."""
        return value is self.constants.get(name)

    def wide(self, name: str) -> Any:  # noqa: ANN401
        """The constant in float64."""
        if name in self._kept:
            return self._kept[name]
        value = lifted(self.constants[name])
        if value.nbytes <= self._room:
            self._room -= value.nbytes
            self._kept[name] = value
        self.let_go(value)
        return value

    def let_go(self, used: Any) -> None:  # noqa: ANN401
        """A large constant has been used; as it is stored it need not stay in memory."""
        if used.nbytes >= LARGE:
            self.release()

    def clear(self) -> None:
        """Let go of everything kept."""
        self._kept.clear()
        self._room = KEPT_BYTES
