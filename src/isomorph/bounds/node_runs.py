"""Runs of single nodes in the oracle, on arrays that stand for what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.protocols import RunsMany
from isomorph.core.trace import RunRequest

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array
    from isomorph.core.model import Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays


class NodeRuns:
    """Evaluates one node at a time; ``sample`` are the values of every tensor in one run.

    The sample supplies the type of each tensor, and the values of those that no input changes.
    """

    def __init__(self, session: Session, sample: Mapping[str, Any]) -> None:
        self.session, self.sample = session, sample

    def results(self, node: Node, fed: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
        """The outputs of a node for each set of inputs, by the names of tensors."""
        fetch = [name for name in node.outputs if name]
        requests = [
            RunRequest(
                feeds={name: self._typed(name, value) for name, value in feeds.items()},
                fetch=fetch,
            )
            for feeds in fed
        ]
        return [
            [_array(found[name]) for name in fetch] for found in run_all(self.session, requests)
        ]

    def _typed(self, name: str, value: Array) -> Array:
        """The array in the type that the oracle holds the tensor in."""
        dtype = np.asarray(self.sample[name]).dtype
        if dtype.kind == "b":
            return np.asarray(value).astype(bool)
        if dtype.kind in "iu":
            facts = np.iinfo(dtype)
            # The largest int64 is no float64, so that a plain cast would overflow.
            clipped = np.clip(value, float(facts.min), float(facts.max))
            whole = np.asarray(clipped).astype(dtype)
            return np.where(clipped >= float(facts.max), facts.max, whole).astype(dtype)
        return np.asarray(value, np.float64)


def run_all(session: Session, requests: Sequence[RunRequest]) -> list[Arrays]:
    """The results of several runs, in one message where the session can do that."""
    if isinstance(session, RunsMany) and len(requests) > 1:
        return session.run_many(requests)
    return [session.run(each.feeds, each.fetch) for each in requests]


def _array(value: Any) -> Array:  # noqa: ANN401
    if not isinstance(value, np.ndarray):
        raise TypeError("the result is no tensor")
    return value
