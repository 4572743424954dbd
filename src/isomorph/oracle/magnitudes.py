"""Sizes of long sums, kept between the draws of one input: they change by rounding only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.threads import run_all

if TYPE_CHECKING:
    from isomorph.oracle.noise import Array

_PIECE = 1 << 22
"""Bytes that are hashed at a time."""


class KeptSizes(dict[Any, "Array"]):
    """Sizes of sums by their sites, with the bytes of all: several draws add to one."""

    held = 0

    def keep(self, key: Any, sizes: Array) -> None:  # noqa: ANN401
        """Keep the sizes of a sum for the draws that follow."""
        self[key] = sizes
        self.held += sizes.nbytes


class Magnitudes:
    """The magnitudes of the sums of one program for the values that were fed last."""

    def __init__(self) -> None:
        self._kept = KeptSizes()
        self._digest = b""

    def of(self, feeds: Mapping[str, Any]) -> KeptSizes:
        """Those for these feeds; empty, and filled by the run, where other values are fed."""
        digest = digest_of(feeds)
        if digest != self._digest:
            self._kept, self._digest = KeptSizes(), digest
        return self._kept

    def of_each(
        self,
        feeds: Sequence[Mapping[str, Any]],
        noises: Sequence[object],
        accepted: Sequence[Mapping[str, Any]],
    ) -> list[KeptSizes]:
        """Those of each run with its noise: runs that are fed one object share theirs."""
        known: dict[int, KeptSizes] = {}
        found = []
        for given, noise, values in zip(feeds, noises, accepted, strict=True):
            if noise is None:
                found.append(KeptSizes())
                continue
            if id(given) not in known:
                known[id(given)] = self.of(values)
            found.append(known[id(given)])
        return found

    def clear(self) -> None:
        """Release everything."""
        self._kept, self._digest = KeptSizes(), b""


def asking(kept: Sequence[KeptSizes], noises: Sequence[object]) -> list[int]:
    """The places of runs with noise that are the first to use their sizes: those compute them."""
    first: dict[int, int] = {}
    for place, (own, noise) in enumerate(zip(kept, noises, strict=True)):
        if noise is not None:
            first.setdefault(id(own), place)
    return list(first.values())


def digest_of(feeds: Mapping[str, Any]) -> bytes:
    """Equal for equal names, types, shapes and numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(feeds):
        digest.update(name.encode("utf-8", "surrogateescape"))
        _add(digest, feeds[name])
    return digest.digest()


def _add(digest: Any, value: Any) -> None:  # noqa: ANN401
    if isinstance(value, (list, tuple)):
        digest.update(f"[{len(value)}]".encode())
        for item in value:
            _add(digest, item)
        return
    array = np.asarray(value)
    digest.update(repr((array.shape, array.dtype.str)).encode())
    if array.dtype.kind == "O":
        digest.update(repr(array.tolist()).encode("utf-8", "surrogateescape"))
    elif array.size:
        _add_bytes(digest, np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _add_bytes(digest: Any, plain: Array) -> None:  # noqa: ANN401
    """Add the digests of pieces, of which threads make several at a time."""
    starts = range(0, plain.size, _PIECE)
    found = [b""] * len(starts)

    def add(place: int) -> None:
        piece = plain[starts[place] : starts[place] + _PIECE]
        found[place] = hashlib.blake2b(piece.data, digest_size=16).digest()

    run_all([partial(add, place) for place in range(len(starts))])
    digest.update(b"".join(found))
