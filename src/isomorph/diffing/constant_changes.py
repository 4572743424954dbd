"""Constants in which a node and its counterpart differ, and how their values do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diff_limits import DIFF_VALUES
from isomorph.core.escaping import counted
from isomorph.core.messages import message
from isomorph.core.model_diff import ChangeKind, NodeChange
from isomorph.diagnose.constant_diff import ROUNDING, difference
from isomorph.diffing.attribute_changes import ABSENT
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.match.value_match import rearrangements
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array
    from isomorph.diffing.linked_graph import LinkedGraph

Read = Callable[[int, str], "Array | None"]
_AT_A_GLANCE = 4
"""Of more numbers it is stated how many differ, instead of all of them twice."""
"""Returns the stored values of a constant of a side; None where they cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantComparison:
    """The constants of corresponding nodes that differ, and those that could not be read."""

    changes: tuple[NodeChange, ...] = ()
    uncompared: tuple[str, ...] = ()


class ConstantChanges:
    """Compares the constants of corresponding nodes; values are read where digests differ."""

    def __init__(
        self,
        sides: tuple[LinkedGraph, LinkedGraph],
        read: Read | None,
        *,
        one_framework: bool,
        pairs: Mapping[int, int],
    ) -> None:
        """``pairs`` are the places of the candidate's nodes by those of the reference's."""
        self._pairs = pairs
        self._sides, self._read, self._one_framework = sides, read, one_framework
        self._read_count = 0
        self._uncompared: list[str] = []
        self._grids = tuple(quantization_by_tensor(side.graph) for side in sides)

    def between(self, ref: int, cand: int) -> ConstantComparison:
        """Compare the constants of two nodes."""
        self._uncompared = []
        changes = tuple(self._changes(ref, cand))
        return ConstantComparison(changes=changes, uncompared=tuple(self._uncompared))

    def without_equal(self, ones: list[str], others: list[str]) -> ConstantComparison:
        """Take what both sides hold out of two lists; return what they hold in another order."""
        self._uncompared = []
        changes = tuple(self._in_another_order(ones, others))
        return ConstantComparison(changes=changes, uncompared=tuple(self._uncompared))

    def _in_another_order(self, ones: list[str], others: list[str]) -> Iterator[NodeChange]:
        """Take out what both sides hold, and yield what no order of axes makes equal."""
        for one in list(ones):
            held = self._sides[0].class_of(one)
            alike = [n for n in others if held is not None and self._sides[1].class_of(n) == held]
            if not alike:
                continue
            stored = self._sides[0].stored(one)
            equal = min(alike, key=lambda n: not _identical(stored, self._sides[1].stored(n)))
            ones.remove(one)
            others.remove(equal)
            change = self._change(one, equal, ordered=False)
            if change is not None:
                yield change

    def _changes(self, ref: int, cand: int) -> list[NodeChange]:
        nodes = self._sides[0].nodes[ref], self._sides[1].nodes[cand]
        names = self._sides[0].constants[ref], self._sides[1].constants[cand]
        by_slot = self._one_framework and nodes[0].native_op == nodes[1].native_op
        if by_slot and len(names[0]) == len(names[1]):
            return [
                change
                for one, other in zip(*names, strict=True)
                if (change := self._change(one, other, ordered=True)) is not None
            ]
        # As many operands with fewer constants: what is stored here is computed there.
        reads = self._sides[0].reads[ref], self._sides[1].reads[cand]
        missing = "computed" if by_slot and len(reads[0]) == len(reads[1]) else ABSENT
        return list(self._by_size(*names, all_of_them=by_slot, missing=missing))

    def _by_size(
        self, ones: Sequence[str], others: Sequence[str], *, all_of_them: bool, missing: str
    ) -> Iterator[NodeChange]:
        """Pair constants of equal values, then those of equal size; the rest is one-sided."""
        left, right = (
            [name for name in names if all_of_them or side.is_weight(name)]
            for side, names in zip(self._sides, (ones, others), strict=True)
        )
        yield from self._in_another_order(left, right)
        for one in list(left):
            size = _size(self._sides[0].stored(one))
            same = next((n for n in right if _size(self._sides[1].stored(n)) == size), None)
            if same is not None and size is not None:
                left.remove(one)
                right.remove(same)
                change = self._change(one, same, ordered=False)
                if change is not None:
                    yield change
        for side, names in enumerate((left, right)):
            for name in names:
                stored = self._sides[side].stored(name)
                shown = [missing, missing]
                shown[side] = ABSENT if stored is None else _described(stored)
                if stored is not None:
                    yield NodeChange(
                        kind=ChangeKind.CONSTANT,
                        name=name,
                        reference=shown[0],
                        candidate=shown[1],
                        detail=self._zeros(side, name),
                    )

    def _zeros(self, side: int, name: str) -> str:
        """That a constant which only one side has holds nothing but zeros, as unused biases do."""
        numbers = self._numbers(side, name)
        if numbers is None or numbers.dtype.kind not in "fiu" or np.any(numbers):
            return ""
        return message("DIFF.zeros")

    def _change(self, one: str, other: str, *, ordered: bool) -> NodeChange | None:
        """How two constants differ; ``ordered``: another order of the same elements differs."""
        left, right = self._sides[0].stored(one), self._sides[1].stored(other)
        if left is None or right is None:
            equal = self._sides[0].class_of(one) == self._sides[1].class_of(other)
            if equal or self._made_alike(one, other):
                return None
            return NodeChange(
                kind=ChangeKind.CONSTANT, name=_names(one, other), reference="computed",
                candidate=message("DIFF.computed"),
            )  # fmt: skip
        if left.digest == right.digest:
            return None
        same_numbers = self._sides[0].class_of(one) == self._sides[1].class_of(other)
        if same_numbers and left.dtype == right.dtype:
            in_place = ordered and left.shape == right.shape
            found = self._other_order(one, other, in_place=in_place)
            if found is None:
                return None
            detail = found
        elif self._on_grid(one, other):
            detail = self._compared(one, other)
            left, right = (replace(each, values=None) for each in (left, right))
        elif self._rounded_alike(one, other):
            if not self._one_framework:
                return None
            detail = message("DIFF.same_rounding", compared=self._compared(one, other))
        elif left.values is not None and right.values is not None:
            detail = self._short_difference(one, other)
            if detail:
                left, right = (replace(each, values=None) for each in (left, right))
        else:
            detail = self._compared(one, other)
        return NodeChange(
            kind=ChangeKind.CONSTANT,
            name=_names(one, other),
            reference=_described(left),
            candidate=_described(right),
            detail=detail,
        )

    def _short_difference(self, one: str, other: str) -> str:
        """How more numbers differ than are read at a glance; empty where both are shown whole."""
        expected, actual = self._numbers(0, one), self._numbers(1, other)
        if expected is None or actual is None or expected.size != actual.size:
            return ""
        kinds = {expected.dtype.kind, actual.dtype.kind}
        if expected.size <= _AT_A_GLANCE or not kinds <= set("fiu"):
            return ""
        return difference_of_values(expected, actual)

    def _made_alike(self, one: str, other: str) -> bool:
        """Whether corresponding nodes compute both constants: their rows tell what differs."""
        makers = self._sides[0].maker.get(one), self._sides[1].maker.get(other)
        if makers[0] is None or makers[1] is None or makers[0][1] != makers[1][1]:
            return False
        return self._pairs.get(makers[0][0]) == makers[1][0]

    def _rounded_alike(self, one: str, other: str) -> bool:
        """Whether two constants of floats are equal up to a rounding of each number."""
        values = self._numbers(0, one), self._numbers(1, other)
        if values[0] is None or values[1] is None or values[0].size != values[1].size:
            return False
        if any(value.dtype.kind != "f" for value in values if value is not None):
            return False
        expected, actual = values[0].astype(np.float64), values[1].astype(np.float64)
        return any(
            bool(np.all(np.abs(moved.array(expected) - actual) <= ROUNDING * np.abs(actual)))
            for moved in rearrangements(expected, actual.shape)
        )

    def _other_order(self, one: str, other: str, *, in_place: bool) -> str | None:
        """How the same elements are ordered; None where they are where they belong.

        Unless they have to be in the same places, any order of the axes is one in which a
        framework may store them.
        """
        text = message("DIFF.other_order")
        expected, actual = self._numbers(0, one), self._numbers(1, other)
        if expected is None or actual is None or expected.size != actual.size:
            if in_place:
                return text
            self._uncompared.append(_names(one, other))
            return None
        if not in_place:
            equal_nan = expected.dtype.kind == actual.dtype.kind == "f"
            for moved in rearrangements(expected, actual.shape):
                if np.array_equal(moved.array(expected), actual, equal_nan=equal_nan):
                    return None
        if expected.shape != actual.shape or expected.dtype.kind != "f":
            return text
        return f"{text}: {difference(actual.astype(float), expected.astype(float)).text}"

    def _numbers(self, side: int, name: str) -> Array | None:
        """The values of the constant behind a tensor, as they are stored."""
        stored = self._sides[side].stored(name)
        if stored is None:
            return None
        if stored.values is not None:
            return np.asarray(stored.values).reshape(stored.shape)
        return None if self._read is None else self._read(side, stored.name)

    def _compared(self, one: str, other: str) -> str:
        if self._read is None:
            return ""
        if self._read_count >= DIFF_VALUES.most:
            DIFF_VALUES.reached()
            return ""
        self._read_count += 1
        values = self._read(0, one), self._read(1, other)
        if values[0] is None or values[1] is None or values[0].size != values[1].size:
            return ""
        if not self._on_grid(one, other):
            return difference_of_values(values[0], values[1])
        entries = [grid.get(name) for grid, name in zip(self._grids, (one, other), strict=True)]
        reals = [
            value if entry is None else np.asarray(real_values(value, entry), np.float64)
            for value, entry in zip(values, entries, strict=True)
            if value is not None
        ]
        step = max(max(entry.scale) for entry in entries if entry is not None)
        return difference_of_reals(reals[0], reals[1], step)

    def _on_grid(self, one: str, other: str) -> bool:
        """Whether one of two constants holds integers that stand for real numbers."""
        return one in self._grids[0] or other in self._grids[1]


def difference_of_values(expected: Array, actual: Array) -> str:
    """How many elements differ and by how much, in the arrangement in which the fewest do."""
    best: tuple[int, str] | None = None
    for moved in rearrangements(expected, actual.shape):
        placed = np.asarray(moved.array(expected), np.float64)
        apart = np.abs(placed - np.asarray(actual, np.float64))
        count = int(np.count_nonzero(~(apart == 0)))
        if best is None or count < best[0]:
            size = float(np.max(np.abs(placed), initial=0.0))
            text = message(
                "DIFF.elements_differ",
                count=count,
                elements=counted(actual.size, "element"),
                differ="differs" if count == 1 else "differ",
                largest=float(np.nanmax(apart, initial=0.0)),
                size=size,
            )
            best = count, text
    return best[1] if best is not None else ""


def difference_of_reals(expected: Array, actual: Array, step: float) -> str:
    """How many real values of a quantized constant are more than one step apart."""
    fewest = actual.size
    for moved in rearrangements(expected, actual.shape):
        placed = np.asarray(moved.array(expected), np.float64)
        fewest = min(fewest, int(np.count_nonzero(~(np.abs(placed - actual) <= step))))
    if not fewest:
        return message("DIFF.within_step")
    apart = "is" if fewest == 1 else "are"
    return message(
        "DIFF.beyond_step",
        count=fewest,
        elements=counted(actual.size, "element"),
        are=apart,
        step=step,
    )


def _identical(one: Constant | None, other: Constant | None) -> bool:
    return one is not None and other is not None and one.digest == other.digest


def _names(one: str, other: str) -> str:
    return one if one == other else f"{one} / {other}"


def _size(constant: Constant | None) -> int | None:
    return None if constant is None else math.prod(constant.shape)


def _described(constant: Constant) -> str:
    """The type and shape of a constant; of a small one its values as well."""
    shape = f"{constant.dtype} [{', '.join(map(str, constant.shape))}]"
    if constant.values is None:
        return shape
    listed = ", ".join(_shown(each) for each in constant.values)
    return (
        f"{listed} ({constant.dtype})" if not constant.shape else f"[{listed}] ({constant.dtype})"
    )


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
