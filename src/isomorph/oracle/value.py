"""What an oracle holds of a tensor: its numbers, its declared type, where they come from.

A value that depends on the fed data is held in float64, whatever its declared float type. One
that depends on stored constants and shapes alone is held in its declared type, because there
the width is part of the meaning, and lifted when a data-dependent node consumes it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isomorph.oracle.dtypes import HALVES, is_float, numpy_dtype, type_name
from isomorph.oracle.stored_matrix import StoredMatrix, is_large_matrix

Array = NDArray[Any]


class Displacement(Protocol):
    """What the noise of a draw adds to a stored constant, computed when it is used."""

    def shifts(self) -> Array:
        """Return what is added to each number."""

    def apply(self, wide: Array) -> None:
        """Add it to the numbers in float64, in place."""


class EvalValue:
    """One tensor, sequence (a list), map (a dict) or absent optional (None).

    ``dtype`` is the declared element type. ``shift`` is what the noise of this draw adds to a
    constant once it is lifted; the declared value itself stays as it is. Of a stored constant it is
    its ``displacement``. ``table`` is the stored tensor that the numbers were looked up in.
    ``kept``: it stays between runs, with its float64 copy.
    """

    __slots__ = (
        "_displacement", "_matrix", "_shift", "_wide", "constant", "data", "dtype", "kept", "table",
    )  # fmt: skip

    def __init__(
        self,
        data: Any,  # noqa: ANN401
        *,
        dtype: str | None = None,
        constant: bool = False,
        shift: Array | None = None,
        displacement: Displacement | None = None,
    ) -> None:
        self.data, self.constant = data, constant
        self._shift, self._displacement = shift, displacement
        self.dtype = dtype if dtype is not None else element_type(data)
        self._wide: Any = None
        self._matrix: StoredMatrix | None = None
        self.table: Array | None = None
        self.kept = False

    @classmethod
    def computed(cls, data: Any, dtype: str | None) -> EvalValue:  # noqa: ANN401
        """The result of a node on data, lifted once: a list may have thousands of elements."""
        value = cls(lifted(data), dtype=dtype)
        value._wide = value.data
        return value

    @property
    def shift(self) -> Array | None:
        """What the noise of this draw adds to each number; None where it adds nothing."""
        if self._shift is None and self._displacement is not None:
            self._shift = self._displacement.shifts()
        return self._shift

    @shift.setter
    def shift(self, shift: Array | None) -> None:
        self._shift, self._displacement = shift, None

    @property
    def shifted(self) -> bool:
        """Whether the noise of this draw moves it."""
        return self._shift is not None or self._displacement is not None

    def wide(self) -> Any:  # noqa: ANN401
        """As a data-dependent node sees it: every float in float64, with the noise of the draw."""
        if self._wide is None:
            self._wide = lifted(self.data)
            if self._shift is not None:
                wide = np.asarray(self._wide, dtype=np.float64)
                own = wide is not self.data and wide.shape == self._shift.shape
                self._wide = np.add(wide, self._shift, out=wide if own else None)
            elif self._displacement is not None:
                wide = self._wide if self._wide is not self.data else self._wide.copy()
                self._wide = np.ascontiguousarray(wide).reshape(self.data.shape)
                self._displacement.apply(self._wide)
        return self._wide

    def matrix(self) -> StoredMatrix | None:
        """A constant that is lifted in blocks where it is multiplied; None where it is not.

        What stays between runs is lifted once.
        """
        if self._matrix is None:
            held = self.kept or self._wide is not None or self.shifted or not self.constant
            if held or not (_rounded(self.dtype) and is_large_matrix(self.data)):
                return None
            self._matrix = StoredMatrix(self.data)
        return self._matrix

    def still(self) -> Any:  # noqa: ANN401
        """As ``wide``, without the noise."""
        return lifted(self.data) if self.shifted else self.wide()

    def working(self) -> Any:  # noqa: ANN401
        """As a node among constants sees it: in the type its arithmetic is done in."""
        return _each(self.data, _to_working)


def lifted(data: Any) -> Any:  # noqa: ANN401
    """Every float in float64; everything else untouched."""
    return _each(data, _to_wide)


def stored(data: Any, dtype: str | None) -> Any:  # noqa: ANN401
    """A constant after its arithmetic: rounded into the declared float type."""
    if not is_float(dtype):
        return data
    target = numpy_dtype(str(dtype))

    def narrow(array: Array) -> Array:
        return array.astype(target, copy=False) if is_float(type_name(array)) else array

    with np.errstate(over="ignore", invalid="ignore"):
        return _each(data, narrow)


def element_type(data: Any) -> str | None:  # noqa: ANN401
    """The declared type of an array, or of a sequence's elements."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return type_name(data) if isinstance(data, np.ndarray) else None


def _rounded(dtype: str | None) -> bool:
    """Whether numbers of this type are to be lifted."""
    return is_float(dtype) and dtype != "float64"


def _each(data: Any, function: Any) -> Any:  # noqa: ANN401
    if isinstance(data, list):
        return [_each(item, function) for item in data]
    return function(data) if isinstance(data, np.ndarray) else data


def _to_wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128, copy=False)
    if array.dtype == np.float64 or not is_float(type_name(array)):
        return array
    return array.astype(np.float64)


def _to_working(array: Array) -> Array:
    return array.astype(np.float32) if type_name(array) in HALVES else array


ABSENT = EvalValue(None, constant=True)
"""An optional input that is not there."""

DEAD = EvalValue(None, dtype="dead", constant=True)
"""What comes out of the branch not taken, in graphs that switch instead of calling bodies."""
