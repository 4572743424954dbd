"""What was proven of two models, for every input of the shapes that were tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from isomorph.core.constraints import Count
from isomorph.core.presentation import short

SCHEMA = "isomorph.proof/1"


class Standing(StrEnum):
    """How far an output or a node was brought."""

    PROVEN = "proven"
    """Equal for every input of these shapes, in real arithmetic."""
    TESTED = "tested"
    """Not proven; the two agreed on every sample of a check."""
    OPEN = "open"
    """Not proven; that says nothing about whether it is equal."""


class Reason(StrEnum):
    """Why something is open."""

    NO_MEANING = "no meaning"
    """An operator, or this use of it, has no meaning here."""
    UNEXPLAINED_CONSTANT = "unexplained constant"
    """A constant of the candidate is none of the reference's, nor computed from them."""
    DIFFERENT_IDENTITY = "different identity"
    """The two are different expressions, or equal by an identity that is not known here."""
    DOMAIN = "domain"
    """One side divides by a value, or takes a root or logarithm, that the other does not."""
    INTERFACE = "interface"
    """The inputs or outputs differ in type or shape."""
    MEASURED = "measured"
    """In float64, the two differ on a sample by more than the re-rounded constants explain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReason:
    """Why an output is not proven, and the node at which the proof ended."""

    reason: Reason
    node: str = ""
    op: str = ""
    details: str = ""
    side: str = ""
    """``reference`` or ``candidate``, where it is stated whose node it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputProof:
    """One pair of outputs."""

    reference: str
    candidate: str
    standing: Standing
    open: OpenReason | None = None
    """Why it is not proven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProof:
    """One node of a side; ``equal_to`` is a tensor of the other side, where there is one."""

    side: str
    node: str
    op: str
    standing: Standing
    equal_to: str = ""
    """A tensor of the other side that is proven equal; empty where there is none."""
    open: OpenReason | None = None
    """Why it is not proven, where that is known of this node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerounded:
    """A constant of the candidate that stands for an expression of the reference's constants."""

    constant: str
    expression: str
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisPlace:
    """One axis of one input of the reference."""

    input: str
    axis: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisProof:
    """A dynamic axis of the inputs, and whether what is proven holds for every size of it."""

    name: str
    """As the reference names it, or the input with the number of the axis."""
    places: tuple[AxisPlace, ...]
    """The axes that have this size."""
    size: Count
    """The size that was tried."""
    every_size: bool = False
    """Whether every output that is proven is so for every size from ``least`` on."""
    least: Count = 1
    """The least size that ``every_size`` is about."""
    alone: bool = False
    """Whether ``every_size`` holds with the other dynamic axes as they were tried."""
    open: OpenReason | None = None
    """Why only the size that was tried is proven, and the node that ended the proof for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What a proof rests on.

    ``largest_rounding`` is the largest relative difference between a constant of the candidate
    and the expression of the reference's constants that it stands for.
    """

    shapes: Mapping[str, tuple[Count, ...]]
    largest_rounding: float
    """How far a constant of the candidate is off the expression that it stands for, relatively."""
    rerounded: tuple[Rerounded, ...] = ()
    arithmetic: str = "real"
    vanishing: bool = False
    """Whether weights of a softmax that are smaller than every number of every IEEE 754 type, for
    every input, count as zero: so does a mask of -3e38 hide what minus infinity hides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What is proven of a pair; ``chance`` bounds the probability that a wrong equality passed."""

    reference: str
    candidate: str
    outputs: tuple[OutputProof, ...]
    nodes: tuple[NodeProof, ...]
    chance: float
    """Bounds the probability that a wrong equality passed."""
    seed: Count
    """Of primes, elements and hashes; ``isomorph prove --seed`` repeats the proof."""
    assumptions: Assumptions
    axes: tuple[AxisProof, ...] = ()
    """The dynamic axes of the reference's inputs."""
    contradicted: tuple[str, ...] = ()
    """Outputs of the reference that are proven and whose graphs a check measured to differ on
    inputs of these shapes: a defect of isomorph."""
    seconds: float = 0.0
    version: str = ""
    schema: str = SCHEMA

    def __repr__(self) -> str:
        """How many outputs and nodes are proven."""
        outputs = sum(each.standing is Standing.PROVEN for each in self.outputs)
        proven, nodes = self.proven_nodes
        found = f"{outputs} of {len(self.outputs)} outputs and {proven} of {nodes} nodes proven"
        pair = f"{self.reference} → {self.candidate}"
        return short("Proof", f"{pair}: {found} ({self.shape_words})")

    @property
    def whole(self) -> bool:
        """Whether every output of the reference is proven."""
        return bool(self.outputs) and all(each.standing is Standing.PROVEN for each in self.outputs)

    @property
    def share(self) -> float:
        """The share of the reference's nodes that is proven."""
        proven, all_of = self.proven_nodes
        return proven / all_of if all_of else 1.0

    @property
    def proven_nodes(self) -> tuple[int, int]:
        """How many nodes of the reference are proven, and how many there are."""
        own = [each for each in self.nodes if each.side == "reference"]
        return sum(each.standing is Standing.PROVEN for each in own), len(own)

    @property
    def shape_words(self) -> str:
        """The shapes that the proof is about, for people: ``x [1, 3]``, ``x [batch, 3]``."""
        named = {
            (place.input, place.axis): axis.name
            for axis in self.axes
            if axis.every_size and not axis.alone
            for place in axis.places
        }
        shapes = []
        for name, shape in self.assumptions.shapes.items():
            sizes = (str(named.get((name, axis), size)) for axis, size in enumerate(shape))
            shapes.append(f"{name} [{', '.join(sizes)}]")
        return ", ".join(shapes) or "no inputs"

    def covers(self, shapes: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether the proof is about inputs of these shapes."""
        own = self.assumptions.shapes
        if shapes.keys() != own.keys() or any(len(shapes[n]) != len(own[n]) for n in own):
            return False
        differing = {
            (name, axis)
            for name, shape in own.items()
            for axis, size in enumerate(shape)
            if shapes[name][axis] != size
        }
        moved: list[AxisProof] = []
        for each in self.axes:
            places = {(place.input, place.axis) for place in each.places}
            sizes = {shapes[name][axis] for name, axis in places if name in shapes}
            if not places & differing or not each.every_size:
                continue
            if len(sizes) == 1 and min(sizes) >= each.least:
                differing -= places
                moved.append(each)
        return not differing and (len(moved) < 2 or not any(each.alone for each in moved))

    @property
    def exit_code(self) -> int:
        """0 where every output is proven, 3 otherwise: not proven is unknown."""
        return 0 if self.whole else 3
