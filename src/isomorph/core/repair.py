"""What a repair is: the patches that were kept, and the measurements that prove them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isomorph.core.divergence import Verdict
from isomorph.core.patch import Patch
from isomorph.core.presentation import short
from isomorph.core.report import Finding

SCHEMA = "isomorph.repair/1"
"""Of the document that a repair is written as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOutput:
    """How far one output is off; None where it could not be measured.

    ``times_over_budget`` is the largest error of the function itself in units of what rounding
    or the intended loss explains.
    """

    reference_output: str | None
    candidate_output: str | None
    verdict: Verdict
    max_abs: float | None = None
    relative_l2: float | None = None
    times_over_budget: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One check of the patched model: on which inputs, and the result."""

    origin: str
    verdict: Verdict
    reason: str
    outputs: tuple[MeasuredOutput, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """One patch that was kept, and the finding that it answers.

    Patches of one ``round`` were applied together; the names in a later one are those of the
    model that the earlier ones left.
    """

    patch: Patch
    finding: Finding
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was measured before the patches and after them, on given and on fresh inputs."""

    before: tuple[Measured, ...]
    after: tuple[Measured, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every measurement after the patches is good, and there is more than one."""
        good = {Verdict.EQUIVALENT, Verdict.DEGRADED}
        return len(self.after) > 1 and all(each.verdict in good for each in self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """What it costs to keep so many nodes in float, and what it gains.

    ``nodes`` are all that are kept; ``size`` is the file in bytes, ``relative_l2`` the error of the
    function itself at its worst output, on the first sample.
    """

    nodes: tuple[str, ...]
    size: int
    verdict: Verdict
    relative_l2: float | None
    max_abs: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOption:
    """The settings under which the runtime is right, where the file is right already.

    ``flags`` are for our own command line, ``code`` for the program that opens the model.
    """

    runtime: str
    name: str
    settings: Mapping[str, str]
    flags: str
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What ``isomorph fix`` did: the patches, their proof, and where the result lies.

    ``output`` is None where nothing was written. ``reason`` describes how it ended.
    ``session`` are the settings under which the runtime is right, where the file is;
    ``trades`` state node by node what keeping some in float has cost and gained;
    ``advice`` what to change by hand, where no patch can be written;
    ``notes`` what differs from the check of the report that was repaired.
    """

    verdict: Verdict
    reason: str
    repaired: bool
    applied: tuple[Applied, ...] = ()
    proof: Proof
    output: str | None = None
    session: SessionOption | None = None
    trades: tuple[Trade, ...] = ()
    advice: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0
    elapsed: float = 0.0

    def __repr__(self) -> str:
        """Whether it holds, how much was patched, and where the result lies."""
        word = "repaired" if self.repaired else "not repaired"
        patches = f"{len(self.applied)} patch{'' if len(self.applied) == 1 else 'es'}"
        place = f", written to {self.output}" if self.output else ""
        return short("Repair", f"{word}, {self.verdict}: {patches}{place}; {self.reason}")

    @property
    def exit_code(self) -> int:
        """0 when the result is verified or nothing had to be done, 3 unjudged, else 1."""
        if self.repaired:
            return 0
        return 3 if self.verdict is Verdict.UNKNOWN else 1
