"""What a meaning is given: one node, the terms of its inputs, and how to make terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.proof.sizes import whole
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.proof.bodies import Body
    from isomorph.proof.implied_numbers import ImpliedNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One node of one side. ``inputs`` are None where an optional input is absent."""

    node: Node
    inputs: tuple[Term | None, ...]
    terms: Terms
    implied: ImpliedNumbers
    opset: Mapping[str, int] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    """The attributes that the meaning has read."""

    @property
    def count(self) -> int:
        """The number of inputs, absent ones in the middle included."""
        return len(self.inputs)

    def x(self, place: int = 0) -> Term:
        """An input that the node must have."""
        found = self.optional(place)
        if found is None:
            raise NoMeaningError(f"input {place} is absent")
        return found

    def optional(self, place: int) -> Term | None:
        """An input that may be absent."""
        return self.inputs[place] if place < len(self.inputs) else None

    def all(self) -> list[Term]:
        """Every input; none may be absent."""
        return [self.x(place) for place in range(len(self.inputs))]

    def only(self, *counts: int) -> None:
        """Refuse another number of inputs: one that is not understood would be left out."""
        if len(self.inputs) not in counts:
            raise NoMeaningError(f"{len(self.inputs)} inputs")

    def value(self, place: int) -> Array:
        """The elements of an input that must be a constant."""
        return self.x(place).value()

    def ints(self, place: int) -> tuple[int, ...]:
        """The whole numbers of an input that must be a constant."""
        return tuple(whole(each) for each in np.asarray(self.value(place)).reshape(-1))

    def attr(self, name: str, default: Any = None) -> Any:  # noqa: ANN401
        """An attribute of the node."""
        self.asked.add(name)
        return self.node.attributes.get(name, default)

    def needs(self, name: str) -> Any:  # noqa: ANN401
        """An attribute that the node must state as a value."""
        self.asked.add(name)
        if name not in self.node.attributes:
            raise NoMeaningError(f"attribute {name} is not stated")
        return self.node.attributes[name]

    def derived(self, *names: str) -> None:
        """Note attributes that repeat an input or another attribute, which the meaning reads."""
        self.asked.update(names)

    def body(self, name: str) -> Body:
        """A body that the node must have."""
        self.asked.add(name)
        if name not in self.bodies:
            raise NoMeaningError(f"body {name} is absent")
        return self.bodies[name]

    def refuse(self, name: str, *allowed: Any) -> None:  # noqa: ANN401
        """Refuse an attribute whose value is none of these."""
        self.asked.add(name)
        if self.node.attributes.get(name, allowed[0]) not in allowed:
            raise NoMeaningError(f"{name}={self.node.attributes[name]!r}")


Meaning = Callable[[Call], Sequence[Term]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanings:
    """The operators of a framework that have a meaning, by their native names.

    ``spelled`` spells an operator. ``never_folded`` are those of them whose value among constants
    may be another in the next run, so that only the meaning decides. ``folded`` are further
    operators whose value among constants and shapes is that of the oracle; ``shape_only`` are
    those of them that read only the shape of their inputs. ``ignored`` are attributes that no
    result depends on; a node with any other attribute that its meaning does not read is refused.
    ``implied`` are operators and their attributes that state a number which the operator may imply.
    ``controlled`` are those of the spelled operators that have bodies, and ``in_bodies`` spells
    operators that are folded elsewhere: inside a body no value is known beforehand. A body reads
    the tensors around it by their names only if the framework's bodies ``capture``. ``effects``
    gives the nodes that do more than compute their outputs, or whose inputs may have been
    overwritten, each with the reason.
    """

    spelled: Mapping[str, Meaning]
    folded: frozenset[str] = frozenset()
    never_folded: frozenset[str] = frozenset()
    shape_only: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    implied: frozenset[tuple[str, str]] = frozenset()
    controlled: frozenset[str] = frozenset()
    capture: bool = False
    in_bodies: Mapping[str, Meaning] = field(default_factory=dict)
    effects: Callable[[Graph], Mapping[str, str]] = lambda _: {}
