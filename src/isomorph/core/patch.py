"""A patch as data: a closed set of edits.

A patch can be shown, sent to a worker, and applied to a copy by the framework that owns the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


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
