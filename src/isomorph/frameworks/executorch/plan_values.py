"""The values of an execution plan as its file states them: numbers, lists and tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.executorch.file_layout import FileLayout
from isomorph.frameworks.executorch.program import DTYPES, Places, PteTensor
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.flatbuffer import DamagedFlatbufferError, Table

MAX_ELEMENTS = 1 << 59


class Kind(IntEnum):
    """What a value is, by the number of the schema."""

    NULL = 1
    INT = 2
    BOOL = 3
    DOUBLE = 4
    TENSOR = 5
    TEXT = 6
    INTS = 7
    DOUBLES = 8
    BOOLS = 9
    TENSORS = 10
    OPTIONALS = 11


LISTS = (Kind.TENSORS, Kind.OPTIONALS)
"""Lists of tensors."""
NUMBERS: Mapping[int, str] = {Kind.INT: "q", Kind.BOOL: "?", Kind.DOUBLE: "d"}
"""The struct letters of plain numbers."""


class PlanValues:
    """The values of one plan by their index."""

    def __init__(self, layout: FileLayout, values: Sequence[Table], file: str) -> None:
        self.layout, self.values, self.file = layout, values, file

    def value(self, index: int) -> tuple[int, Table | None]:
        """The kind of a value, and its table."""
        if not 0 <= index < len(self.values):
            raise DamagedFlatbufferError(f"it names value {index} of {len(self.values)}")
        return self.values[index].union(1)

    def number(self, index: int) -> Any:  # noqa: ANN401
        """A number that the program states; None for anything else."""
        kind, table = self.value(index)
        if table is None or kind not in NUMBERS:
            return None
        if kind == Kind.DOUBLE:
            return table.real(0)
        number = table.integer(0, NUMBERS[kind])
        return bool(number) if kind == Kind.BOOL else number

    def places(self, index: int) -> Places:
        """Where the numbers of a value, or of a list of them, or its word lie in the file."""
        kind, table = self.value(index)
        if table is None:
            return ()
        if kind in NUMBERS:
            place = table.where(0)
            return () if place is None else ((NUMBERS[kind], place),)
        if kind == Kind.TEXT:
            size = len(table.octets(0))
            return ((f"{size}s", table.start_of(0)),) if size else ()
        if kind == Kind.INTS:
            items = table.numbers(0, "i8").tolist()
            found = [self.places(item) for item in items if self.value(item)[0] in NUMBERS]
            found += [()] * (len(items) - len(found))
            return tuple(each[0] for each in found) if all(found) else ()
        return ()

    def tensor(self, name: str, table: Table, *, stored: bool) -> PteTensor:
        """What a tensor declares; ``stored``: with its bytes."""
        number = table.integer(0, "b")
        dtype = DTYPES.get(number)
        if dtype is None:
            raise UnreadableModelError(
                "BAD_DTYPE", f"element type {number} is not known", file=self.file, where=name
            )
        sizes = tuple(table.numbers(2, "i4").tolist())
        if (
            any(size < 0 for size in sizes)
            or math.prod(max(size, 1) for size in sizes) >= MAX_ELEMENTS
        ):
            raise UnreadableModelError(
                "BAD_DIMS", f"no memory can hold the shape {list(sizes)}", file=self.file,
                where=f"tensor {name!r}",
            )  # fmt: skip
        order = tuple(table.numbers(3, "u1").tolist())
        if order and sorted(order) != list(range(len(sizes))):
            raise DamagedFlatbufferError(f"{name} has the order of axes {list(order)}")
        dynamic = table.integer(8, "b") != 0
        region = self._region(table, name, sizes, dtype) if stored else None
        return PteTensor(
            name=name,
            dtype=dtype,
            shape=tuple(None for _ in sizes) if dynamic and not stored else sizes,
            data=None if region is None else self.layout.data[region[0] : region[1]],
            order=order,
            offset=None if region is None else region[0],
            mutable=stored and table.where(6) is not None,
        )

    def _region(
        self, table: Table, name: str, sizes: tuple[int, ...], dtype: str
    ) -> tuple[int, int]:
        info = table.table(9)
        if lies_elsewhere(table):
            called = (info.text(1) if info is not None else "") or name
            raise unsupported(
                self.file,
                f"the weight {called!r} lies in a file of its own (.ptd), which is not read",
                fix="lower the model again with external_constants=False, which keeps the weights "
                "in the program",
            )
        size = math.prod(sizes) * numpy_dtype(dtype).itemsize
        index = table.integer(5, "I")
        if table.where(6) is not None:
            group = info.integer(0, "Q") if info is not None else 0
            return self.layout.state(group, index, size)
        return self.layout.constant(index, size)


def address_of(table: Table) -> tuple[int, int, int]:
    """Where a value lies: area and both halves of the offset; area -1 where it is not planned."""
    place = table.table(6)
    if place is None:
        return -1, 0, 0
    return place.integer(0, "I"), place.integer(1, "I"), place.integer(2, "I")


def lies_elsewhere(table: Table) -> bool:
    """Whether the numbers of a tensor are kept in a file beside the program."""
    info = table.table(9)
    return info is not None and info.integer(2, "b") == 1


def unsupported(
    file: str,
    what: str,
    fix: str = "lower the model again without it: with XNNPACK, or without any delegate",
) -> UnreadableModelError:
    """The error for what the format allows and nobody here reads."""
    return UnreadableModelError("UNSUPPORTED_FORMAT", what, file=file, fix=fix)
