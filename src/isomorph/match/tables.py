"""Tables whose rows the data selects, as what a selected row stands for.

One side may store a table in shards that are concatenated, compute it from constants, hold integers
that are dequantized after the selection, or have fewer rows. Rows that no input selects are
compared then, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.model import Quantization
from isomorph.core.ops import RESHAPES
from isomorph.match.element_bounds import Elements, Source, compare_elements, recomputation_error
from isomorph.match.stored_weights import StoredWeight, WeightReader
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import Weights

_PASSES_INDEX = RESHAPES | {"Cast", "Transpose", "Expand", "Concat", "Slice"}
"""Operators that bound no index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDifference:
    """A table beside the one of the reference that it differs from in few rows.

    Where rows are ``missing``, ``actual`` and ``elements`` have the shape of ``expected``.
    """

    weight: StoredWeight
    source: StoredWeight
    expected: Array = field(repr=False)
    actual: Array = field(repr=False)
    elements: Elements
    missing: int
    certain: bool


class _Table:
    """The operand of a Gather that is made of constants alone."""

    def __init__(self, side: Weights, node: Node) -> None:
        self._side, self.node, self.name = side, node, node.inputs[0]
        maker = side.topology.maker.get(self.name)
        self._dequantizer: Node | None = None
        if maker is not None and maker.op == "DequantizeLinear":
            self.name, self._dequantizer = maker.inputs[0], maker
        self.stored = side.graph.constants.get(self.name)
        if self.grid is None:
            self.name, self._dequantizer = node.inputs[0], None
            self.stored = side.graph.constants.get(self.name)

    @cached_property
    def grid(self) -> Quantization | None:
        """How the integers of a stored table stand for numbers, before or after the selection."""
        if self.stored is None or "int" not in self.stored.dtype:
            return None
        behind = self._side.topology.readers.get(self.node.outputs[0], ())
        if self._dequantizer is None and len(behind) == 1 and behind[0].op == "DequantizeLinear":
            return self._grid_of(behind[0])
        return None if self._dequantizer is None else self._grid_of(self._dequantizer)

    def _grid_of(self, node: Node) -> Quantization | None:
        """The scale and zero point of the whole table."""
        assert self.stored is not None
        scale, zero = (self._number(node, place) for place in (1, 2))
        if scale is None:
            return None
        return Quantization(
            tensor=self.name,
            dtype=self.stored.dtype,
            scale=(float(scale),),
            zero_point=() if zero is None else (int(zero),),
        )

    def _number(self, node: Node, place: int) -> float | None:
        name = node.input(place)
        value = self._side.value(name) if name in self._side.graph.constants else None
        return None if value is None or value.size != 1 else float(np.ravel(value)[0])

    @cached_property
    def integers(self) -> Array | None:
        return self._side.value(self.name) if self.grid is not None else None

    @cached_property
    def value(self) -> Array | None:
        """The numbers that the rows stand for."""
        if self.grid is not None:
            return None if self.integers is None else real_values(self.integers, self.grid)
        if self.stored is None and self._side.is_dequantized(self.name):
            return None  # its integers are compared as weights
        value = self._side.value(self.name)
        return None if value is None or value.dtype.kind != "f" else np.asarray(value, np.float64)

    @cached_property
    def axis(self) -> int:
        # The description has the rank of what is stored; nothing is read for it.
        if self.stored is not None:
            rank = len(self.stored.shape)
        else:
            rank = 1 if self.value is None else self.value.ndim
        return int(self.node.attributes.get("axis", 0) or 0) % max(rank, 1)

    @cached_property
    def plain(self) -> bool:
        """Whether other comparisons know it: stored floats, or integers dequantized before."""
        if self._dequantizer is not None:
            return True
        return self.stored is not None and "float" in self.stored.dtype

    @cached_property
    def error(self) -> float:
        """What computing the table in float32 may have lost."""
        if self.stored is not None or self.value is None or self._side.only_moved(self.name):
            return 0.0
        largest = float(np.max(np.abs(self.value), initial=0.0))
        return recomputation_error(self.value.shape) * largest

    @cached_property
    def selected_by_input(self) -> bool:
        """Whether an input of the model is the index itself, so that it can select any row."""
        topology, name = self._side.topology, self.node.inputs[1]
        while (maker := topology.maker.get(name)) is not None:
            if maker.op not in _PASSES_INDEX or not maker.inputs:
                return False
            name = maker.inputs[0]
        return name in {spec.name for spec in self._side.graph.inputs}

    @property
    def weight(self) -> StoredWeight:
        """The table as a weight of its graph."""
        held, value = self.stored, self.value
        return StoredWeight(
            name=self.name,
            dtype=held.dtype if held is not None else self._side.narrowest_float(self.name),
            shape=() if value is None else value.shape,
            digest=held.digest if held is not None else "",
            value_digest=held.value_digest if held is not None else "",
            readers=(WeightReader(node=self.node, slot=0),),
            grid=self.grid,
            may_mask=False,
        )


def table_differences(reference: Weights, candidate: Weights) -> Iterator[TableDifference]:
    """Yield every table that differs from one of the reference in few of its rows."""
    tables = list(_tables(candidate))
    sources = list(_tables(reference)) if tables else []
    for table in tables:
        found = _nearest(table, sources)
        if found is not None:
            yield found


def _tables(side: Weights) -> Iterator[_Table]:
    live = side.topology.live
    for node in side.graph.nodes:
        if node.op == "Gather" and node.name in side.useful and len(node.inputs) > 1:
            data, rows = node.inputs[:2]
            if data not in live and rows in live:
                yield _Table(side, node)


def _nearest(table: _Table, sources: Sequence[_Table]) -> TableDifference | None:
    """Return the comparison with the closest table; None where one explains all rows."""
    best: TableDifference | None = None
    known: list[_Table] = []
    for source in sources:
        if _same_constant(table, source):
            return None
        if table.value is None or source.value is None or not _same_rows(table, source):
            continue
        if _known_otherwise(table, source):
            known.append(source)
            continue
        found = _compared(table, source)
        if found is None:
            return None
        if found.certain and (best is None or found.elements.count < best.elements.count):
            best = found
    # A table that equals one of its own size is none that lacks rows of a longer one.
    if best is not None and any(_compared(table, source) is None for source in known):
        return None
    return best


def _same_constant(table: _Table, source: _Table) -> bool:
    if table.stored is None or source.stored is None or table.axis != source.axis:
        return False
    return table.stored.digest == source.stored.digest


def _known_otherwise(table: _Table, source: _Table) -> bool:
    """Whether both are stored floats of one size, which are compared as weights."""
    if not (table.plain and source.plain) or table.stored is None or source.stored is None:
        return False
    return table.stored.shape == source.stored.shape


def _same_rows(table: _Table, source: _Table) -> bool:
    """Whether rows of both have the same shape."""
    if table.value is None or source.value is None or table.axis != source.axis:
        return False
    shapes = [list(each.value.shape) for each in (table, source) if each.value is not None]
    counts = [shape.pop(table.axis) for shape in shapes]
    return shapes[0] == shapes[1] and min(counts) > 0


def _compared(table: _Table, source: _Table) -> TableDifference | None:
    """Compare the rows that both have; None where they agree and none is missing."""
    assert table.value is not None
    assert source.value is not None
    axis, expected, actual = table.axis, source.value, table.value
    missing = _missing(expected, actual.shape[axis], axis) if table.selected_by_input else 0
    counts = expected.shape[axis], actual.shape[axis]
    # Rows that were put behind the others, and rows of zeros there, are selected by nothing.
    further = np.take(actual, range(counts[0], max(counts)), axis=axis)
    expected = np.take(expected, range(min(counts[0], counts[1] + missing)), axis=axis)
    expected = np.concatenate([expected, further], axis=axis)
    common = np.take(expected, range(counts[1]), axis=axis)
    half = 0.5 * max(source.grid.scale) if source.grid is not None else 0.0
    weight, integers = table.weight, table.integers
    if table.grid is not None and source.grid is not None and _same_grid(table.grid, source.grid):
        # On one grid nothing was rounded again.
        half, weight, integers = 0.0, replace(weight, grid=None), None
    terms = Source(
        dtype=source.weight.dtype, half_step=half, error_bound=table.error + source.error
    )
    elements = compare_elements(common, actual, weight, terms, integers)
    if elements.equal and not missing:
        return None
    certain = bool(np.ptp(common) > 0.0) if elements.equal else _sparse(elements)
    gone = [(0, missing if each == axis else 0) for each in range(expected.ndim)]
    return TableDifference(
        weight=table.weight, source=source.weight, expected=expected, actual=np.pad(actual, gone),
        elements=replace(
            elements,
            beyond=np.pad(elements.beyond, gone, constant_values=True),
            between=np.pad(elements.between, gone),
        ),
        missing=missing, certain=certain,
    )  # fmt: skip


def _same_grid(one: Quantization, two: Quantization) -> bool:
    return (one.scale, one.zero_point or (0,)) == (two.scale, two.zero_point or (0,))


def _sparse(elements: Elements) -> bool:
    return elements.sparse and elements.informative > elements.count


def _missing(expected: Array, rows: int, axis: int) -> int:
    """Return how many rows behind these hold anything but zeros, with those before them."""
    tail = np.moveaxis(expected, axis, 0)[rows:]
    filled = np.flatnonzero(np.any(tail != 0.0, axis=tuple(range(1, tail.ndim))))
    return int(filled[-1]) + 1 if filled.size else 0
