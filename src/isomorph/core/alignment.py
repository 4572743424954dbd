"""Which tensors of two graphs should be equal, how one becomes the other, and how that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from isomorph.core.constraints import Count, NonEmptyNames

TensorKind = Literal["input", "tensor", "constant", "body"]
"""``body``: inside If, Loop, Scan or While."""
PairEvidence = Literal["value", "substitution", "structure", "provenance"]


class Confidence(StrEnum):
    """How well founded a pair is.

    ``certain``: equal values that nothing else in the reference has, or that structure
    distinguishes from the others. ``likely``: equal values that several have. ``possible``: by
    structure or name alone.
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A tensor of the candidate and what it is made of in the reference.

    ``kind``: ``input``, ``tensor``, ``constant`` or ``body`` (inside If, Loop, Scan, While).
    ``reference`` has several names where constants were folded into one. ``permutation`` and
    then ``shape`` bring the reference's axes into the candidate's order; both are empty where
    nothing moves. ``transform`` describes the same for people, and what happened to the numbers.

    ``evidence``: ``value`` (equal but for noise), ``substitution`` (put in its place, it
    restores what lies behind), ``structure`` (computed in the same way from aligned tensors),
    ``provenance`` (the same name or module). ``inputs`` counts the inputs on which
    the values agreed; ``rivals`` the other tensors of the reference with the same values.
    """

    kind: TensorKind
    reference: NonEmptyNames
    candidate: str
    transform: str = "as it is"
    """How the reference's becomes the candidate's, for people."""
    permutation: tuple[Count, ...] = ()
    """Of the reference's axes; empty where none moves."""
    shape: tuple[Count, ...] = ()
    """After the permutation; empty where it stays."""
    evidence: tuple[PairEvidence, ...] = ()
    inputs: Count = 0
    """The inputs on which the values agreed."""
    rivals: Count = 0
    """Other tensors of the reference with the same values."""
    confidence: Confidence = Confidence.POSSIBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes that do together, on one side, what these do on the other."""

    reference: tuple[str, ...]
    candidate: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unaligned:
    """A tensor or constant without a counterpart, and why it has none."""

    name: str
    kind: TensorKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The pairing of the tensors of two graphs."""

    inputs: Count
    """How many inputs it was looked at on."""
    pairs: tuple[Pair, ...] = ()
    groups: tuple[Group, ...] = ()
    unaligned_reference: tuple[Unaligned, ...] = ()
    unaligned_candidate: tuple[Unaligned, ...] = ()

    @property
    def tensors(self) -> tuple[int, int]:
        """How many tensors of the candidate have a counterpart, and how many it has."""
        return _share(self.pairs, self.unaligned_candidate, ("input", "tensor", "body"))

    @property
    def constants(self) -> tuple[int, int]:
        """The same for its constants."""
        return _share(self.pairs, self.unaligned_candidate, ("constant",))

    @property
    def summary(self) -> str:
        """One line for people."""
        (tensors, of_tensors), (constants, of_constants) = self.tensors, self.constants
        text = f"aligned {tensors} of {of_tensors} tensors"
        if of_constants:
            text += f" and {constants} of {of_constants} constants"
        missing = of_tensors - tensors + of_constants - constants
        text += f", {missing} without a counterpart" if missing else ""
        fused = sum(1 for each in self.groups if each.reference and each.candidate)
        word = "group" if fused == 1 else "groups"
        return text + (f"; {fused} {word} of fused or split nodes" if fused else "")


def _share(
    pairs: Sequence[Pair], unaligned: Sequence[Unaligned], kinds: tuple[str, ...]
) -> tuple[int, int]:
    found = {each.candidate for each in pairs if each.kind in kinds}
    return len(found), len(found) + sum(1 for each in unaligned if each.kind in kinds)
