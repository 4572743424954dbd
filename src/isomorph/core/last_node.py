"""The node that was begun last, left behind in case the process dies.

An interpreter calls ``leave`` before each node. It costs nothing until a worker process asks,
with ``follow``, to have it kept where its parent can read it.
"""

from __future__ import annotations

from collections.abc import Callable

Sink = Callable[[str], None]

_sinks: list[Sink] = []


def leave(node: str) -> None:
    """Record that this node is about to be computed."""
    for sink in _sinks:
        sink(node)


def follow(sink: Sink) -> None:
    """Hand every node to ``sink`` from now on."""
    _sinks.append(sink)
