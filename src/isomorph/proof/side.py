"""One side of a proof: its graph, and the term of each of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof import OpenReason, Reason
from isomorph.proof.bodies import Body
from isomorph.proof.calls import Call
from isomorph.proof.real import evaluated
from isomorph.proof.sizes import any_size
from isomorph.proof.static_expressions import as_expressions
from isomorph.proof.term import (
    FLOATS,
    NoMeaningError,
    Term,
    all_finite,
    is_partial,
    refuse_nan,
    unknown_terms,
)
from isomorph.proof.terms import Terms

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.proof.calls import Meaning, Meanings
    from isomorph.proof.implied_numbers import ImpliedNumbers
    from isomorph.proof.rounding_bound import Bounded

_TYPES = FLOATS | {
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
}  # fmt: skip
"""Element types that a proof understands."""


@dataclass(eq=False, slots=True, kw_only=True)
class Side:
    """A graph with what a proof found of it.

    ``values`` are the tensors that follow from constants and shapes alone; ``constant`` reads a
    stored constant. ``terms_of`` maps tensors to terms; a tensor without one has a reason in
    ``refused``.
    """

    graph: Graph
    meanings: Meanings
    terms: Terms
    constant: Callable[[str], Array | None]
    values: Mapping[str, Array]
    implied: ImpliedNumbers
    opset: Mapping[str, int]
    explained: Mapping[str, Term] = field(default_factory=dict)
    terms_of: dict[str, Term] = field(default_factory=dict)
    refused: dict[str, OpenReason] = field(default_factory=dict)
    bounds: dict[int, Bounded | None] = field(default_factory=dict)
    """Values of static terms with their rounding."""
    expressions: bool = False
    """Whether what rounds among constants is an expression, and not the oracle's value."""
    static_rounding: float = 0.0
    """How far what the oracle computes among constants is off its expressions, relatively."""
    symbolic: bool = False
    """Whether axes of the inputs have sizes that stand for every size."""
    _effects: dict[int, Mapping[str, str]] = field(default_factory=dict)
    _unsettled: set[str] = field(default_factory=set)
    """Tensors of ``values`` that may be others for other inputs of the same shapes."""

    def read(self, name: str) -> Term | None:
        """The term of a tensor; constants become terms when they are read."""
        if name in self.terms_of:
            return self.terms.known(self.terms_of[name])
        if name in self.explained:
            self.terms_of[name] = self.explained[name]
        elif name in self._unsettled:
            return None
        elif name in self.values or name in self.graph.constants:
            self.terms_of[name] = self._number(name)
        else:
            return None
        return self.terms_of[name]

    def value_of(self, name: str) -> Term | None:
        """The term of a tensor; what follows from constants alone as the oracle's value."""
        settled = name in self.values or name in self.graph.constants
        return self._number(name) if settled and name not in self._unsettled else self.read(name)

    def _number(self, name: str) -> Term:
        if name not in self.values:
            return self._stored(name)
        value = np.asarray(self.values[name])
        dtype = self._dtype(name, value)
        # What is computed in halves is rounded to them, as what they store is.
        return self.terms.constant(value.astype(dtype) if dtype == "float16" else value, dtype)

    def _dtype(self, name: str, value: Array) -> str:
        declared = self.graph.declared_dtype(name) or str(value.dtype)
        if declared not in _TYPES:
            raise NoMeaningError(f"values of type {declared}")
        return declared

    def _stored(self, name: str) -> Term:
        known = self.graph.constants[name]
        if known.dtype not in _TYPES:
            raise NoMeaningError(f"a constant of type {known.dtype}")
        value = self.constant(name)
        if value is None or tuple(value.shape) != known.shape:
            raise NoMeaningError(f"constant {name!r} cannot be read")
        if known.dtype == "bfloat16" or value.dtype.kind not in "fiub":
            return self.terms.constant(np.asarray(value, np.float32), known.dtype)
        finite = all_finite(value)
        if not finite:
            refuse_nan(np.asarray(value))
        if known.values is None:
            # Large ones are read again when they are needed.
            return self.terms.stored(
                known.digest, known.shape, known.dtype, lambda: self._again(name),
                finite=finite, first=np.array(value.flat[:1], known.dtype),
            )  # fmt: skip
        return self.terms.constant(value, known.dtype)

    def _again(self, name: str) -> Array:
        known, value = self.graph.constants[name], self.constant(name)
        if value is None:
            raise NoMeaningError(f"constant {name!r} cannot be read")
        return np.asarray(value, known.dtype)

    def spell(self, node: Node) -> tuple[Term, ...] | None:
        """The terms of a node's outputs; None where it has no meaning or its inputs have none."""
        try:
            found = self._spelled(node)
        except NoMeaningError as refused:
            self.refused[node.name] = OpenReason(
                reason=Reason.NO_MEANING, node=node.name, op=node.native_op, details=refused.why
            )
            return None
        except (ValueError, TypeError, IndexError, KeyError, OverflowError) as failure:
            # A meaning met what it does not expect: the node is left open, never guessed.
            self.refused[node.name] = OpenReason(
                reason=Reason.NO_MEANING,
                node=node.name,
                op=node.native_op,
                details=f"{type(failure).__name__}: {failure}",
            )
            return None
        return found

    def _meaning(self, node: Node, graph: Graph) -> Meaning:
        if id(graph) not in self._effects:
            self._effects[id(graph)] = self.meanings.effects(graph)
        effects = self._effects[id(graph)]
        if node.name in effects:
            raise NoMeaningError(effects[node.name])
        if node.bodies and node.native_op not in self.meanings.controlled:
            raise NoMeaningError("control flow")
        meaning = self.meanings.spelled.get(node.native_op)
        if meaning is None and (graph is not self.graph or self.symbolic):
            meaning = self.meanings.in_bodies.get(node.native_op)
        if meaning is None or node.native_op in self.graph.functions:
            raise NoMeaningError("it is not in the table of meanings")
        return meaning

    def _spelled(self, node: Node) -> tuple[Term, ...] | None:
        if all(
            name in self.values or name in self.graph.constants for name in node.outputs if name
        ):
            if self.symbolic and self._depends_on_sizes(node):
                return self._of_sizes(node)
            self._settle(node)
            made = as_expressions(self, node)
            if made is not None:
                return made
            found = [self.read(name) for name in node.outputs if name]
            return tuple(each for each in found if each is not None)
        self._meaning(node, self.graph)
        inputs: list[Term | None] = []
        for name in node.inputs:
            term = self.read(name) if name else None
            if name and term is None:
                return None
            inputs.append(term)
        try:
            return self.apply(node, inputs)
        except NoMeaningError:
            if not any(each is not None and _is_expression(each) for each in inputs):
                raise
        # It may read the numbers of what is an expression here.
        return self.apply(node, [self.value_of(name) if name else None for name in node.inputs])

    def _depends_on_sizes(self, node: Node) -> bool:
        """Whether what a node computes among constants and shapes may differ for other sizes."""
        if any(name in self._unsettled for name in node.inputs):
            return True
        if node.native_op not in self.meanings.shape_only:
            return False
        read = [self.read(name) for name in node.inputs if name]
        return any(each is not None and any_size(each.shape) for each in read)

    def _of_sizes(self, node: Node) -> tuple[Term, ...] | None:
        """The terms of what follows from sizes: never the values that one size has."""
        self._unsettled.update(name for name in node.outputs if name in self.values)
        inputs = [self.read(name) if name else None for name in node.inputs]
        if any(name and term is None for name, term in zip(node.inputs, inputs, strict=True)):
            return None
        made = self.apply(node, inputs)
        for name, term in zip(node.outputs, made, strict=False):
            if name and term.op == "constant":
                if not np.array_equal(term.value(), np.asarray(self.values[name])):
                    raise NoMeaningError("it computes another value for the size tried")
                # No size decides it.
                self._unsettled.discard(name)
        return made

    def apply(self, node: Node, inputs: Sequence[Term | None]) -> tuple[Term, ...]:
        """The terms of a node's outputs, given those of its inputs."""
        made = self._called(node, tuple(inputs), self.graph, self.read)
        for name, term in zip(node.outputs, made, strict=False):
            if name:
                self.terms_of[name] = term
        return made

    def _called(
        self,
        node: Node,
        inputs: tuple[Term | None, ...],
        graph: Graph,
        read: Callable[[str], Term | None],
    ) -> tuple[Term, ...]:
        """The terms of a node of the graph or of a body in it, checked; ``read`` is its scope."""
        meaning = self._meaning(node, graph)
        first = len(self.terms.all)
        call = Call(
            node=node,
            inputs=inputs,
            terms=self.terms,
            implied=self.implied,
            opset=self.opset,
            bodies={
                key: Body(
                    graph=body,
                    terms=self.terms,
                    called=self._called,
                    outer=read if self.meanings.capture else lambda _: None,
                )
                for key, body in node.bodies.items()
            },
        )
        made = tuple(meaning(call))
        unread = node.attributes.keys() - call.asked - self.meanings.ignored
        if unread:
            raise NoMeaningError(f"attribute {min(unread)} is not understood")
        _check(node, made, graph)
        # A refused node may have made some of these terms before: each is examined until it passes.
        defined = self.terms.defined
        for term in (*self.terms.all[first:], *made):
            for each in unknown_terms(term, defined):
                if each.static and is_partial(each):
                    _require_defined(each)
                defined.add(each.id)
        return made

    def _settle(self, node: Node) -> None:
        """Refuse a value that follows from a shape which values may decide.

        The shape of a tensor that has a term is that of every input of these shapes.
        """
        for name in node.inputs:
            if name and name not in self.graph.constants and self.read(name) is None:
                self._unsettled.update(each for each in node.outputs if each in self.values)
                raise NoMeaningError("a shape that may depend on values")


def _check(node: Node, made: tuple[Term, ...], graph: Graph) -> None:
    """Refuse a spelling that contradicts what the file declares."""
    if len(made) < len([name for name in node.outputs if name]):
        raise NoMeaningError("an output has no meaning")
    for name, term in zip(node.outputs, made, strict=False):
        spec = graph.tensors.get(name)
        if spec is None:
            continue
        if term.op == "list" and (spec.kind == "sequence" or spec.dtype == term.dtype):
            continue
        if spec.kind != "tensor":
            raise NoMeaningError(f"a {spec.kind}")
        if spec.dtype is not None and spec.dtype != term.dtype:
            raise NoMeaningError(f"the type {spec.dtype} is declared for {term.dtype}")
        declared = spec.shape
        if declared is not None and (
            len(declared) != term.rank
            or any(
                isinstance(size, int) and size != known
                for size, known in zip(declared, term.shape, strict=True)
            )
        ):
            raise NoMeaningError(f"the shape {list(declared)} is declared for {term.shape}")


def _is_expression(term: Term) -> bool:
    return term.static and term.op != "constant"


def _require_defined(term: Term) -> None:
    if term.op == "loop":
        raise NoMeaningError("a long loop of constants")
    with np.errstate(all="ignore"):
        if not np.isfinite(evaluated(term, {})).all():
            raise NoMeaningError("a constant outside the domain of a function")


def static_names(graph: Graph, meanings: Meanings) -> tuple[tuple[str, ...], bool]:
    """The tensors that follow from constants and shapes alone; whether shapes are among them."""
    known = set(graph.constants)
    effects = meanings.effects(graph)
    found: list[str] = []
    shapes = False
    for node in graph.nodes:
        listed = node.native_op in meanings.spelled or node.native_op in meanings.folded
        listed = listed and node.native_op not in meanings.never_folded
        if not listed or node.bodies or node.name in effects:
            continue
        reads_shape = node.native_op in meanings.shape_only
        if reads_shape or all(name in known for name in node.inputs if name):
            shapes = shapes or (reads_shape and not all(n in known for n in node.inputs if n))
            outputs = [name for name in node.outputs if name]
            known |= set(outputs)
            found += [name for name in outputs if name not in graph.constants]
    return tuple(found), shapes
