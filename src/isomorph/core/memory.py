"""How much of a process's memory one purpose may take."""

from __future__ import annotations

import ctypes
import gc
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SHARE = 8
_LARGE = 256
_M_MMAP_THRESHOLD = -3
_M_TRIM_THRESHOLD = -1
_LARGEST_THRESHOLD = 32 << 20
_KEPT = 64 << 20
"""Free memory at the end of the heap from which on it goes back to the system."""
_RETURNED = 1 << 20
"""Blocks of this size on go back to the system at once while a library opens a model."""
_lock = threading.Lock()
_builders: list[bool] = []
_threshold: int | None = None
"""The size from which on a block has pages of its own, in a process that chose it."""
_mapped = _unraised = 0
"""Bytes of mapped files, and the limit of this process before it was raised for them."""


def memory_limit() -> int | None:
    """Bytes that this process may hold of its own, without mapped files; None: no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return None
    return _unraised if _mapped else limit


def share_of_memory(most: int) -> int:
    """An eighth of what this process may hold, and never more than ``most`` bytes."""
    limit = memory_limit()
    return most if limit is None else max(1, min(most, limit // _SHARE))


def count_mapped(size: int) -> None:
    """Raise the limit of this process by files that a library maps; lower it if negative.

    A private mapping that could be written to counts as memory of the process, though its pages are
    those of the file until somebody writes to them.
    """
    global _mapped, _unraised  # noqa: PLW0603 - the limit is one of the whole process
    with _lock:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY:
            return
        _unraised = _unraised if _mapped else soft
        _mapped += size
        raised = _unraised + _mapped
        soft = raised if hard == resource.RLIM_INFINITY else min(raised, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def give_back() -> None:
    """Hand the memory that was freed back to the system, which libraries keep for later.

    Reading a model takes twice its size for a moment; afterwards half of it is unused.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)


@contextmanager
def building() -> Iterator[None]:
    """Build a description of a model, whose objects all stay, without looking for unused ones.

    The collector would look at all of them again whenever there are a quarter more. Several threads
    may build at once.
    """
    with _lock:
        _builders.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            # The first one has seen whether the collector was in use at all.
            enabled = _builders[0]
            _builders.pop()
            if enabled and not _builders:
                gc.enable()


def keep_large_apart(memory_bytes: int) -> None:
    """Where memory is short, give each large tensor pages of its own, which go back when it goes.

    In the common heap an aligned block does not fit into the hole that one of the same size has
    left: a network of equal layers would take the memory of all of
    them. Pages of its own cost time. Otherwise memory that one run frees is kept for the next.
    """
    global _threshold  # noqa: PLW0603 - a setting of the whole process
    large = memory_bytes // _LARGE
    choose = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if choose is None:
        return
    _threshold = min(large, _LARGEST_THRESHOLD)
    choose(_M_MMAP_THRESHOLD, _threshold)
    if large >= _LARGEST_THRESHOLD:
        choose(_M_TRIM_THRESHOLD, _KEPT)


@contextmanager
def copying_weights() -> Iterator[None]:
    """Let a library copy all weights, each more than once, without holding the earlier copies.

    In the heap they would leave holes that the next weights do not fit into. In a process that
    did not choose its threshold, which may be the user's, nothing changes: glibc cannot restore
    the one that it adapts by itself.
    """
    threshold = _threshold
    if threshold is None or threshold <= _RETURNED:
        yield
        return
    choose = ctypes.CDLL(None).mallopt
    choose(_M_MMAP_THRESHOLD, _RETURNED)
    try:
        yield
    finally:
        choose(_M_MMAP_THRESHOLD, threshold)
