"""What is known of a model before it is converted: remarks, and the facts behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from isomorph.core.model import Graph, Model, Node, Source
from isomorph.core.ranges import Ranges
from isomorph.core.report import ModelSummary, Skipped

SCHEMA = "isomorph.lint/1"


class Severity(StrEnum):
    """How bad it is: an error breaks the conversion or the result, a warning may."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What the installed converters and the target's runtime can do, read from them.

    ``lacking`` names, for each node of the model that some converter on the way does not take,
    those converters, and ``refused`` those that have a rule and were measured to fail on such a
    node where it stands alone. ``hopeless`` are the nodes that no way has a rule for. ``types`` are
    what the runtime computes with (None: not known), ``kernels`` the same for single operators.
    ``changed`` are input types that every way turns into another. ``approximated`` are nodes that
    converters write as a formula near them, each with the largest difference measured, and ``ways``
    is how many converters a way can begin with.
    """

    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hopeless: frozenset[str] = frozenset()
    types: frozenset[str] | None = None
    kernels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    opsets: tuple[int, int] | None = None
    changed: Mapping[str, str] = field(default_factory=dict)
    approximated: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ways: int = 0
    fixes_axes: tuple[str, ...] = ()
    """The converters on the way that fix every dynamic axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedModel:
    """A model, and what is to become of it; ``to`` is None where it stays what it is."""

    model: Model
    to: str | None = None
    width: str = ""
    abilities: Abilities = Abilities()
    ranges: Ranges | None = None
    """The ranges of its tensors in the width, where those of the inputs are stated."""

    @property
    def nodes(self) -> Iterator[Node]:
        """Every node, those inside branches and loops included."""
        yield from every_node(self.model.graph)

    @property
    def moving(self) -> frozenset[str]:
        """The inputs of the main graph, and everything that depends on one of them."""
        graph = self.model.graph
        found = {each.name for each in graph.inputs}
        for node in graph.nodes:
            if found & set(node.inputs) or not any(node.inputs) or node.bodies:
                found |= set(node.outputs)
        return frozenset(found)

    def dtype(self, tensor: str) -> str | None:
        """The declared type of a tensor or constant of the main graph."""
        graph = self.model.graph
        if tensor in graph.tensors:
            return graph.tensors[tensor].dtype
        return graph.constants[tensor].dtype if tensor in graph.constants else None


def every_node(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of its bodies."""
    for node in graph.nodes:
        yield node
        for body in node.bodies.values():
            yield from every_node(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing to know before converting: what, where, and what to do."""

    code: str
    check: str
    severity: Severity
    message: str
    advice: str
    node: str | None = None
    tensor: str | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """All remarks on one model, the gravest first."""

    model: ModelSummary
    to: str | None
    width: str
    remarks: tuple[Remark, ...]
    skipped: tuple[Skipped, ...] = ()
    version: str = ""
    schema: str = SCHEMA

    @property
    def exit_code(self) -> int:
        """1 where there is an error."""
        return int(any(remark.severity is Severity.ERROR for remark in self.remarks))
