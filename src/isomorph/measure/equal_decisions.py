"""Whether two graphs decide alike: the same labels, steps and comparisons in float64.

Rounding may move a value that jumps (Floor, TopK, a comparison), and then either side of the jump
is right. Where both oracles decide every such value alike, no jump explains a difference of their
outputs: what is left is judged by the noise around the jumps alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.noise_draws import spreads
from isomorph.measure.precision import jumping_nodes, jumps, quantized
from isomorph.measure.spread import Spread, merged

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.measure.comparand import Comparand


_Spreads = Mapping[str, Spread] | IsomorphError

Arranged = Callable[[Spread | None], Spread | None]
"""Puts the spread of the candidate's output into the order of the reference's."""


def held_spreads(
    reference: Comparand, candidate: Comparand, outputs: tuple[str, str], arranged: Arranged
) -> Sequence[Spread]:
    """Return the roundings of a pair of outputs that have to explain what jumps would explain.

    Where both sides take all decisions alike, it is that with every decision held. Where they do
    not, ties of one side explain nothing that the other decides clearly: of one side then only
    those jumps count that rounding makes while it keeps ties.
    """
    if not (isinstance(reference, EvaluatedModel) and isinstance(candidate, EvaluatedModel)):
        return ()
    left, right = _held(reference), _held(candidate)
    if left is None or right is None:
        return ()
    if left.digests == right.digests:
        drawn = merged(left.spread(outputs[0]), arranged(right.spread(outputs[1])))
        if drawn is not None:
            return (drawn,)
        # Without such draws: the rounding around the jumps of the draws that were made.
        whole = _of_both(reference.rounding(), candidate.rounding(), outputs, arranged)
        return () if whole is None else (replace(whole, reached=()),)
    one_tied = (
        _of_both(reference.rounding(), candidate.tied_rounding(), outputs, arranged),
        _of_both(reference.tied_rounding(), candidate.rounding(), outputs, arranged),
    )
    return [each for each in one_tied if each is not None]


def _of_both(
    reference: _Spreads, candidate: _Spreads, outputs: tuple[str, str], arranged: Arranged
) -> Spread | None:
    """Return what both sides round; None where one could not be drawn."""
    if isinstance(reference, IsomorphError) or isinstance(candidate, IsomorphError):
        return None
    return merged(reference.get(outputs[0]), arranged(candidate.get(outputs[1])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The decisions of one model on one sample."""

    evaluated: EvaluatedModel
    values: Mapping[str, Array]
    digests: Counter[str]

    def spread(self, name: str) -> Spread | None:
        """Return how far rounding moves an output while every decision stays as it is.

        None where a decision and the number that is returned are one (a remainder).
        """
        side = self.evaluated
        if side.oracle().capabilities.feed != "all" or not all(map(_whole, self.values.values())):
            return None
        outputs = side.oracle_outputs()
        if isinstance(outputs, IsomorphError) or name not in outputs:
            return None
        noise = Noise(seed=side.seed, rounding=True)
        try:
            feeds = {**side.feeds, **self.values}
            return spreads(side.oracle(), feeds, {name: outputs[name]}, noise)[name]
        except (IsomorphError, ValueError):
            return None


def decision_nodes(graph: Graph) -> tuple[Node, ...] | None:
    """Return the nodes of a graph whose results are decisions; None where others may decide."""
    bodies = [body for node in graph.nodes for body in node.bodies.values()]
    # A step of a quantizer hides in the numbers that it returns, and so does one in a body.
    if quantized(graph) or any(map(_decides_inside, bodies)):
        return None
    return tuple(node for node in jumping_nodes(graph) if not node.bodies)


def _held(evaluated: EvaluatedModel) -> Held | None:
    """Return the results of all nodes that decide; None where some are not known."""
    nodes, session = decision_nodes(evaluated.model.graph), evaluated.oracle()
    if nodes is None or evaluated.taken or session.capabilities.fetch != "all":
        return None
    names = dict.fromkeys(name for node in nodes for name in node.outputs if name)
    try:
        results = session.run(evaluated.feeds, list(names))
    except IsomorphError:
        return None
    held: dict[str, Array] = {}
    for node in nodes:
        values = {name: results[name] for name in node.outputs if name}
        known = {name: each for name, each in values.items() if isinstance(each, np.ndarray)}
        if len(known) < len(values) or not all(e.dtype.kind in "biuf" for e in known.values()):
            return None
        kept = {id(each) for each in decided(list(known.values()))}
        held.update({name: each for name, each in known.items() if id(each) in kept})
    digests = Counter(map(_digest, held.values()))
    return Held(evaluated=evaluated, values=held, digests=digests)


def _whole(value: Array) -> bool:
    """Whether all numbers are integers, which no rounding moves while the decision stays."""
    return value.dtype.kind != "f" or bool(np.all(np.isfinite(value) & (value == np.rint(value))))


def decided(results: Sequence[Array]) -> Sequence[Array]:
    """Return the decision among the results of a node: of indices and numbers, the indices."""
    return [value for value in results if value.dtype.kind != "f"] or results


def _decides_inside(body: Graph) -> bool:
    """Whether a body may make a discrete value of a float; its nodes read tensors from outside."""
    if jumps(body):
        return True
    whole = {
        name
        for name, spec in (*body.tensors.items(), *((spec.name, spec) for spec in body.inputs))
        if spec.dtype and "float" not in spec.dtype
    }
    whole.update(name for name, each in body.constants.items() if "float" not in each.dtype)
    return any(
        any(name in whole for name in node.outputs)
        and not whole.issuperset(filter(None, node.inputs))
        for node in body.nodes
    )


def _digest(value: Array) -> str:
    # -0.0 and 0.0 are one decision.
    whole = np.ascontiguousarray(value, np.float64) + 0.0
    return sha256(repr(whole.shape).encode() + whole.tobytes()).hexdigest()
