"""Branches whose condition is decided by less than rounding: either branch is right.

Under noise such a branch is taken in some draws only, and the difference of its two results would
count as rounding. So a decision that differs between draws is taken as in the run, and the spread
is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.graph_facts import once_per_graph
from isomorph.core.limits import OPEN_DECISIONS
from isomorph.core.messages import message
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.measure.distance import distance

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise
    from isomorph.measure.spread import Spread


@once_per_graph
def decisions(graph: Graph) -> tuple[str, ...]:
    """Return the computed conditions of top-level branches, in graph order."""
    given = {*graph.constants, *(spec.name for spec in graph.inputs)}
    asked = (node.inputs[0] for node in graph.nodes if node.op == "If" and node.inputs)
    return tuple(dict.fromkeys(name for name in asked if name and name not in given))


def unsettled(
    names: Sequence[str], oracle_values: Arrays, moved: Mapping[str, Spread]
) -> dict[str, Array]:
    """Return the conditions that differed between draws, with the undisturbed oracle's values.

    Only a boolean can be taken the other way; the index of a case is left alone.
    """
    decided = {name: np.asarray(oracle_values[name]) for name in names if name in moved}
    return {
        name: value
        for name, value in decided.items()
        if value.size == 1 and value.dtype.kind == "b" and bool(np.any(moved[name].unsettled))
    }


class Decided:
    """An oracle that is fed its open decisions whenever it runs on these inputs."""

    def __init__(self, session: Session, inputs: Arrays, taken: Arrays) -> None:
        self.session, self._inputs, self._taken = session, inputs, taken
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Run the session; on other inputs or feeds of a part the decisions are not fed."""
        given = {**self._taken, **feeds} if self._same(feeds) else feeds
        return self.session.run(given, fetch, noise=noise)

    def close(self) -> None:
        """Let go of what the session holds."""
        self.session.close()

    def _same(self, feeds: Arrays) -> bool:
        return all(
            name in feeds and (feeds[name] is value or _equal(feeds[name], value))
            for name, value in self._inputs.items()
        )


def _equal(one: object, other: object) -> bool:
    return (
        isinstance(one, np.ndarray)
        and isinstance(other, np.ndarray)
        and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    )


def taken_toward(
    run: Callable[[Arrays], Mapping[str, Array]],
    open_decisions: Mapping[str, Array],
    target: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the open decisions under which the outputs are closest to ``target``.

    ``run`` returns the outputs under such decisions. Of equally close ones the current decisions
    are kept, and also those beyond the limit, which would cost too many runs.
    """
    tried = list(OPEN_DECISIONS.first(open_decisions))
    ways = [
        {
            **open_decisions,
            **{name: np.logical_xor(open_decisions[name], turned) for name, turned in turns},
        }
        for turns in (
            zip(tried, flags, strict=True) for flags in product(*[(False, True)] * len(tried))
        )
    ]
    return min(ways, key=lambda taken: _gap(run(taken), target))


def _gap(found: Mapping[str, Array], target: Mapping[str, Array]) -> tuple[int, float]:
    """Return how many outputs have another shape or other NaNs, then the error of the others."""
    mismatched, error = 0, 0.0
    for name, expected in target.items():
        value = found.get(name)
        if value is None or value.shape != expected.shape:
            mismatched += 1
            continue
        apart = distance(value, expected)
        mismatched += apart.nonfinite_mismatch > 0
        error += float(apart.differing) if apart.relative_l2 is None else apart.relative_l2
    return mismatched, error


def of_decisions(role: str, graph: Graph, taken: Mapping[str, Array]) -> Iterator[Finding]:
    """Yield one finding for each branch whose decision rounding leaves open."""
    for node in graph.nodes:
        if node.op == "If" and node.inputs and node.inputs[0] in taken:
            way = "true" if bool(np.all(taken[node.inputs[0]])) else "false"
            yield Finding(
                code="OPEN_DECISION",
                status=FindingStatus.CONFIRMED,
                effect=FindingEffect.NONE,
                node=node.name,
                tensors=(node.inputs[0],),
                summary=message(
                    "OPEN_DECISION.branch",
                    role=role,
                    node=node.name,
                    condition=node.inputs[0],
                    way=way,
                ),
                fix=message("FIX.clear_decision"),
            )
