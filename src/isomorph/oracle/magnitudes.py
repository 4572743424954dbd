"""Sizes of long sums, kept between the draws of one input: they change by rounding only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.memory import share_of_memory
from isomorph.core.threads import run_all

if TYPE_CHECKING:
    from isomorph.oracle.noise import Array

_PIECE = 1 << 22
"""Bytes that are hashed at a time."""


CACHE_BYTES = 512 << 20
"""Sizes of sums that are kept between draws, where nothing limits the process to less."""


class KeptSizes(dict[Any, "Array"]):
    """Sizes of sums by their sites, with the bytes of all: several draws add to one."""

    held = 0

    def keep(self, key: Any, sizes: Array) -> None:  # noqa: ANN401
        """Keep the sizes of a sum for the draws that follow."""
        self[key] = sizes
        self.held += sizes.nbytes


class Magnitudes:
    """The magnitudes of the sums of one program for the values that were fed last.

    Runs side by side are fed values of their own, and so are the next draws of them.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, KeptSizes] = {}

    def of(self, feeds: Mapping[str, Any]) -> KeptSizes:
        """Those for these feeds; empty, and filled by the run, where other values are fed."""
        return self._of_all([feeds])[0]

    def of_each(
        self,
        feeds: Sequence[Mapping[str, Any]],
        noises: Sequence[object],
        accepted: Sequence[Mapping[str, Any]],
    ) -> list[KeptSizes]:
        """Those of each run with its noise: runs that are fed one object share theirs."""
        drawn = {
            id(given): values
            for given, noise, values in zip(feeds, noises, accepted, strict=True)
            if noise is not None
        }
        known = dict(zip(drawn, self._of_all(list(drawn.values())), strict=True))
        return [
            KeptSizes() if noise is None else known[id(given)]
            for given, noise in zip(feeds, noises, strict=True)
        ]

    def _of_all(self, feeds: Sequence[Mapping[str, Any]]) -> list[KeptSizes]:
        if not feeds:
            return []
        digests = digests_of(feeds)
        few = sum(each.held for each in self._kept.values()) <= share_of_memory(CACHE_BYTES)
        known = self._kept if few or len(feeds) == 1 else {}
        self._kept = {digest: known.get(digest) or KeptSizes() for digest in digests}
        return [self._kept[digest] for digest in digests]

    def clear(self) -> None:
        """Release everything."""
        self._kept = {}


def asking(kept: Sequence[KeptSizes], noises: Sequence[object]) -> list[int]:
    """The places of runs with noise that are the first to use their sizes: those compute them."""
    first: dict[int, int] = {}
    for place, (own, noise) in enumerate(zip(kept, noises, strict=True)):
        if noise is not None:
            first.setdefault(id(own), place)
    return list(first.values())


def digest_of(feeds: Mapping[str, Any]) -> bytes:
    """Equal for equal names, types, shapes and numbers."""
    return digests_of([feeds])[0]


def digests_of(feeds: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """One for each of these; what several of them hold is read once."""
    known: dict[int, bytes] = {}

    def of_value(value: Any) -> bytes:  # noqa: ANN401
        if id(value) not in known:
            digest = hashlib.blake2b(digest_size=16)
            _add(digest, value)
            known[id(value)] = digest.digest()
        return known[id(value)]

    found = []
    for each in feeds:
        digest = hashlib.blake2b(digest_size=16)
        for name in sorted(each):
            digest.update(repr(name).encode())
            digest.update(of_value(each[name]))
        found.append(digest.digest())
    return found


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
