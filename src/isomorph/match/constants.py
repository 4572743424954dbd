"""Match the stored constants of the candidate with those of the reference.

By digest where the bytes are the same in some order; by value where they were rounded, quantized
or folded; and by the nodes that read them where the values prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Confidence, Pair, PairEvidence
from isomorph.core.limits import SAME_SIZE_CONSTANTS
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.match.value_match import rearrangements
from isomorph.oracle.noise import unit_roundoff
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement

Reader = Callable[[Sequence[str]], Mapping[str, "Array"]]
"""Returns the values of these constants; some may be missing."""

NO_VALUES = "no constant of the other side holds its values or is read at its place"


class Constants:
    """The constants of both graphs, paired step by step; each step takes what is still unmatched.

    ``place`` returns the set of nodes that reads a constant: of several with the same values, the
    one read at the corresponding place is chosen.
    """

    def __init__(
        self,
        graphs: tuple[Graph, Graph],
        readers: tuple[Reader, Reader],
        place: Callable[[int, str], Hashable],
    ) -> None:
        self.reference, self.candidate = graphs
        self._entries = tuple(quantization_by_tensor(graph) for graph in graphs)
        self._readers = readers
        self._values: tuple[Mapping[str, Array], ...] = ({}, {})
        self.place = place
        self._buckets: dict[Hashable, dict[str, None]] = {}
        for ref, constant in self.reference.constants.items():
            if _is_number(constant):
                size = int(np.prod(constant.shape))
                self._buckets.setdefault(size, {})[ref] = None
                self._buckets.setdefault((size, place(0, ref)), {})[ref] = None
        self.unmatched_reference = dict.fromkeys(self.reference.constants)
        self.unmatched_candidate = dict.fromkeys(self.candidate.constants)
        self.pairs: list[Pair] = []

    def align(self) -> None:
        """Pair by value; the rest stays in ``unmatched_reference`` and ``unmatched_candidate``."""
        self._by_digest(lambda constant: constant.digest)
        # Constants that are equal byte by byte need not be read.
        unread = list(self.unmatched_reference), list(self.unmatched_candidate)
        self._values = tuple(read(each) for read, each in zip(self._readers, unread, strict=True))
        self._by_digest(lambda constant: (constant.dtype, constant.value_digest))
        for cand in list(self.unmatched_candidate):
            self._by_value(cand)

    def align_by_place(self) -> None:
        """Pair what is left by place alone, whatever the values are."""
        for cand in list(self.unmatched_candidate):
            self._by_place(cand)

    def values(self, side: int, name: str) -> Array | None:
        """Return the real values of a constant in float64; None where they cannot be read."""
        value = self._values[side].get(name)
        entry = self._entries[side].get(name)
        if value is not None and entry is not None and value.dtype.kind in "iu":
            value = real_values(value, entry)
        if value is None or value.dtype.kind not in "fiub":
            return None
        return np.asarray(value, np.float64)

    def add_pair(self, pair: Pair) -> None:
        """Record the counterpart of one constant of the candidate."""
        self.pairs.append(pair)
        self.unmatched_candidate.pop(pair.candidate, None)
        for ref in pair.reference:
            self.unmatched_reference.pop(ref, None)

    def _by_digest(self, digest: Callable[[Constant], Hashable]) -> None:
        buckets: dict[Hashable, list[str]] = {}
        for ref, constant in self.reference.constants.items():
            buckets.setdefault(digest(constant), []).append(ref)
        places = {(key, self.place(0, ref)): ref for key, names in buckets.items() for ref in names}
        for cand in list(self.unmatched_candidate):
            key = digest(self.candidate.constants[cand])
            equal = buckets.get(key, [])
            if not equal:
                continue
            at_same_place = places.get((key, self.place(1, cand)))
            named = cand if cand in self.reference.constants and cand in equal else None
            ref = (
                at_same_place
                or named
                or next((n for n in equal if n in self.unmatched_reference), equal[0])
            )
            way, same = self._rearrangement(ref, cand), self._same(ref, cand)
            self.add_pair(
                self._pair(
                    cand,
                    ref,
                    way,
                    evidence=("value", *(("structure",) if ref == at_same_place else ())),
                    rivals=len(equal) - 1,
                    changed="" if way is not None or same else "in another order",
                )
            )

    def _same(self, ref: str, cand: str) -> bool:
        """Whether the order is the same, or unknown because the values cannot be read."""
        left, right = self.reference.constants[ref], self.candidate.constants[cand]
        return left.digest == right.digest or self.values(1, cand) is None

    def _rearrangement(self, ref: str, cand: str) -> Rearrangement | None:
        """Return how equal values are rearranged; None where nothing moves."""
        left, right = self.reference.constants[ref], self.candidate.constants[cand]
        if left.digest == right.digest:
            return None
        values, target = self.values(0, ref), self.values(1, cand)
        if values is None or target is None:
            return None
        return next(
            (
                moved
                for moved in rearrangements(values, target.shape)
                if np.array_equal(moved.array(values), target, equal_nan=True)
            ),
            None,
        )

    def _by_value(self, cand: str) -> None:
        """Pair a constant that was rounded or quantized: each element is within that rounding."""
        for ref in self._fitting(cand):
            value, other = self.values(1, cand), self.values(0, ref)
            if value is None or other is None:
                continue
            rounding = self._rounding(ref, cand)
            for moved in rearrangements(other, value.shape):
                placed = moved.array(other)
                # Most constants that are tried differ in their first row.
                if _within(placed[:1], value[:1], rounding) and _within(placed, value, rounding):
                    changed = self._changed(ref, cand)
                    pair = self._pair(cand, ref, moved, evidence=("value",), changed=changed)
                    self.add_pair(pair)
                    return

    def _fitting(self, cand: str) -> Iterator[str]:
        """Yield unmatched constants of the reference of this size, the same place first."""
        constant = self.candidate.constants[cand]
        size = int(np.prod(constant.shape))
        if not _is_number(constant) or size < 2:
            return
        at_same_place = self.at_same_place(cand)
        yield from at_same_place
        others = (ref for ref in self._buckets.get(size, ()) if ref not in at_same_place)
        unmatched = (ref for ref in others if ref in self.unmatched_reference)
        yield from SAME_SIZE_CONSTANTS.first(unmatched)

    def at_same_place(self, cand: str) -> list[str]:
        """Return unmatched constants of the same size that are read at the corresponding place."""
        place, size = self.place(1, cand), int(np.prod(self.candidate.constants[cand].shape))
        same_size = self._buckets.get((size, place), {}) if place is not None else {}
        return [ref for ref in same_size if ref in self.unmatched_reference]

    def _rounding(self, ref: str, cand: str) -> Callable[[Array], Array]:
        steps = [
            max(entries[name].scale)
            for entries, name in zip(self._entries, (ref, cand), strict=True)
            if name in entries
        ]
        dtypes = self.reference.constants[ref].dtype, self.candidate.constants[cand].dtype
        unit = sum(unit_roundoff(dtype) for dtype in dtypes)
        return lambda values: sum(steps) + unit * np.abs(values)

    def _changed(self, ref: str, cand: str) -> str:
        before, after = ref in self._entries[0], cand in self._entries[1]
        if after and not before:
            return f"quantized to {self.candidate.constants[cand].dtype}"
        if before and not after:
            return "dequantized"
        return f"rounded to {self.candidate.constants[cand].dtype}"

    def _by_place(self, cand: str) -> None:
        """Pair with the only constant of this size that is read at the corresponding place."""
        at_same_place = self.at_same_place(cand) if cand in self.unmatched_candidate else []
        if len(at_same_place) == 1:
            transforms = "other numbers"
            self.add_pair(
                self._pair(
                    cand, at_same_place[0], None, evidence=("structure",), changed=transforms
                )
            )

    def _pair(
        self,
        cand: str,
        ref: str,
        moved: Rearrangement | None,
        *,
        evidence: tuple[PairEvidence, ...],
        rivals: int = 0,
        changed: str = "",
    ) -> Pair:
        named: tuple[PairEvidence, ...] = ("provenance",) if ref == cand else ()
        transforms = (
            [describe_rearrangement(moved)]
            if moved is not None and changes_layout(moved, ref, self.reference)
            else []
        )
        transforms += [changed] if changed else []
        certain = "value" in evidence and (not rivals or "structure" in evidence or named)
        confidence = Confidence.CERTAIN if certain else Confidence.LIKELY
        return Pair(
            kind="constant",
            reference=(ref,),
            candidate=cand,
            transform=", ".join(transforms) or "as it is",
            permutation=moved.permutation if moved is not None and moved.moves else (),
            shape=moved.shape if transforms and moved is not None else (),
            evidence=(*evidence, *named),
            rivals=rivals,
            confidence=confidence if "value" in evidence else Confidence.POSSIBLE,
        )


def describe_rearrangement(moved: Rearrangement) -> str:
    """Describe a rearrangement in a few words."""
    if moved.moves:
        return f"axes permuted by {moved.permutation}"
    return f"reshaped to {'×'.join(map(str, moved.shape)) or 'a scalar'}"


def changes_layout(moved: Rearrangement, ref: str, graph: Graph) -> bool:
    """Whether the order of axes or the shape changes."""
    return moved.moves or moved.shape != graph.constants[ref].shape


def _is_number(constant: Constant) -> bool:
    return constant.dtype not in {"string", "bool"}


def _within(placed: Array, value: Array, rounding: Callable[[Array], Array]) -> bool:
    """Whether each element differs by no more than its rounding."""
    return bool(np.all(np.abs(placed - value) <= rounding(placed)))
