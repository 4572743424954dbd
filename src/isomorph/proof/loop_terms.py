"""Loops as one term: what one round computes from any state, and where the state begins.

Two loops are one term if their rounds are: the same functions of the same variables, with the
same first values, the same number of rounds and the same condition. That is a proof by induction
over the rounds, and it needs no number of them. A state that no round changes is its first
value; one that neither the result nor the condition depends on is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isomorph.core.proof_limits import PROOF_STEPS
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round gives: whether another follows, the next states, and a row of each output."""

    going: Term | None
    states: tuple[Term, ...]
    rows: tuple[Term, ...] = ()


Step = Callable[[Term, "Term | None", "tuple[Term, ...]", "tuple[Term, ...]"], Round]
"""One round, given its number, whether it goes on, the states and the rows of the sequences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop: ``most`` rounds, as long as ``going`` holds; None where there is no such bound.

    ``sequences`` are read row by row along their first axis.
    """

    step: Step
    states: tuple[Term, ...]
    most: Term | None = None
    going: Term | None = None
    sequences: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRound:
    """What belongs to the term of a loop: its variables, and what a round computes from them.

    The inputs of the term are the number of rounds if ``bounded``, the first condition if there is
    ``going``, the first values of ``variables``, the sequences of ``rows``, and what is captured.
    """

    number: Term
    goes_on: Term | None
    bounded: bool
    going: Term | None
    variables: tuple[Term, ...]
    results: tuple[Term, ...]
    rows: tuple[Term, ...]
    wanted: Term
    """A variable, of which the last value is wanted, or a result, of which every value is."""


def most_rounds(t: Terms) -> int:
    """How many rounds of a loop are written out; of one inside another, a sixteenth of them."""
    return PROOF_STEPS.most >> (4 * t.written_out)


def as_term(t: Terms, loop: Loop) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The last states, and the outputs row by row, each as one term of the whole loop."""
    if not all(each.finite and each.op != "list" for each in (*loop.states, *loop.sequences)):
        raise NoMeaningError("a loop whose state may be infinite")
    t.depth += 1
    try:
        made = _Made(t, loop)
    finally:
        t.depth -= 1
    states = tuple(made.state(place) for place in range(len(loop.states)))
    return states, tuple(made.row(row) for row in made.rows)


class _Made:
    """One round of a loop on variables."""

    def __init__(self, t: Terms, loop: Loop) -> None:
        self.t, self.loop = t, loop
        self.number = t.variable(("round",), (), "int64")
        self.going_in = None if loop.going is None else t.variable(("going",), (), "bool")
        self.row_variables = tuple(
            t.variable(("row", t.known(each).id), each.shape[1:], each.dtype)
            for each in loop.sequences
        )
        self.variables = _variables(t, loop.states)
        fixed: dict[int, Term] = {}
        while True:
            given = tuple(fixed.get(at, each) for at, each in enumerate(self.variables))
            found = loop.step(self.number, self.going_in, given, self.row_variables)
            self._require(found)
            new = {
                at: loop.states[at]
                for at, each in enumerate(found.states)
                if at not in fixed and t.known(each) is self.variables[at]
            }
            if not new:
                break
            fixed |= new
        self.fixed = fixed
        self.next = tuple(t.joined(each) for each in found.states)
        self.rows = tuple(t.joined(each) for each in found.rows)
        self.going = None if found.going is None else t.joined(found.going)
        if self.going is not None and loop.going is not None and _is_true(loop.going):
            # Where every round says so, nothing but the number of rounds ends the loop.
            always = self.going is self.going_in or _is_true(self.going)
            self.going = None if always else self.going

    def _require(self, found: Round) -> None:
        results = [*found.states, *found.rows]
        for each, start in zip(found.states, self.loop.states, strict=True):
            if each.shape != start.shape or each.dtype != start.dtype or each.op == "list":
                raise NoMeaningError("a state whose shape or type changes")
        if not all(each.finite for each in results):
            raise NoMeaningError("a loop whose state may be infinite")

    def state(self, place: int) -> Term:
        """The last value of one state."""
        if place in self.fixed:
            return self.t.known(self.loop.states[place])
        variable = self.variables[place]
        needed = self._needed([self.next[place]], [place])
        return self._term(variable, needed, [], variable.shape)

    def row(self, row: Term) -> Term:
        """One output of every round, along a new first axis."""
        most = self.loop.most
        if self.going is not None or most is None or most.op != "constant":
            raise NoMeaningError("a loop whose results have a size that values decide")
        shape = (max(int(most.value()), 0), *row.shape)
        return self._term(row, self._needed([row], []), [row], shape)

    def _needed(self, results: Sequence[Term], places: Sequence[int]) -> list[int]:
        """The states that these results, or whether the loop goes on, depend on."""
        found: list[int] = list(places)
        waiting = [*results] + ([] if self.going is None else [self.going])
        while waiting:
            inside = _inside(waiting.pop())
            for at, variable in enumerate(self.variables):
                if variable.id in inside and at not in self.fixed and at not in found:
                    found.append(at)
                    waiting.append(self.next[at])
        return sorted(found, key=lambda at: self.variables[at].id)

    def _term(
        self, wanted: Term, needed: Sequence[int], rows: Sequence[Term], shape: Sequence[int]
    ) -> Term:
        t, loop = self.t, self.loop
        results = tuple(self.next[at] for at in needed)
        ends = [*results, *rows] + ([] if self.going is None else [self.going])
        inside = {at for end in ends for at in _inside(end)}
        sequences = {
            variable: each
            for variable, each in zip(self.row_variables, loop.sequences, strict=True)
            if variable.id in inside
        }
        going = None if self.going is None else loop.going
        round_ = OneRound(
            number=self.number,
            goes_on=self.going_in,
            bounded=loop.most is not None,
            going=self.going,
            variables=tuple(self.variables[at] for at in needed),
            results=results,
            rows=tuple(sequences),
            wanted=wanted,
        )
        own = [self.number, self.going_in, *self.variables, *self.row_variables]
        captured = _captured(ends, {each.id for each in own if each is not None})
        bounds = [each for each in (loop.most, going) if each is not None]
        starts = [loop.states[at] for at in needed]
        inputs = [*bounds, *starts, *sequences.values(), *captured]
        # A round may apply any function to its variables, which are not known to be weights.
        t.require_one_mask([*inputs, *ends])
        attrs = (bool(rows), *_identity(round_))
        return t.make("loop", inputs, shape, wanted.dtype, attrs=attrs, finite=True, data=round_)


def _identity(of: OneRound) -> tuple[Any, ...]:
    """All that tells one loop from another, besides its inputs."""
    return (
        of.wanted.id,
        tuple((a.id, b.id) for a, b in zip(of.variables, of.results, strict=True)),
        tuple(each.id for each in of.rows),
        of.bounded,
        None if of.going is None else of.going.id,
    )


def _variables(t: Terms, states: Sequence[Term]) -> tuple[Term, ...]:
    """A variable for each state, named by its first value, so that states may be in any order."""
    used: dict[int, int] = {}
    found = []
    for each in states:
        start = t.known(each)
        again = used.get(start.id, 0)
        used[start.id] = again + 1
        found.append(t.variable(("state", start.id, again), each.shape, each.dtype))
    return tuple(found)


def _is_true(x: Term) -> bool:
    return x.op == "constant" and x.dtype == "bool" and bool(x.value().all())


def _inside(term: Term) -> Mapping[int, Term]:
    """Every term that this one consists of."""
    found: dict[int, Term] = {}
    stack = [term]
    while stack:
        at = stack.pop()
        if at.id not in found:
            found[at.id] = at
            stack += at.inputs
    return found


def _captured(ends: Sequence[Term], own: set[int]) -> list[Term]:
    """The largest terms inside that depend on none of the loop's own variables."""
    everything = {key: each for end in ends for key, each in _inside(end).items()}
    depends: dict[int, bool] = {}
    for key in sorted(everything):
        # The inputs of a term were made before it.
        depends[key] = key in own or any(depends[each.id] for each in everything[key].inputs)
    outside = {end.id: end for end in ends if not depends[end.id]}
    for each in everything.values():
        if depends[each.id]:
            outside |= {x.id: x for x in each.inputs if not depends[x.id]}
    return [outside[key] for key in sorted(outside) if outside[key].op != "constant"]
