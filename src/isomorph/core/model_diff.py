"""Two models next to each other: what their files declare, and which nodes correspond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from isomorph.core.constraints import Count
from isomorph.core.model import Quantization, Source, TensorSpec
from isomorph.core.report import ModelSummary, Skipped

SCHEMA = "isomorph.diff/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecPair:
    """An input or output on both sides, with the fields that differ; None where it is missing."""

    kind: str
    reference: TensorSpec | None
    candidate: TensorSpec | None
    how: str
    """How the two were paired."""
    changed: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether more than its name differs."""
        one_sided = self.reference is None or self.candidate is None
        return one_sided or any(name != "name" for name in self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationPair:
    """A quantized tensor on both sides, with the parameters that the conversion changed."""

    reference: Quantization | None
    candidate: Quantization | None
    changed: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether a parameter differs, or one side does not quantize the tensor."""
        return bool(self.changed) or self.reference is None or self.candidate is None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsetPair:
    """The version of one operator set on both sides; None where a side does not import it."""

    domain: str
    reference: int | None
    candidate: int | None


class Relation(StrEnum):
    """What became of a node, or of a group of nodes."""

    MATCHED = "matched"
    """One node on each side, equal as far as the files state it; names may differ."""
    CHANGED = "changed"
    """One node on each side, with an attribute, a constant, a type or an input that differs."""
    REGROUPED = "regrouped"
    """Nodes that compute together what other nodes, or another operator, compute."""
    CONVERSION = "conversion"
    """Nodes of one side that hand on every number: layout, shape, type or quantizer."""
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    """One node on each side, at another place in the graph."""


class ChangeKind(StrEnum):
    """What differs between a node and its counterpart."""

    OPERATOR = "operator"
    ATTRIBUTE = "attribute"
    CONSTANT = "constant"
    TYPE = "type"
    """The declared type of an output."""
    SHAPE = "shape"
    """The declared shape of an output."""
    INPUT = "input"
    """The node that an input comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """One thing that differs, with both sides as text for people."""

    kind: ChangeKind
    name: str
    """The attribute, the constant, the output or the place of the input."""
    reference: str
    candidate: str
    detail: str = ""
    """How the values of a constant differ, where they were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffNode:
    """One node as a diff shows it; ``name`` of a node in a body is its path, ``loop/body/relu``."""

    name: str
    op: str
    native_op: str
    reads: tuple[str, ...] = ()
    """The nodes and inputs of the model that it reads, by name; without constants."""
    outputs: tuple[TensorSpec, ...] = ()
    constants: tuple[str, ...] = ()
    """The stored constants that it reads, by name."""
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    """Corresponding nodes of the two sides, or nodes that only one side has."""

    relation: Relation
    reference: tuple[DiffNode, ...] = ()
    candidate: tuple[DiffNode, ...] = ()
    changes: tuple[NodeChange, ...] = ()
    uncompared: tuple[str, ...] = ()
    """Constants of either side that were compared with nothing: they may or may not differ."""
    attributes_compared: bool = True
    """False for a group whose attributes and single numbers have no counterpart to compare with."""
    renamed: bool = False
    """Whether the names differ, which is no change."""

    @property
    def leaves_open(self) -> bool:
        """Whether the two sides were not compared in everything that they state."""
        return bool(self.uncompared) or not self.attributes_compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDiff:
    """What differs between two models, and which nodes correspond; neither was run."""

    reference: ModelSummary
    candidate: ModelSummary
    same: bool
    """Whether everything was compared, and nothing differs but names, versions and producers."""
    counts: Mapping[str, Count] = field(default_factory=dict)
    """Rows by relation."""
    inputs: tuple[SpecPair, ...] = ()
    outputs: tuple[SpecPair, ...] = ()
    opsets: tuple[OpsetPair, ...] = ()
    quantization: tuple[QuantizationPair, ...] = ()
    rows: tuple[DiffRow, ...] = ()
    """In the order in which the reference computes, what only the candidate has in its place."""
    skipped: tuple[Skipped, ...] = ()
    """Limits that were hit."""
    version: str = ""
    schema: str = SCHEMA

    @property
    def differs(self) -> bool:
        """Whether something is known to differ."""
        return (
            any(row.relation is not Relation.MATCHED for row in self.rows)
            or any(pair.differs for pair in (*self.inputs, *self.outputs))
            or any(pair.differs for pair in self.quantization)
        )

    @property
    def exit_code(self) -> int:
        """0 for the same structure; 1 where it differs, or not everything was compared."""
        return 0 if self.same else 1


def counted_rows(rows: tuple[DiffRow, ...]) -> dict[str, int]:
    """How many rows have each relation, in the order of the relations."""
    found = Counter(row.relation for row in rows)
    return {relation.value: found[relation] for relation in Relation if found[relation]}
