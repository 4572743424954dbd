"""Choose one counterpart for each tensor where several of the reference hold its values.

Names, operators and positions prove nothing by themselves: they only choose among tensors with
equal values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.core.limits import SAME_VALUES
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher

Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """A tensor of the reference, its rearrangement, and the evidence besides its values."""

    reference: str
    moved: Rearrangement
    rivals: int = 0
    structure: bool = False


@dataclass(slots=True)
class _Class:
    """Tensors of the reference with the same values, by what computes them and by operator."""

    members: list[str] = field(default_factory=list)
    by_key: dict[Key, str] = field(default_factory=dict)
    by_op: dict[str, list[str]] = field(default_factory=dict)


class Assignment:
    """Counterparts by value. ``found`` maps each tensor of the candidate to an equal tensor.

    ``settled`` holds counterparts that are known for other reasons.
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
                partner = self._chosen(name, *self._simplest(name, *pair))
                self.partners[name] = partner
                self.taken.setdefault(partner.reference, name)

    def _simplest(self, name: str, ref: str, moved: Rearrangement) -> tuple[str, Rearrangement]:
        """Prefer a tensor with the same shape and no permuted axes among equal ones."""
        shape = self._values[name].shape
        if self._matcher.reference.shapes[ref] != shape:
            for other in self._matcher.equal_to(ref, SAME_VALUES.most):
                if self._matcher.reference.shapes[other] == shape:
                    found = self._rearrangement(other, name)
                    if found is not None and not found.moves:
                        return other, found
        return ref, moved

    def _chosen(self, name: str, ref: str, moved: Rearrangement) -> Partner:
        """Prefer the same inputs and operator, then the same name, then an unused same operator."""
        same_values = self._classes[self._of[ref]]
        rivals = len(same_values.members) - 1
        maker = self._matcher.candidate.topology.maker.get(name)
        key = self.key(maker) if maker is not None else None
        chosen = same_values.by_key.get(key) if key is not None else None
        structure = chosen is not None
        if chosen is None and rivals:
            chosen = name if self._of.get(name) == self._of[ref] else self._free(same_values, maker)
        if chosen is not None and chosen != ref:
            found = self._rearrangement(chosen, name)
            if found is not None:
                return Partner(reference=chosen, moved=found, rivals=rivals, structure=structure)
        structure = structure and chosen == ref
        return Partner(reference=ref, moved=moved, rivals=rivals, structure=structure)

    def key(self, maker: Node) -> Key | None:
        """Return a node's operator and its inputs' counterparts; None if an input has none."""
        sources = self._matcher.candidate.topology.sources(maker)
        known = [self._partner(source) for source in sources]
        if not sources or "" in known:
            return None
        return maker.op, tuple(self._of[each] for each in known)

    def _partner(self, name: str) -> str:
        found = self.partners.get(name)
        return self._settled.get(name, "") if found is None else found.reference

    def _free(self, same_values: _Class, maker: Node | None) -> str | None:
        unused = same_values.by_op.get(maker.op if maker is not None else "", [])
        while unused and unused[-1] in self.taken:
            unused.pop()
        return unused[-1] if unused else None

    def _rearrangement(self, ref: str, name: str) -> Rearrangement | None:
        value, source = self._values[name], self._matcher.reference.values[ref]
        for moved in rearrangements(source, value.shape):
            if self._matcher.equal(ref, name, moved.array(source), value):
                return moved
        return None

    def others(self) -> dict[str, tuple[str, Rearrangement]]:
        """Return the reference's unassigned tensors with an equal tensor of the candidate."""
        found: dict[str, tuple[str, Rearrangement]] = {}
        for name in self._matcher.reference.values:
            if name in self.taken:
                continue
            for cand in self._equal_to(name):
                moved = self._rearrangement(name, cand)
                if moved is not None:
                    found[name] = cand, moved
                    break
            else:
                if len(self._classes[self._of[name]].members) > SAME_VALUES.most:
                    SAME_VALUES.reached()
        return found

    def _equal_to(self, name: str) -> Sequence[str]:
        """Return the candidate's tensors whose counterpart has these values in any arrangement."""
        same_values = self._classes[self._of[name]].members[: SAME_VALUES.most]
        same = [self.taken[each] for each in same_values if each in self.taken]
        if same:
            return same
        return [
            self.taken[ref]
            for ref in self._matcher.equal_to(name, SAME_VALUES.most)
            if ref in self.taken
        ]


def _classes(capture: TensorCapture) -> tuple[dict[str, _Class], dict[str, str]]:
    """Group the reference's tensors by value; a class is named after its first member."""
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
