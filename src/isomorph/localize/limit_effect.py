"""Search for an input that shows a limit of an activation which only one of two models has.

The candidate is of lower precision, and its given inputs may not reach the limit. On inputs that
do, the numbers at the limit are replaced by those of the reference, or those beyond it by the
limit. The outputs show whether this is what the reference computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import ATTRIBUTE_SCALES
from isomorph.core.ops import FUSED
from isomorph.core.stated_numbers import CONFIRMING_INPUTS
from isomorph.localize.attribute_effect import AttributeEffect
from isomorph.localize.input_search import other_inputs, scales_to
from isomorph.localize.output_effect import Effect, arranged_like, nearer, numeric
from isomorph.match.activation_limits import ActivationLimit, limits_of_one_side
from isomorph.match.attributes import AttributeDifference
from isomorph.match.topology import Topology
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.noise_draws import flattened
from isomorph.measure.precision import lower_precision, quantized

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.localize.input_search import Trial
    from isomorph.localize.weight_effect import ConstantExperiment

_Sides = tuple[EvaluatedModel, EvaluatedModel]


def shown_limit(experiment: ConstantExperiment) -> AttributeEffect:
    """Return the first limit that inputs show to be missing, or to be one too many.

    Nothing is tried where the candidate quantizes data: its own ranges limit larger data.
    """
    graphs = [side.model.graph for side in experiment.sides]
    if not lower_precision(graphs[0], graphs[1]) or experiment.calibrated():
        return AttributeEffect()
    if any(side.oracle().capabilities.feed != "all" for side in experiment.sides):
        return AttributeEffect()
    tried = 0
    for place, limits in enumerate(limits_of_one_side(graphs[0], graphs[1])):
        for limit in limits:
            found = _Search(experiment, limit, lacking=1 - place).effect()
            if found.difference is not None:
                return found
            tried = max(tried, found.tried)
    return AttributeEffect(tried=tried)


@dataclass(frozen=True, slots=True)
class _Nearest:
    """The tensor of the side without the limit that is nearest to the limited one."""

    name: str
    limited: Array
    free: Array


class _Search:
    """One limit; ``lacking`` is the side without it: 0 for the reference, 1 for the candidate."""

    def __init__(
        self, experiment: ConstantExperiment, limit: ActivationLimit, *, lacking: int
    ) -> None:
        self._experiment, self._limit, self._lacking = experiment, limit, lacking

    def effect(self) -> AttributeEffect:
        """Return what the inputs show; nothing where one of them refutes it."""
        shown: list[tuple[Trial, str]] = []
        count = 0
        for trial in self._inputs():
            count += 1
            try:
                reference = self._experiment.sides[0].with_feeds(trial.feeds)
                feeds = self._experiment.carry(reference)
                sides = reference, self._experiment.sides[1].with_feeds(feeds)
                seen, name = self._seen(sides)
            except (IsomorphError, ValueError, KeyError):
                continue  # an input that a model rejects shows nothing
            if seen is Effect.REFUTED:
                break
            if seen is Effect.SHOWN:
                shown.append((trial, name))
            if len(shown) == CONFIRMING_INPUTS and len({each for _, each in shown}) == 1:
                return AttributeEffect(
                    difference=self._difference(name), tried=count, responsible=True,
                    trial=shown[0][0],
                )  # fmt: skip
        return AttributeEffect(tried=count)

    def _inputs(self) -> Iterator[Trial]:
        model = self._experiment.sides[1 - self._lacking]
        scales = scales_to([self._limit.limit], [self._limit.tensor], model)
        yield from other_inputs(
            self._experiment.sides[0], self._experiment.terms, ties=False,
            scales=list(ATTRIBUTE_SCALES.first(scales)),
        )  # fmt: skip

    def _seen(self, sides: _Sides) -> tuple[Effect, str]:
        """Return whether the outputs come nearer with this number limited as in the reference."""
        nearest = self._nearest(sides)
        if nearest is None:
            return Effect.NOT_REACHED, ""
        limit = self._limit.limit
        beyond = nearest.free > limit
        if not beyond.any():
            return Effect.NOT_REACHED, nearest.name
        candidate = sides[1]
        if self._lacking:
            place, put = nearest.name, np.minimum(nearest.free, limit)
        else:
            place = self._limit.tensor
            put = np.where(beyond & (nearest.limited >= limit), nearest.free, nearest.limited)
        names = list(dict.fromkeys(spec.name for spec in candidate.model.graph.outputs))
        right = candidate.oracle().run(
            {**candidate.feeds, place: np.asarray(put, order="C")}, names
        )
        expected, actual = (numeric(side.oracle_outputs()) for side in sides)
        corrected = numeric(flattened(right))
        pairs = [
            (expected[pair.reference], actual[pair.candidate], corrected[pair.candidate])
            for pair in self._experiment.outputs
            if pair.reference in expected and pair.candidate in actual
        ]
        return nearer(pairs, on_grid=quantized(candidate.model.graph)), nearest.name

    def _nearest(self, sides: _Sides) -> _Nearest | None:
        """Return the tensor that is nearest up to the limit, and has numbers beyond it."""
        own, other = sides[1 - self._lacking], sides[self._lacking]
        limited = _values(own, [self._limit.tensor]).get(self._limit.tensor)
        if limited is None or not np.any(limited >= self._limit.limit):
            return None
        best: tuple[float, _Nearest] | None = None
        for name, value in _values(other, _computed(other.model.graph)).items():
            if value.size != limited.size:
                continue
            # Both in the candidate's arrangement, because its tensor is replaced.
            free, bound = value, limited
            if self._lacking:
                bound = arranged_like(limited, value)
            else:
                free = arranged_like(value, limited)
            apart = float(np.sum(np.square(free - bound)))
            if best is None or apart < best[0]:
                best = apart, _Nearest(name, bound, free)
        return None if best is None else best[1]

    def _difference(self, name: str) -> AttributeDifference:
        """Describe the limit as an attribute of the node that should have it, or should not."""
        other = self._experiment.sides[self._lacking].model.graph
        maker = Topology(other).maker[name]
        nodes = (maker, self._limit.node) if self._lacking == 0 else (self._limit.node, maker)
        counterpart, node = nodes
        words = f"a limit of {self._limit.limit:g}", "none"
        expected, actual = words if self._lacking else words[::-1]
        return AttributeDifference(
            node=node, counterpart=counterpart, name=_word(node), expected=expected, actual=actual
        )


def _word(node: Node) -> str:
    return FUSED if FUSED in node.attributes else "limit"


def _computed(graph: Graph) -> list[str]:
    """Return the results of all nodes that depend on the inputs."""
    live = Topology(graph).live
    return [name for node in graph.nodes for name in node.outputs if name and name in live]


def _values(model: EvaluatedModel, names: list[str]) -> dict[str, Array]:
    """Return those of these tensors that are arrays of real numbers, in float64."""
    found = model.oracle().run(model.feeds, names)
    arrays = {name: np.asarray(value) for name, value in found.items()}
    return {
        name: np.asarray(value, np.float64)
        for name, value in arrays.items()
        if value.dtype.kind == "f"
    }
