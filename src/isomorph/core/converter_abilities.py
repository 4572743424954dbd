"""What a converter may offer besides: other releases, operator sets, passes, a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

OPSET = "opset"
"""The option that states the operator set of an ONNX file."""

WITHOUT_PASSES = "without_passes"
"""The option that names passes which are left out, one in each line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNeeds:
    """What the environment of another release of a converter's package has to hold.

    ``statement`` is Python that must work there: what the converter imports. ``beside`` are
    requirements of pip besides the package, for what it needs and does not require by itself.
    """

    statement: str
    beside: tuple[str, ...] = ()


@runtime_checkable
class RunsInReleases(Protocol):
    """The ability of a converter to run with another release of a package, in its environment.

    Only isomorph's source, NumPy and what the environment holds can be imported there.
    """

    releases: Mapping[str, ReleaseNeeds]
    """By the name of each package in an index."""


@runtime_checkable
class TakesOpset(Protocol):
    """The ability of a converter to write the operator set that the option ``OPSET`` states."""

    takes_opset: bool
    """True; a converter without the ability ignores the option."""


@runtime_checkable
class HasPasses(Protocol):
    """The ability of a converter to leave out the passes that ``WITHOUT_PASSES`` names."""

    def passes(self) -> Sequence[str]:
        """The names of the passes of the installed package that can be left out, in its order."""
        ...


@runtime_checkable
class WritesConversion(Protocol):
    """The ability of a converter to show its call in a program without isomorph."""

    def conversion_lines(self, options: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that convert the file ``source`` and write the file ``target``."""
        ...


def passes_without(options: Mapping[str, str]) -> tuple[str, ...]:
    """The passes that an order leaves out."""
    return tuple(name for name in options.get(WITHOUT_PASSES, "").split("\n") if name)
