"""Divergences that somebody examined and accepted, and how today's stand against them."""

from __future__ import annotations

from dataclasses import dataclass

FILE = "isomorph.baseline.toml"
"""The usual name of the file, beside the project's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One output that is known to differ: how far, why that is fine, who says so, until when.

    ``causes`` are those of the guilty nodes that were confirmed then, one for each. ``findings``
    are what was accepted, exactly: each as its cause and its place, ``attribute at conv_2``.
    ``when`` and ``until`` are dates as 2027-01-31. ``differing`` counts values that have no
    distance (words); ``shape`` is the candidate's, as 4×3, where nothing could be compared, and
    ``kind`` says whether values, shapes or nothing stood against the reference's output.
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
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One output against the baseline.

    ``state``: new (nobody accepted it), unchanged, worse (than what was accepted), expired, or
    fixed (accepted, and no longer divergent).
    """

    output: str
    state: str
    told: str
    accepted: Accepted | None = None

    @property
    def accepts(self) -> bool:
        """Whether this output is no reason to fail."""
        return self.state in {"unchanged", "fixed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The file of what was accepted, as far as it concerns one pair, and the standings."""

    file: str
    standings: tuple[Standing, ...]

    @property
    def accepts(self) -> bool:
        """Whether every divergence is one that was examined and accepted."""
        return all(standing.accepts for standing in self.standings)
