"""One partner for each tensor of the candidate, where several of the reference hold its values.

Names, operators and places prove nothing by themselves: they only choose among tensors whose
values are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.match.value_match import ways

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher

_MOST_COMPARED = 8

Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """The tensor of the reference, how it is moved, and what speaks for it besides its values."""

    reference: str
    moved: Rearrangement
    rivals: int = 0
    structure: bool = False


@dataclass(slots=True)
class _Class:
    """Tensors of the reference with the same values: by what computes them, and by operator."""

    members: list[str] = field(default_factory=list)
    by_key: dict[Key, str] = field(default_factory=dict)
    by_op: dict[str, list[str]] = field(default_factory=dict)


class Assignment:
    """Partners by value. ``found`` says for each tensor of the candidate one that is equal.

    ``settled`` are partners that are known otherwise.
    """

    def __init__(
        self,
        matcher: ValueMatcher,
        values: Mapping[str, Array],
        found: Mapping[str, tuple[str, Rearrangement] | None],
        settled: Mapping[str, str],
    ) -> None:
        self._matcher, self._values, self._settled = matcher, values, settled
        self._classes, self._of = _classes(matcher.reference)
        self.partners: dict[str, Partner] = {}
        self.taken: dict[str, str] = {}
        for name in values:
            pair = found.get(name)
            if pair is not None:
                partner = self._chosen(name, *self._plainest(name, *pair))
                self.partners[name] = partner
                self.taken.setdefault(partner.reference, name)

    def _plainest(self, name: str, mine: str, moved: Rearrangement) -> tuple[str, Rearrangement]:
        """Of equal values in several shapes, those that stand as they are."""
        shape = self._values[name].shape
        if self._matcher.reference.shapes[mine] != shape:
            for other in self._matcher.like(mine, _MOST_COMPARED):
                if self._matcher.reference.shapes[other] == shape:
                    way = self._way(other, name)
                    if way is not None and not way.moves:
                        return other, way
        return mine, moved

    def _chosen(self, name: str, mine: str, moved: Rearrangement) -> Partner:
        """Who is computed alike, else who has the name, else who has the operator and is free."""
        alike = self._classes[self._of[mine]]
        rivals = len(alike.members) - 1
        maker = self._matcher.candidate.topology.maker.get(name)
        key = self.key(maker) if maker is not None else None
        wanted = alike.by_key.get(key) if key is not None else None
        structure = wanted is not None
        if wanted is None and rivals:
            wanted = name if self._of.get(name) == self._of[mine] else self._free(alike, maker)
        if wanted is not None and wanted != mine:
            way = self._way(wanted, name)
            if way is not None:
                return Partner(reference=wanted, moved=way, rivals=rivals, structure=structure)
        structure = structure and wanted == mine
        return Partner(reference=mine, moved=moved, rivals=rivals, structure=structure)

    def key(self, maker: Node) -> Key | None:
        """What a node of the candidate computes, in the reference's words; None if some lack."""
        sources = self._matcher.candidate.topology.sources(maker)
        known = [self._partner(source) for source in sources]
        if not sources or "" in known:
            return None
        return maker.op, tuple(self._of[each] for each in known)

    def _partner(self, name: str) -> str:
        found = self.partners.get(name)
        return self._settled.get(name, "") if found is None else found.reference

    def _free(self, alike: _Class, maker: Node | None) -> str | None:
        waiting = alike.by_op.get(maker.op if maker is not None else "", [])
        while waiting and waiting[-1] in self.taken:
            waiting.pop()
        return waiting[-1] if waiting else None

    def _way(self, mine: str, name: str) -> Rearrangement | None:
        value, source = self._values[name], self._matcher.reference.values[mine]
        for moved in ways(source, value.shape):
            if self._matcher.equal(mine, name, moved.array(source), value):
                return moved
        return None

    def others(self) -> dict[str, tuple[str, Rearrangement]]:
        """Tensors of the reference that nobody took, with the candidate's that equals them."""
        found: dict[str, tuple[str, Rearrangement]] = {}
        for name in self._matcher.reference.values:
            if name in self.taken:
                continue
            for cand in self._equal_to(name):
                way = self._way(name, cand)
                if way is not None:
                    found[name] = cand, way
                    break
        return found

    def _equal_to(self, name: str) -> Sequence[str]:
        """Candidates' tensors whose partner has the same values, in any arrangement."""
        alike = self._classes[self._of[name]].members[:_MOST_COMPARED]
        same = [self.taken[each] for each in alike if each in self.taken]
        if same:
            return same
        return [
            self.taken[mine]
            for mine in self._matcher.like(name, _MOST_COMPARED)
            if mine in self.taken
        ]


def _classes(capture: TensorCapture) -> tuple[dict[str, _Class], dict[str, str]]:
    """The reference's tensors by value, each class under the name of its first member."""
    first: dict[object, str] = {}
    of: dict[str, str] = {}
    classes: dict[str, _Class] = {}
    for name in capture.values:
        mark = capture.prints[name], capture.shapes[name]
        of[name] = first.setdefault(mark, name)
        classes.setdefault(of[name], _Class()).members.append(name)
    for name in reversed(list(of)):
        maker = capture.topology.maker.get(name)
        each = classes[of[name]]
        each.by_op.setdefault(maker.op if maker is not None else "", []).append(name)
        if maker is not None and (sources := capture.topology.sources(maker)):
            each.by_key[(maker.op, tuple(of.get(source, source) for source in sources))] = name
    return classes, of
