"""A repair as data: a closed set of edits, and the measurement that proves them.

A patch can be shown, sent to a worker, applied to a copy by the framework that owns the model,
and refused when the measurement afterwards is not better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isomorph.core.divergence import Verdict
from isomorph.core.report import Finding

SCHEMA = "isomorph.repair/1"
"""Of the document that a repair is written as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAttribute:
    """Give an attribute of a node another value; None removes it, so its default holds."""

    node: str
    name: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SetConstant:
    """Give a stored constant other values; it keeps its type."""

    tensor: str
    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstant:
    """Store a new constant."""

    name: str
    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuantization:
    """Give a tensor another grid, where the framework keeps it beside the tensor.

    One scale and zero point for the whole tensor, or one for each slice of ``axis``.
    """

    tensor: str
    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepFloat:
    """Let one node of a quantized model compute on real numbers.

    What it reads comes to it unquantized or dequantized; what it makes is quantized behind it as
    before. Constants of its own stay the dequantized ones unless other edits replace them.
    """

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetInput:
    """Let one input of a node read another tensor."""

    node: str
    index: int
    tensor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOp:
    """Let a node compute another operator of its framework on the same inputs."""

    node: str
    op: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode:
    """Take a node out: its readers get its first input instead of its first output."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertBehind:
    """Let a new node of this operator take a tensor's place for everyone who reads it.

    ``inputs`` are the new node's; the empty word among them stands for the tensor itself.
    """

    tensor: str
    op: str
    name: str
    inputs: tuple[str, ...] = ("",)
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertAhead:
    """Let one input of one node pass through a new node first.

    ``inputs`` are the new node's; the empty word among them stands for what was read before.
    """

    node: str
    index: int
    op: str
    name: str
    inputs: tuple[str, ...] = ("",)
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNode:
    """Let a new node make these tensors of those.

    A tensor that another node has made so far is made by the new one for everyone who reads it;
    nodes whose outputs are then unused are removed.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOutputs:
    """Put the outputs of the model in this order; ``called``: and under these names."""

    names: tuple[str, ...]
    called: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapBodies:
    """Exchange the two branches of a deciding node."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditBody:
    """Edits inside a body that a branch or loop holds, under the names of that body."""

    node: str
    body: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeAxis:
    """Let an axis of an input or an output have any size, under this name."""

    tensor: str
    axis: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareShape:
    """State the shape that an output has, where the file still declares that of a fault."""

    tensor: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseOpset:
    """Write the model for a newer operator set, which has words that its own lacks."""

    version: int


Edit = (
    SetAttribute
    | SetConstant
    | AddConstant
    | SetQuantization
    | KeepFloat
    | SetInput
    | SetOp
    | RemoveNode
    | InsertBehind
    | InsertAhead
    | AddNode
    | SetOutputs
    | SwapBodies
    | EditBody
    | FreeAxis
    | DeclareShape
    | RaiseOpset
)

EDITS: Mapping[str, type[Edit]] = {
    kind.__name__: kind
    for kind in (
        SetAttribute, SetConstant, AddConstant, SetQuantization, KeepFloat, SetInput, SetOp,
        RemoveNode, InsertBehind, InsertAhead, AddNode, SetOutputs, SwapBodies, EditBody,
        FreeAxis, DeclareShape, RaiseOpset,
    )
}  # fmt: skip
"""Every edit by the word under which it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Edits that together remove one cause."""

    summary: str
    edits: tuple[Edit, ...]

    @property
    def cost(self) -> int:
        """How many edits it takes: of two that restore the outputs, the cheaper one wins."""
        return len(self.edits)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that it changes."""
        return _named(getattr(edit, "node", None) for edit in self.edits)

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors and constants that it changes."""
        changed = (e for e in self.edits if not isinstance(e, SetInput))
        made = [name for e in self.edits if isinstance(e, AddNode) for name in e.outputs]
        return _named([*(getattr(edit, "tensor", None) for edit in changed), *made])

    @property
    def reads(self) -> tuple[str, ...]:
        """The tensors that nodes read because of it."""
        direct = [edit.tensor for edit in self.edits if isinstance(edit, SetInput)]
        new = [
            edit for edit in self.edits if isinstance(edit, (InsertAhead, InsertBehind, AddNode))
        ]
        return _named([*direct, *(name for edit in new for name in edit.inputs)])


def _named(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


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

    @property
    def exit_code(self) -> int:
        """0 when the result is verified or nothing had to be done, 3 unjudged, else 1."""
        if self.repaired:
            return 0
        return 3 if self.verdict is Verdict.UNKNOWN else 1
