"""Joins two graphs: equal terms first, then terms with equal residues.

The reference is spelled first. The candidate is spelled node by node; a tensor that is shown
equal to one of the reference takes its term, so what follows is compared by structure again.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof_limits import (
    PROOF_CANDIDATES,
    PROOF_DISTANCE,
    PROOF_PRODUCTS,
    PROOF_ROUNDS,
)
from isomorph.proof.field import FieldArithmetic, Residues
from isomorph.proof.pointwise import Places, as_tried, leaf, places
from isomorph.proof.sizes import same, tried
from isomorph.proof.term import HEAVY, NoMeaningError, Term, is_partial
from isomorph.proof.terms import Terms

if TYPE_CHECKING:
    from isomorph.proof.side import Side


@dataclass(eq=False, slots=True, kw_only=True)
class Prover:
    """The state of one proof. ``cuts``: a heavy tensor of both sides is any value."""

    terms: Terms
    reference: Side
    candidate: Side
    arithmetic: FieldArithmetic
    cuts: bool = True
    residues: dict[int, Residues] = field(default_factory=dict)
    chance: float = 0.0
    elements: int = 0
    tensors: dict[int, str] = field(default_factory=dict)
    """The first tensor of the reference with each term, by id."""
    _places: dict[int, int] = field(default_factory=dict)
    _by_shape: dict[tuple[object, ...], list[Term]] = field(
        default_factory=lambda: defaultdict(list)
    )
    domains: set[str] = field(default_factory=set)
    """Nodes of the candidate that equal one of the reference, but on another domain."""
    places: dict[int, Places] = field(default_factory=dict)
    """Where terms have the rows of dynamic axes of any size, by id."""
    _derived: dict[int, Places | None] = field(default_factory=dict)
    _size: int = 0
    _candidates_terms: set[int] = field(default_factory=set)
    _hints: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Spell the candidate, and find its tensors among those of the reference."""
        for spec in self.candidate.graph.inputs:
            term = self.candidate.terms_of.get(spec.name)
            if term is not None:
                self._candidates_terms.add(term.id)
        earlier = list(self.terms.results)
        self.terms.join = lambda term: self._joined(term, earlier)
        for node in self.candidate.graph.nodes:
            made = self.candidate.spell(node)
            for name, term in zip(node.outputs, made or (), strict=False):
                if not name or term.static:
                    continue
                self._mark(term)
                if term.id < self._size:
                    continue
                equal = self._search(term, node.name)
                if equal is not None:
                    self.terms.equal[term.id] = equal
                    self._mark(equal)

    def _joined(self, term: Term, earlier: list[Term]) -> Term:
        """A result of a round of the reference that is equal for all values of its variables."""
        self._mark(term)
        if term.id < self._size or term.static:
            return term
        alike = [x for x in earlier if same(x.shape, term.shape) and x.dtype == term.dtype]
        for other in dict.fromkeys(alike[: PROOF_ROUNDS.most]):
            own, found = self._print(term), self._print(other)
            if own is None or found is None:
                continue
            self._count(term, other)
            if own == found and self._same_domain(term, other):
                self.terms.equal[term.id] = other
                return other
        return term

    def spell_reference(self) -> None:
        """Spell the reference; its static expressions then explain constants."""
        place = 0
        for spec in self.reference.graph.inputs:
            term = self.reference.terms_of.get(spec.name)
            if term is not None:
                self.tensors.setdefault(term.id, spec.name)
        for node in self.reference.graph.nodes:
            made = self.reference.spell(node)
            place += 1
            for name, term in zip(node.outputs, made or (), strict=False):
                if not name or term.static or term.id in self.tensors:
                    continue
                self.tensors[term.id] = name
                self._list(term, place)
                if term.op == "transpose":
                    # The candidate may have its axes in the other order throughout.
                    self._list(term.inputs[0], place)
        self._size = len(self.terms.all)

    def _list(self, term: Term, place: int) -> None:
        """Note that terms of the candidate may equal this one of the reference."""
        if term.id not in self._places:
            self._places[term.id] = place
            self._by_shape[term.shape, term.dtype].append(term)

    def _mark(self, term: Term) -> None:
        """Note that the candidate has this term, and what it consists of."""
        stack = [term]
        while stack:
            at = stack.pop()
            if at.id not in self._candidates_terms:
                self._candidates_terms.add(at.id)
                stack += at.inputs

    def in_both(self, term: Term) -> bool:
        """Whether both sides have this term."""
        known = self.terms.known(term)
        return known.id < self._size and known.id in self._candidates_terms

    # -- residues ---------------------------------------------------------------------------

    def _search(self, term: Term, node: str) -> Term | None:
        """A tensor of the reference with the same residues and the same domain."""
        candidates = self._candidates(term)
        if not candidates:
            return None
        own = self._print(term)
        if own is None:
            return None
        for other in candidates:
            found = self._print(other)
            if found is not None and found == own:
                self._count(term, other)
                if self._same_domain(term, other):
                    return other
                self.domains.add(node)
        return None

    def _candidates(self, term: Term) -> list[Term]:
        """Tensors of the reference that may equal it: of its shape, and nearest in their order."""
        near = self._hint(term)
        listed = [
            each
            for each in self._by_shape[term.shape, term.dtype]
            if abs(self._places[each.id] - near) <= PROOF_DISTANCE.most
        ]
        # One that the candidate has already is a counterpart, too: a tensor may occur twice.
        listed.sort(key=lambda each: abs(self._places[each.id] - near - 1))
        return listed[: PROOF_CANDIDATES.most]

    def _hint(self, term: Term) -> int:
        """The place in the reference behind which a term's counterpart is expected."""
        stack = [term]
        while stack:
            at = stack[-1]
            if at.id in self._places:
                self._hints[at.id] = self._places[at.id]
            if at.id in self._hints:
                stack.pop()
                continue
            missing = [each for each in at.inputs if each.id not in self._hints]
            if missing:
                stack += missing
                continue
            self._hints[at.id] = max((self._hints[each.id] for each in at.inputs), default=0)
            stack.pop()
        return self._hints[term.id]

    def _print(self, term: Term) -> bytes | None:
        found = self.value(term)
        if found is None:
            return None
        digest = hashlib.blake2b(digest_size=16)
        for plane in found.planes:
            digest.update(np.ascontiguousarray(plane).tobytes())
        return digest.digest()

    def _count(self, *terms: Term) -> None:
        """Add the probability that these terms look equal and are not."""
        degree = max(self.residues[each.id].degree for each in terms)
        bits = max(self.residues[each.id].bits for each in terms)
        once = self.arithmetic.chance(max(degree, 1), bits) + 2.0**-64
        # Any two elements that were compared or hashed may have met by chance.
        self.chance += once * PROOF_CANDIDATES.most * max(1, len(self.residues))

    def value(self, term: Term) -> Residues | None:
        """The residues of a term; None where the work is too large or something has none."""
        try:
            return self._value(self.terms.known(term))
        except NoMeaningError:
            return None

    def _value(self, term: Term) -> Residues:
        stack = [term]
        while stack:
            at = stack[-1]
            if at.id in self.residues:
                stack.pop()
                continue
            if at.op == "input" or self._is_cut(at):
                self.places[at.id] = leaf(at, self._derived)
                self.residues[at.id] = self.arithmetic.fresh(tried(at.shape))
            elif at.op == "constant":
                self.places[at.id] = {}
                self.residues[at.id] = self.arithmetic.constant(at.value(), at.dtype)
            else:
                missing = [each for each in at.inputs if each.id not in self.residues]
                if missing:
                    stack += missing
                    continue
                # What holds for rows of one size holds for those of every size.
                self.places[at.id] = places(at, [self.places[each.id] for each in at.inputs])
                self._account(at)
                given = [self.residues[each.id] for each in at.inputs]
                self.residues[at.id] = self.arithmetic.evaluate(as_tried(at), given)
            stack.pop()
        return self.residues[term.id]

    def _is_cut(self, term: Term) -> bool:
        """Whether a term is replaced by any value: what holds for all values holds for its own."""
        return self.cuts and term.op in HEAVY and not term.static and self.in_both(term)

    def _account(self, term: Term) -> None:
        work = math.prod(tried(term.shape))
        if term.op == "matmul":
            work *= tried(term.inputs[0].shape)[-1]
        elif term.op == "conv":
            work *= math.prod(tried(term.inputs[1].shape)[1:])
        self.elements += work
        if self.elements > PROOF_PRODUCTS.most:
            raise NoMeaningError("the work of a proof is limited")

    # -- domains ----------------------------------------------------------------------------

    def _same_domain(self, term: Term, other: Term) -> bool:
        """Whether two terms apply partial functions to the same values."""
        left, right = _partial(term), _partial(other)
        alone = [left[each] for each in left.keys() - right.keys()]
        others = [right[each] for each in right.keys() - left.keys()]
        for lonely, near, there in ((alone, others, right), (others, alone, left)):
            own = self._elements(lonely)
            known = self._elements(near)
            if own is None or known is None:
                return False
            if not own <= known:
                known = self._elements(list(there.values()))
            if known is None or not own <= known:
                return False
            for each in lonely:
                self._count(each)
        return True

    def _elements(self, terms: list[Term]) -> set[bytes] | None:
        """Every application of a partial function, as the residues of its result."""
        found: set[bytes] = set()
        for term in terms:
            value = self.value(term)
            if value is None:
                return None
            rows = np.stack([np.ravel(plane) for plane in value.planes], 1)
            found.update(row.tobytes() for row in np.unique(rows, axis=0))
        return found


def _partial(term: Term) -> dict[int, Term]:
    """The partial functions of values that depend on the inputs, anywhere inside a term."""
    found: dict[int, Term] = {}
    seen: set[int] = set()
    stack = [term]
    while stack:
        at = stack.pop()
        if at.id in seen or at.static:
            continue
        seen.add(at.id)
        if is_partial(at):
            found[at.id] = at
        stack += at.inputs
    return found
