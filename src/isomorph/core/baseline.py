"""Divergences that a person examined and accepted, and the state of today's against them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FILE = "isomorph.baseline.toml"
"""The usual name of the file, beside the project's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One output, constant or node that is known to differ: how far, why, by whom, until when.

    ``causes`` are those of the faulty nodes that were confirmed then, one for each. ``findings``
    are what was accepted, exactly: each as its cause and its place, ``attribute at conv_2``.
    ``when`` and ``until`` are dates as 2027-01-31. ``differing`` counts values that have no
    distance (words); ``shape`` is the candidate's, as 4×3, where nothing could be compared, and
    ``kind`` states whether values, shapes or nothing was compared with the reference's output.

    An entry for a ``constant`` that differs though no output shows it has an empty ``output``;
    ``numbers`` is a digest of the values of both sides. An entry for a ``node`` that differs on
    another input than the given ones has the ``output`` that shows it there, if one does.
    """

    pair: str
    output: str
    max_abs: float | None
    nonfinite: int
    causes: tuple[str, ...]
    nodes: tuple[str, ...]
    why: str
    who: str
    when: str
    until: str | None = None
    differing: int | None = None
    shape: str | None = None
    findings: tuple[str, ...] | None = None
    """What was accepted, each as its cause and its place."""
    kind: str | None = None
    """What was compared with the reference's output: values, shape, or nothing (missing)."""
    constant: str | None = None
    """A constant that differs though no output shows it."""
    numbers: str | None = None
    """A digest of the values of both sides."""
    node: str | None = None
    """A node that differs though no given input shows it."""

    @property
    def what(self) -> str:
        """What was accepted, for people: ``output 'y'``, ``constant 'w'`` or ``node 'n'``."""
        return _what(self.output, self.constant, self.node)

    @property
    def by_itself(self) -> bool:
        """Whether it is for a constant or a node that no given input shows."""
        return self.constant is not None or self.node is not None


class BaselineState(StrEnum):
    """A divergence of today against what was accepted."""

    NEW = "new"
    """Not accepted."""
    UNCHANGED = "unchanged"
    WORSE = "worse"
    """Than what was accepted."""
    EXPIRED = "expired"
    FIXED = "fixed"
    """Accepted, and no longer divergent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineStatus:
    """One output, or one constant or node that differs by itself, against the baseline."""

    output: str
    state: BaselineState
    message: str
    accepted: Accepted | None = None
    constant: str | None = None
    node: str | None = None

    @property
    def what(self) -> str:
        """What it is about, for people: ``output 'y'``, ``constant 'w'`` or ``node 'n'``."""
        return _what(self.output, self.constant, self.node)

    @property
    def accepts(self) -> bool:
        """Whether the check may pass in this state."""
        return self.state in {BaselineState.UNCHANGED, BaselineState.FIXED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The file of what was accepted, as far as it concerns one pair, and each entry's status."""

    file: str
    statuses: tuple[BaselineStatus, ...]

    @property
    def accepts(self) -> bool:
        """Whether every divergence is one that was examined and accepted."""
        return all(status.accepts for status in self.statuses)


def _what(output: str, constant: str | None, node: str | None) -> str:
    if node is not None:
        return f"node {node!r}"
    return f"output {output!r}" if constant is None else f"constant {constant!r}"
