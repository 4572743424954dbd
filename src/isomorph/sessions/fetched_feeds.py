"""Feeds of one run, made of values that another run fetched or was fed.

A tensor of one run is fed to another under a new name, in another order of axes, in the type that
the other run takes, or as integers on a grid. Every such step is made here, so that scalars stay
scalars and absent values stay absent wherever a tensor is fed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array

    Conversion = Callable[[Array], Array]
    """Returns a value in the order of axes, in the type or on the grid that a run takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The value that a tensor is fed with: the name it is known by, and how it is changed.

    ``arrange`` reorders the axes; ``convert`` changes the type. A value that is None, an absent
    optional, stays None.
    """

    name: str
    arrange: Conversion | None = None
    convert: Conversion | None = None

    def made_of(self, value: Any) -> Any:  # noqa: ANN401
        """Return the value as it is fed."""
        if value is None:
            return None
        if self.arrange is not None:
            value = _in_one_piece(self.arrange(value))
        return value if self.convert is None else self.convert(value)


def feeds_from(values: Mapping[str, Any], sources: Mapping[str, Source]) -> dict[str, Any]:
    """Return one value for each name of ``sources``; KeyError where its source has none."""
    return {name: source.made_of(values[source.name]) for name, source in sources.items()}


def renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return values under other names: ``names`` has the new one of each."""
    return feeds_from(values, {new: Source(name=old) for old, new in names.items()})


def converted(values: Mapping[str, Any], conversions: Mapping[str, Conversion]) -> dict[str, Any]:
    """Return all values, those with a conversion converted."""
    sources = {name: Source(name=name, convert=conversions.get(name)) for name in values}
    return feeds_from(values, sources)


def arranged(values: Mapping[str, Any], orders: Mapping[str, Conversion]) -> dict[str, Any]:
    """Return all values, those with an order of axes in that order."""
    sources = {name: Source(name=name, arrange=orders.get(name)) for name in values}
    return feeds_from(values, sources)


def complete(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any] | None:
    """Return the values of these names; None where one of them is missing or absent."""
    found = {name: values.get(name) for name in names}
    return None if any(value is None for value in found.values()) else found


def present(values: Mapping[str, Any]) -> dict[str, Array]:
    """Return the values that are not absent, as arrays."""
    return {name: np.asarray(value) for name, value in values.items() if value is not None}


def as_type(dtype: np.dtype[Any]) -> Conversion:
    """Return the conversion to a type; a number beyond its range becomes infinite."""

    def convert(value: Array) -> Array:
        if value.dtype == dtype:
            return value
        with np.errstate(over="ignore"):
            return _in_one_piece(value.astype(dtype))

    return convert


def as_declared(spec: TensorSpec | None) -> Conversion:
    """Return the conversion to the type that a file declares; an oracle's values are wider.

    Where none is declared, float64 becomes float32, and every other type stays.
    """

    def convert(value: Array) -> Array:
        dtype = spec.dtype if spec is not None else None
        if dtype is None:
            dtype = "float32" if value.dtype == np.float64 else str(value.dtype)
        if dtype in {"string", str(value.dtype)}:
            return value
        with np.errstate(all="ignore"):
            return value.astype(numpy_dtype(dtype))

    return convert


def _in_one_piece(value: Array) -> Array:
    # Unlike ascontiguousarray, this makes no vector of a scalar.
    return np.asarray(value, order="C")
