"""The order in which substitutions are tried."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from isomorph.core.limits import DISTANCE, SUBSTITUTIONS
from isomorph.localize.wrong_position import misplaced
from isomorph.localize.wrong_shape import resized

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search
    from isomorph.localize.substitution import Substitution
    from isomorph.match.tensor_capture import TensorCapture

FIRST_OF_RIGHT = SUBSTITUTIONS.most // 2
"""Substitutions of right tensors that are tried before those of wrong ones; the others after them.

The sizes of a decoder are equal by accident, so that one may stand for another in very many ways.
"""


def by_turns(
    of_right: Iterable[Iterator[Substitution]], of_wrong: Iterable[Iterator[Substitution]]
) -> Iterator[Iterator[Substitution]]:
    """Yield the layers of right tensors as far as a share of the limit goes, then all others."""
    left, put_off = FIRST_OF_RIGHT, []
    for layer in of_right:
        taken = _Counted(layer)
        yield islice(taken, left)
        left -= taken.count
        put_off.append(layer)
    yield from of_wrong
    yield from put_off


def of_right_tensors(
    search: Search, entries: Sequence[Node], wrong: Sequence[str]
) -> Iterator[Iterator[Substitution]]:
    """Yield substitutions of right tensors, the likeliest first."""
    yield from resized(search, wrong)
    yield from misplaced(search, entries, wrong)
    yield from resized(search, wrong, by_chance=True)


def unmatched_after(reference: TensorCapture, known: Collection[str]) -> list[str]:
    """Return the tensors of a model within a few nodes after ``known`` ones, nearest first."""
    topology, distance = reference.topology, dict[str, int]()
    for node in reference.graph.nodes:
        sources = topology.sources(node)
        if not sources:
            continue
        last = DISTANCE.most
        far = max(0 if name in known else distance.get(name, last) for name in sources)
        fresh = [name for name in node.outputs if name not in known]
        if fresh and far >= last:
            DISTANCE.reached()
        for name in fresh if far < last else ():
            # Values that are no numbers (a list of tensors) do not count as a step.
            distance[name] = far + (name in reference.values)
    there = [name for name in distance if name in reference.values]
    return sorted(there, key=lambda name: distance[name])


class LimitedTrials:
    """Takes substitutions up to the limit, and behind it the likeliest ones, as many again.

    Many tensors of a decoder have one size, and each may stand for any other, in several orders of
    axes. The place of a fault that is a few nodes away is then not reached by trying all of them.
    """

    def __init__(self, search: Search) -> None:
        self._search, self._tried, self._likely = search, 0, 0

    def of(self, layer: Iterable[Substitution]) -> Iterator[Substitution]:
        """Yield the substitutions of a layer that are tried."""
        for proposal in layer:
            if self._tried < SUBSTITUTIONS.most:
                self._tried += 1
                yield proposal
                continue
            SUBSTITUTIONS.reached()
            if self._likely == SUBSTITUTIONS.most:
                return
            if self._is_likely(proposal):
                self._likely += 1
                yield proposal

    def _is_likely(self, proposal: Substitution) -> bool:
        """Whether the same operator computes both tensors, in one shape and order of axes."""
        search = self._search
        maker = search.candidate.topology.maker.get(proposal.tensor)
        other = search.reference.topology.maker.get(proposal.counterpart)
        shape = search.reference.values[proposal.counterpart].shape
        return (
            maker is not None
            and other is not None
            and maker.op == other.op
            and shape == proposal.moved.shape
            and not proposal.moved.moves
        )


class _Counted:
    """An iterator that counts what was taken from it."""

    def __init__(self, layer: Iterator[Substitution]) -> None:
        self._layer, self.count = layer, 0

    def __iter__(self) -> Iterator[Substitution]:
        return self

    def __next__(self) -> Substitution:
        found = next(self._layer)
        self.count += 1
        return found
