"""The tensors of one run: shapes and types of those that move, values of those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays

_KEPT_BYTES = 1 << 16
"""Bytes of a constant up to which it is kept between uses; larger ones are read again."""


class SampleValues(Mapping[str, Any]):
    """Every tensor by its name. A constant is read when it is asked for."""

    def __init__(
        self, graph: Graph, session: Session, feeds: Arrays, moving: frozenset[str]
    ) -> None:
        self._session, self._constants = session, graph.constants
        names = dict.fromkeys(
            [name for node in graph.nodes for name in (*node.outputs, *node.inputs) if name]
        )
        computed = [name for name in names if name not in graph.constants and name not in feeds]
        found = session.run(feeds, computed)
        self._values: dict[str, Any] = {}
        for name, value in {**found, **feeds}.items():
            self._values[name] = _shape_of(value) if name in moving else value

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        if name in self._values:
            return self._values[name]
        if name not in self._constants:
            raise KeyError(name)
        try:
            value = self._session.run({}, [name])[name]
        except IsomorphError as error:
            raise KeyError(name) from error
        if isinstance(value, np.ndarray) and value.nbytes <= _KEPT_BYTES:
            self._values[name] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._values, *self._constants)))

    def __len__(self) -> int:
        return len({*self._values, *self._constants})

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._constants


def _shape_of(value: Any) -> Any:  # noqa: ANN401
    """An array of the same shape and type that takes no memory; floats as the oracle holds them."""
    if not isinstance(value, np.ndarray):
        return value
    is_real = value.dtype.kind == "f" or "float" in str(value.dtype)
    dtype = np.dtype(np.float64) if is_real else value.dtype
    if dtype.kind == "O":
        return value
    return np.broadcast_to(np.zeros((), dtype), value.shape)
