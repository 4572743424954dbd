"""The name of the node begun last, in a page that a worker shares with its parent.

The page is written by plain stores, so leaving a crumb costs no system call, and it is still
there when the worker is not.
"""

from __future__ import annotations

import mmap
from pathlib import Path

from isomorph.core import last_node

_FILE = "crumb"
_BYTES = 1024
_END = b"\0"


def prepare(folder: Path) -> None:
    """Make the page; the parent does this before the worker starts."""
    (folder / _FILE).write_bytes(bytes(_BYTES))


def forget(folder: Path) -> None:
    """Nothing has begun yet."""
    with (folder / _FILE).open("r+b") as file:
        file.write(_END)


def read(folder: Path) -> str | None:
    """The node begun last, or None where the runtime leaves no word."""
    try:
        name = (folder / _FILE).read_bytes().partition(_END)[0]
    except FileNotFoundError:
        return None  # the host was closed meanwhile, and its folder went with it
    return name.decode("utf-8", "replace") or None


def keep(folder: Path) -> None:
    """Write every node that is begun in this process onto the page."""
    with (folder / _FILE).open("r+b") as file:
        page = mmap.mmap(file.fileno(), _BYTES)

    def sink(node: str) -> None:
        name = node.encode("utf-8", "replace")[: _BYTES - 1] + _END
        page[: len(name)] = name

    last_node.follow(sink)
