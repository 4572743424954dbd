"""Bodies of branches and loops: graphs that are spelled on terms of their inputs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.digest import has_digest
from isomorph.proof.real import exact
from isomorph.proof.term import FLOATS, NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node
    from isomorph.core.trace import Array
    from isomorph.proof.terms import Terms

Called = Callable[["Node", "tuple[Term | None, ...]", "Graph", "Read"], "tuple[Term, ...]"]
"""Spells one node of a graph on the terms of its inputs."""

Read = Callable[[str], "Term | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One body of a node; ``outer`` reads the tensors around it."""

    graph: Graph
    terms: Terms
    called: Called
    outer: Read
    known: dict[str, Term] = field(default_factory=dict)
    """The constants that were read."""

    def run(self, *given: Term) -> tuple[Term, ...]:
        """The terms of its outputs, given those of its inputs; every node must have a meaning."""
        graph = self.graph
        if len(given) != len(graph.inputs):
            raise NoMeaningError("a body with another number of inputs")
        names: dict[str, Term] = {}
        for spec, term in zip(graph.inputs, given, strict=True):
            _require_declared(graph, spec.name, term)
            names[spec.name] = term

        def read(name: str) -> Term | None:
            if name in names:
                return self.terms.known(names[name])
            if name in graph.constants:
                return self._constant(name)
            return self.outer(name)

        for node in graph.nodes:
            if all(name in graph.constants for name in node.outputs if name):
                continue
            inputs = tuple(_found(read, name) if name else None for name in node.inputs)
            for name, term in zip(
                node.outputs, self.called(node, inputs, graph, read), strict=False
            ):
                if name:
                    names[name] = folded(self.terms, term)
        return tuple(_found(read, spec.name) for spec in graph.outputs)

    def _constant(self, name: str) -> Term:
        if name not in self.known:
            self.known[name] = self.terms.constant(*body_constant(self.graph.constants[name]))
        return self.known[name]


def _found(read: Read, name: str) -> Term:
    term = read(name)
    if term is None:
        raise NoMeaningError(f"tensor {name!r} has no meaning")
    return term


def _require_declared(graph: Graph, name: str, term: Term) -> None:
    spec = graph.tensors.get(name)
    if spec is None or term.op == "list":
        return
    fits = spec.dtype in (None, term.dtype) and spec.kind == "tensor"
    if fits and spec.shape is not None:
        fits = len(spec.shape) == term.rank and all(
            not isinstance(size, int) or size == known
            for size, known in zip(spec.shape, term.shape, strict=True)
        )
    if not fits:
        raise NoMeaningError(f"{term.dtype} {list(term.shape)} for the input {name!r} of a body")


def body_constant(constant: Constant) -> tuple[Array, str]:
    """The numbers of a constant inside a body, which its description holds, and their type."""
    if constant.values is None or constant.dtype in ("string", "bfloat16"):
        raise NoMeaningError(f"constant {constant.name!r} of a body cannot be read")
    try:
        value = np.array(constant.values, constant.dtype).reshape(constant.shape)
    except (TypeError, ValueError):
        raise NoMeaningError(f"a constant of type {constant.dtype}") from None
    if not has_digest(value, constant.digest):
        raise NoMeaningError(f"constant {constant.name!r} of a body cannot be read")
    return value, constant.dtype


def folded(t: Terms, term: Term) -> Term:
    """A count or decision that follows from constants exactly, as a constant."""
    if term.op != "function" or not all(each.op == "constant" for each in term.inputs):
        return term
    value = exact(term)
    return term if value is None else t.constant(value, term.dtype)


def inner_graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and every body inside it."""
    waiting = [graph]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [body for node in each.nodes for body in node.bodies.values()]


def inner_constants(graph: Graph) -> Mapping[str, Constant]:
    """The constants of all bodies in a graph, without those of the graph itself."""
    return {
        f"{place}/{name}": constant
        for place, body in enumerate(inner_graphs(graph))
        if place
        for name, constant in body.constants.items()
    }


def inner_numbers(graph: Graph) -> Iterator[Array]:
    """The floats that bodies in a graph store."""
    for each in inner_constants(graph).values():
        if each.dtype in FLOATS:
            with contextlib.suppress(NoMeaningError):
                yield body_constant(each)[0]


def reads(node: Node) -> tuple[str, ...]:
    """The tensors that a node or one of its bodies reads."""
    inner = [each for body in node.bodies.values() for each in inner_graphs(body)]
    captured = [name for graph in inner for each in graph.nodes for name in each.inputs]
    ends = [spec.name for graph in inner for spec in graph.outputs]
    return (*node.inputs, *captured, *ends)
