"""Which stored values of the candidate are which of the reference.

By digest where the bytes are the same in some order; by value where they were rounded,
quantized or folded together; and by what reads them where their values say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Confidence, Pair
from isomorph.match.quantizers import real_values, written
from isomorph.match.value_match import ways
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement

Reader = Callable[[Sequence[str]], Mapping[str, "Array"]]
"""Gives the values of these constants when they are asked for; some may lack."""

NO_VALUES = "no constant of the other side holds its values or is read at its place"
_MOST_COMPARED = 8


class Constants:
    """Both sides' constants, paired step by step, each step on what the one before left.

    ``place`` says of a constant which set of nodes reads it: where several hold the same values,
    the one that is read at the corresponding place is meant.
    """

    def __init__(
        self,
        graphs: tuple[Graph, Graph],
        readers: tuple[Reader, Reader],
        place: Callable[[int, str], Hashable],
    ) -> None:
        self.reference, self.candidate = graphs
        self._entries = tuple(written(graph) for graph in graphs)
        self._readers = readers
        self._values: tuple[Mapping[str, Array], ...] = ({}, {})
        self.place = place
        self._buckets: dict[Hashable, dict[str, None]] = {}
        for mine, constant in self.reference.constants.items():
            if _is_number(constant):
                size = int(np.prod(constant.shape))
                self._buckets.setdefault(size, {})[mine] = None
                self._buckets.setdefault((size, place(0, mine)), {})[mine] = None
        self.left = dict.fromkeys(self.reference.constants)
        self.open = dict.fromkeys(self.candidate.constants)
        self.pairs: list[Pair] = []

    def align(self) -> None:
        """By what they hold; ``left`` and ``open`` are what remains on either side."""
        self._by_digest(lambda constant: constant.digest)
        # What is the same byte by byte need not be read.
        rest = list(self.left), list(self.open)
        self._values = tuple(read(each) for read, each in zip(self._readers, rest, strict=True))
        self._by_digest(lambda constant: (constant.dtype, constant.value_digest))
        for cand in list(self.open):
            self._by_value(cand)

    def align_by_place(self) -> None:
        """The last resort: whatever they hold."""
        for cand in list(self.open):
            self._by_place(cand)

    def values(self, side: int, name: str) -> Array | None:
        """The real numbers behind a constant, in float64; None where they cannot be had."""
        value = self._values[side].get(name)
        entry = self._entries[side].get(name)
        if value is not None and entry is not None and value.dtype.kind in "iu":
            value = real_values(value, entry)
        if value is None or value.dtype.kind not in "fiub":
            return None
        return np.asarray(value, np.float64)

    def found(self, pair: Pair) -> None:
        """One constant of the candidate is settled."""
        self.pairs.append(pair)
        self.open.pop(pair.candidate, None)
        for mine in pair.reference:
            self.left.pop(mine, None)

    def _by_digest(self, digest: Callable[[Constant], Hashable]) -> None:
        buckets: dict[Hashable, list[str]] = {}
        for ref, constant in self.reference.constants.items():
            buckets.setdefault(digest(constant), []).append(ref)
        places = {(key, self.place(0, ref)): ref for key, names in buckets.items() for ref in names}
        for cand in list(self.open):
            key = digest(self.candidate.constants[cand])
            equal = buckets.get(key, [])
            if not equal:
                continue
            beside = places.get((key, self.place(1, cand)))
            named = cand if cand in self.reference.constants and cand in equal else None
            ref = beside or named or next((n for n in equal if n in self.left), equal[0])
            way, same = self._way(ref, cand), self._same(ref, cand)
            self.found(
                self._pair(
                    cand,
                    ref,
                    way,
                    evidence=("value", *(("structure",) if ref == beside else ())),
                    rivals=len(equal) - 1,
                    changed="" if way is not None or same else "in another order",
                )
            )

    def _same(self, ref: str, cand: str) -> bool:
        """Whether nothing was moved; without the values that is not known to be otherwise."""
        left, right = self.reference.constants[ref], self.candidate.constants[cand]
        return left.digest == right.digest or self.values(1, cand) is None

    def _way(self, ref: str, cand: str) -> Rearrangement | None:
        """How equal values are arranged; None where nothing moves."""
        left, right = self.reference.constants[ref], self.candidate.constants[cand]
        if left.digest == right.digest:
            return None
        values, wanted = self.values(0, ref), self.values(1, cand)
        if values is None or wanted is None:
            return None
        return next(
            (
                moved
                for moved in ways(values, wanted.shape)
                if np.array_equal(moved.array(values), wanted, equal_nan=True)
            ),
            None,
        )

    def _by_value(self, cand: str) -> None:
        """Rounded to a narrower type, or quantized: each number within that one rounding."""
        for ref in self._fitting(cand):
            value, other = self.values(1, cand), self.values(0, ref)
            if value is None or other is None:
                continue
            rounding = self._rounding(ref, cand)
            for moved in ways(other, value.shape):
                placed = moved.array(other)
                if bool(np.all(np.abs(placed - value) <= rounding(placed))):
                    changed = self._changed(ref, cand)
                    pair = self._pair(cand, ref, moved, evidence=("value",), changed=changed)
                    self.found(pair)
                    return

    def _fitting(self, cand: str) -> Iterator[str]:
        """Unsettled constants of the reference with as many elements, corresponding ones first."""
        constant = self.candidate.constants[cand]
        size = int(np.prod(constant.shape))
        if not _is_number(constant) or size < 2:
            return
        beside = self.beside(cand)
        yield from beside
        others = (ref for ref in self._buckets.get(size, ()) if ref not in beside)
        yield from islice((ref for ref in others if ref in self.left), _MOST_COMPARED)

    def beside(self, cand: str) -> list[str]:
        """Unsettled constants of the same size that are read at the corresponding place."""
        place, size = self.place(1, cand), int(np.prod(self.candidate.constants[cand].shape))
        alike = self._buckets.get((size, place), {}) if place is not None else {}
        return [ref for ref in alike if ref in self.left]

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
        """The only one of its size that is read at the corresponding place, whatever it holds."""
        beside = self.beside(cand) if cand in self.open else []
        if len(beside) == 1:
            told = "other numbers"
            self.found(self._pair(cand, beside[0], None, evidence=("structure",), changed=told))

    def _pair(
        self,
        cand: str,
        ref: str,
        moved: Rearrangement | None,
        *,
        evidence: tuple[str, ...],
        rivals: int = 0,
        changed: str = "",
    ) -> Pair:
        named = ("provenance",) if ref == cand else ()
        told = [words(moved)] if moved is not None and shifts(moved, ref, self.reference) else []
        told += [changed] if changed else []
        certain = "value" in evidence and (not rivals or "structure" in evidence or named)
        confidence = Confidence.CERTAIN if certain else Confidence.LIKELY
        return Pair(
            kind="constant",
            reference=(ref,),
            candidate=cand,
            transform=", ".join(told) or "as it is",
            permutation=moved.permutation if moved is not None and moved.moves else (),
            shape=moved.shape if told and moved is not None else (),
            evidence=(*evidence, *named),
            rivals=rivals,
            confidence=confidence if "value" in evidence else Confidence.POSSIBLE,
        )


def words(moved: Rearrangement) -> str:
    """A rearrangement in short."""
    if moved.moves:
        return f"axes permuted by {moved.permutation}"
    return f"reshaped to {'×'.join(map(str, moved.shape)) or 'a scalar'}"


def shifts(moved: Rearrangement, mine: str, graph: Graph) -> bool:
    """Whether anything moves at all."""
    return moved.moves or moved.shape != graph.constants[mine].shape


def _is_number(constant: Constant) -> bool:
    return constant.dtype not in {"string", "bool"}
