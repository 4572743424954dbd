"""The values of a graph's constants, read from the model's file or fetched from its session."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.digest import has_digest
from isomorph.core.errors import IsomorphError
from isomorph.store.file_stamp import stamp_of

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.store.file_stamp import Stamp

_KEPT_BYTES = 8 << 20
"""Constants cached in memory; beyond, they are read again."""

_READ_FROM_FILES = frozenset({"float16", "float32", "float64"})
_SMALL, _TOGETHER = 1 << 14, 1 << 20
"""Elements of a constant that is fetched together with others, and of all of them."""


class ConstantValues:
    """Reads constants on demand and keeps them.

    Asking the session for each of them takes longer than comparing it: large ones are read from
    the model's file where they lie in it, and the small ones are fetched together.
    """

    def __init__(
        self,
        graph: Graph,
        session: Session,
        file: Path | None = None,
        stamp: Stamp | None = None,
    ) -> None:
        self._graph, self._session, self._file, self._stamp = graph, session, file, stamp
        self._cache: OrderedDict[str, Array] = OrderedDict()
        self._together: dict[str, Array] | None = None
        self._bytes = 0
        self._in_file: set[str] = set()

    def value(self, name: str) -> Array | None:
        """Return a constant, or what is computed from constants alone, as the oracle returns it."""
        found = self.stored_value(name)
        return np.asarray(found, np.float64) if name in self._in_file else found

    def stored_value(self, name: str) -> Array | None:
        """Return the same numbers; those read from the file have the type that is stored there."""
        if name not in self._cache:
            found = self._from_file(name)
            if found is not None:
                self._in_file.add(name)
                self._keep(name, found)
        if name not in self._cache:
            if self._together is None:
                self._together = self._fetch_small()
            if name in self._together:
                return self._together[name]
            self._keep(name, self._from_session([name]).get(name))
        if name not in self._cache:
            return None
        self._cache.move_to_end(name)
        return self._cache[name]

    def stored_array(self, name: str) -> Array | None:
        """Return the value of a constant, including strings and integers of any width."""
        try:
            return np.asarray(self._session.run({}, [name])[name])
        except (IsomorphError, ValueError, KeyError):
            return None

    def _from_file(self, name: str) -> Array | None:
        """Read a float constant from the model's file; None where it is not what was described."""
        constant = self._graph.constants.get(name)
        if constant is None or constant.file_offset is None or self._file is None:
            return None
        if constant.dtype not in _READ_FROM_FILES:
            return None
        stored, count = np.dtype(constant.dtype).newbyteorder("<"), math.prod(constant.shape)
        try:
            with self._file.open("rb") as file:
                file.seek(constant.file_offset)
                same = self._stamp is not None and stamp_of(file.fileno()) == self._stamp
                flat = np.fromfile(file, stored, count)
        except (OSError, ValueError):
            return None
        if flat.size != count:
            return None
        value = flat.astype(constant.dtype, copy=False).reshape(constant.shape)
        return value if same or has_digest(value, constant.digest) else None

    def _fetch_small(self) -> dict[str, Array]:
        """Fetch small constants that do not lie in the file; these are not dropped again."""
        names: list[str] = []
        elements = 0
        for name, each in self._graph.constants.items():
            size = math.prod(each.shape)
            in_file = each.file_offset is not None and self._file is not None
            if "float" in each.dtype and not in_file and size <= min(_SMALL, _TOGETHER - elements):
                names.append(name)
                elements += size
        found = self._from_session(names) if names else {}
        return {name: value for name, value in found.items() if value is not None}

    def _from_session(self, names: Sequence[str]) -> Mapping[str, Array | None]:
        try:
            values = self._session.run({}, list(names))
            return {name: _numeric(np.asarray(values[name])) for name in names}
        except (IsomorphError, ValueError, KeyError):
            return {}

    def _keep(self, name: str, value: Array | None) -> None:
        if value is None or name in self._cache:
            return
        self._cache[name] = value
        self._bytes += value.nbytes
        while self._bytes > _KEPT_BYTES and len(self._cache) > 1:
            _, gone = self._cache.popitem(last=False)
            self._bytes -= gone.nbytes


def _numeric(found: Array) -> Array | None:
    """Return numbers as they are if NumPy has a kind for them, else (bfloat16) in float64."""
    if found.dtype.kind in "fiub":
        return found
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError):
        return None
