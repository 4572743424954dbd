"""Search for an input on which an attribute that differs changes the outputs.

Between models of the same precision, an input on which the outputs differ beyond every budget is
the proof. A candidate of lower precision differs on many inputs by design: there nodes change
places. Either two inputs show that the outputs come closer to the reference's with its node in the
candidate, or the reference is another function with the candidate's node, which works on the same
data, and no input shows that something compensates for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import ATTRIBUTE_SCALES, SHOWN_INPUTS
from isomorph.core.messages import message
from isomorph.core.stated_numbers import CONFIRMING_INPUTS
from isomorph.localize.input_search import Trial, other_inputs, scales_to
from isomorph.localize.output_effect import (
    Effect,
    arranged_like,
    differ_as_stored,
    nearer,
    numeric,
)
from isomorph.localize.rounded_attributes import is_rounded, is_stored_rounded
from isomorph.match.attributes import AttributeDifference, apart_in_lists, numbers_of
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.match.rounded_weights import narrowed
from isomorph.match.topology import Topology
from isomorph.measure.budget_check import judge
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.noise_draws import flattened
from isomorph.measure.precision import QUANTIZED_OPS, lower_precision, quantized
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.localize.weight_effect import ConstantExperiment

_NARROW = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeEffect:
    """The result of a search: the attribute and the input that shows it, if one does."""

    difference: AttributeDifference | None = None
    tried: int = 0
    trial: Trial | None = None
    output: str | None = None
    responsible: bool = False
    """Whether the reference's attribute restores the outputs."""


class AttributeExperiment:
    """The search for inputs that show one of several attributes that differ."""

    def __init__(
        self, experiment: ConstantExperiment, differences: Sequence[AttributeDifference]
    ) -> None:
        self._experiment, self._sides = experiment, experiment.sides
        graphs = [side.model.graph for side in self._sides]
        self._live = [Topology(graph).live for graph in graphs]
        self._lower = lower_precision(*graphs)
        self.differences = [each for each in differences if not self._by_precision(each)]

    def _by_precision(self, difference: AttributeDifference) -> bool:
        """Whether lower precision explains the difference: a quantizer, or a rounded number."""
        if not self._lower:
            return False
        if difference.node.op in QUANTIZED_OPS:
            return True
        expected, actual = difference.expected, difference.actual
        types = [dtype for dtype in _NARROW if dtype in self._lower]
        if isinstance(expected, float) and isinstance(actual, float):
            return any(is_rounded(expected, actual, dtype) for dtype in types)
        if isinstance(expected, Mapping) and isinstance(actual, Mapping):
            return actual.get("dtype") in types and is_stored_rounded(expected, actual)
        return False

    def effect(self) -> AttributeEffect:
        """Return the first attribute that an input shows."""
        if not self.differences:
            return AttributeEffect()
        return self._of_lower_precision() if self._lower else self._by_outputs()

    def _by_outputs(self) -> AttributeEffect:
        """Search for an input on which the outputs are beyond every budget."""
        count = judged = 0
        for trial in self._inputs():
            count += 1
            try:
                ref, cand = self._evaluated(trial)
                if self._experiment.screened(ref, cand) is Effect.NOT_REACHED:
                    continue
                found = self._experiment.judged(ref, cand, trial, Effect.UNDECIDED)
            except (IsomorphError, ValueError):
                continue  # an input that a model rejects shows nothing
            judged += 1
            if found.divergent:
                shown = self._responsible(ref, cand)
                if shown is not None or not trial.resized:
                    return AttributeEffect(
                        difference=shown or self.differences[0], tried=count, trial=trial,
                        output=found.output, responsible=shown is not None,
                    )  # fmt: skip
            if judged >= SHOWN_INPUTS.most:
                SHOWN_INPUTS.reached()
                break
        return AttributeEffect(tried=count)

    def _responsible(self, ref: EvaluatedModel, cand: EvaluatedModel) -> AttributeDifference | None:
        """Return the attribute whose value in the reference restores the outputs."""
        for each in self.differences:
            if self._seen(ref, cand, each) is Effect.SHOWN:
                return each
        return None

    def _of_lower_precision(self) -> AttributeEffect:
        tried = 0
        for difference in self.differences:
            found = self._exchanged(difference)
            if found.difference is not None:
                return found
            tried = max(tried, found.tried)
        return AttributeEffect(tried=tried)

    def _exchanged(self, difference: AttributeDifference) -> AttributeEffect:
        """Exchange the two nodes on every input."""
        shown: list[Trial | None] = []
        moved: list[Trial | None] = []
        count = 0
        for trial in (None, *self._inputs()):
            count += 1
            try:
                ref, cand = self._sides if trial is None else self._evaluated(trial)
                seen = self._seen(ref, cand, difference)
                if seen is not Effect.REFUTED and not moved and self._moves(ref, cand, difference):
                    moved.append(trial)
            except (IsomorphError, ValueError):
                continue  # an input that a model rejects shows nothing
            if seen is Effect.REFUTED:
                return AttributeEffect(tried=count)
            if seen is Effect.SHOWN:
                shown.append(trial)
            if len(shown) == CONFIRMING_INPUTS:
                break
        if len(shown) < CONFIRMING_INPUTS and not (moved and self._on_same_data(difference)):
            return AttributeEffect(tried=count)
        by = shown if len(shown) == CONFIRMING_INPUTS else moved
        return AttributeEffect(
            difference=difference, tried=count, responsible=True,
            trial=next((each for each in by if each is not None), None),
        )  # fmt: skip

    def _moves(
        self, ref: EvaluatedModel, cand: EvaluatedModel, difference: AttributeDifference
    ) -> bool:
        """Whether the candidate's node moves the reference's outputs by more than rounding."""
        if difference.holder is not None:
            return False
        node, counterpart = difference.node, difference.counterpart
        try:
            other = self._with_other(ref, cand, counterpart, node, self._live)
            outputs, spreads = ref.oracle_outputs(), ref.rounding()
        except (IsomorphError, ValueError, KeyError):
            return False
        if (
            other is None
            or isinstance(outputs, IsomorphError)
            or isinstance(spreads, IsomorphError)
        ):
            return False
        types = {spec.name: spec.dtype or "float32" for spec in ref.model.graph.outputs}
        return any(
            judge(
                other[name], outputs[name], spread,
                dtype=types[name], derivation="", false_alarm=self._experiment.terms.false_alarm,
            ).beyond
            for name, spread in spreads.items()
            if name in other and name in types and other[name].shape == outputs[name].shape
        )  # fmt: skip

    def _on_same_data(self, difference: AttributeDifference) -> bool:
        """Whether no other node of the operator reads data closer to the candidate's node."""
        ref, cand = self._sides
        reads = _live(difference.node.inputs, self._live[1])[:1]
        rivals = [
            (each.name, name)
            for each in ref.model.graph.nodes
            if each.op == difference.counterpart.op
            for name in _live(each.inputs, self._live[0])[:1]
        ]
        if not reads or not rivals or not self._with_same_weights(difference):
            return False
        try:
            actual = np.asarray(cand.oracle().run(cand.feeds, reads)[reads[0]], np.float64)
            names = list(dict.fromkeys(name for _, name in rivals))
            values = ref.oracle().run(ref.feeds, names)
        except (IsomorphError, ValueError):
            return False
        apart = {
            node: float(np.sum(np.square(arranged_like(value, actual) - actual)))
            for node, name in rivals
            if (value := np.asarray(values[name], np.float64)).size == actual.size
        }
        own = apart.get(difference.counterpart.name)
        return own is not None and own <= min(apart.values())

    def _with_same_weights(self, difference: AttributeDifference) -> bool:
        """Whether both nodes read the same constants, up to a rounding to a narrower float.

        Another constant may compensate for the attribute: an epsilon that is part of a variance.
        """
        ref, cand = self._sides
        pairs = [
            (one, two)
            for one, two in zip(difference.counterpart.inputs, difference.node.inputs, strict=False)
            if one and two and one not in self._live[0] and two not in self._live[1]
        ]
        if not pairs:
            return True
        try:
            here = ref.oracle().run(ref.feeds, list(dict.fromkeys(one for one, _ in pairs)))
            there = cand.oracle().run(cand.feeds, list(dict.fromkeys(two for _, two in pairs)))
        except (IsomorphError, ValueError):
            return False
        types = [dtype for dtype in _NARROW if dtype in self._lower]
        for one, two in pairs:
            value, other = np.asarray(here[one]), np.asarray(there[two])
            rounded = [narrowed(value, dtype) for dtype in types if value.dtype.kind == "f"]
            if not any(np.array_equal(each, other) for each in (value, *rounded)):
                return False
        return True

    def _evaluated(self, trial: Trial) -> tuple[EvaluatedModel, EvaluatedModel]:
        reference, candidate = self._sides
        ref = reference.with_feeds(trial.feeds)
        feeds = self._experiment.carry(ref)
        if trial.resized and not _declared(feeds, candidate.model.graph):
            raise ValueError(trial.recipe)  # an oracle computes sizes that a model does not declare
        return ref, candidate.with_feeds(feeds)

    def _inputs(self) -> Iterator[Trial]:
        reference = self._sides[0]
        if any(side.oracle().capabilities.feed != "all" for side in self._sides):
            return
        # A quantizer saturates on data that is larger than what it was calibrated on.
        calibrated = self._experiment.calibrated()
        yield from other_inputs(
            reference, self._experiment.terms, first=list(self._between_numbers()),
            scales=self._scales, sizes=True, beyond_given=not calibrated,
            ties=self._experiment.one_framework,
        )  # fmt: skip

    def _between_numbers(self) -> Iterator[Trial]:
        """Yield inputs between the numbers of lists that differ: thresholds of a tree.

        Each element of an input that a node reads is drawn from between two numbers of the list,
        every second one from between two that differ.
        """
        reference = self._sides[0]
        given = {name: np.asarray(value) for name, value in reference.feeds.items()}
        random = np.random.default_rng([reference.seed, len(self.differences)])
        for each in self.differences:
            apart = apart_in_lists(each.expected, each.actual)
            names = [n for n in each.counterpart.inputs if n in given]
            floats = [name for name in names if given[name].dtype.kind == "f"]
            if not apart or not floats or each.holder is not None:
                continue
            numbers = np.unique([*each.expected, *each.actual]).astype(np.float64)
            middles = (numbers[1:] + numbers[:-1]) / 2.0
            inner = np.array([(one + two) / 2.0 for one, two in apart])
            everywhere = np.concatenate([middles, inner, [numbers[0] - 1.0, numbers[-1] + 1.0]])
            for place in range(SHOWN_INPUTS.most):
                feeds = dict(given)
                for name in floats:
                    value = given[name]
                    drawn = random.choice(everywhere, value.shape)
                    chosen = random.random(value.shape) < 0.5
                    drawn = np.where(chosen, random.choice(inner, value.shape), drawn)
                    feeds[name] = drawn.astype(value.dtype)
                recipe = message("INPUT.between_numbers", name=each.name, draw=place + 1)
                yield Trial(recipe=recipe, feeds=feeds, kind=InputKind.GENERATED)

    @cached_property
    def _scales(self) -> tuple[float, ...]:
        """Factors of the inputs that bring data of the nodes to the numbers of their attributes."""
        found: list[float] = []
        for each in self.differences:
            if each.holder is None:
                names = _live(each.counterpart.inputs, self._live[0])
                numbers = numbers_of(each.node) | numbers_of(each.counterpart)
                found += scales_to(numbers, names, self._sides[0])
        return tuple(ATTRIBUTE_SCALES.first(dict.fromkeys(found)))

    def _seen(
        self, ref: EvaluatedModel, cand: EvaluatedModel, difference: AttributeDifference
    ) -> Effect:
        """Return whether the reference is closer to the corrected outputs or the actual ones."""
        if difference.holder is not None:
            return Effect.UNDECIDED
        try:
            node, counterpart = difference.node, difference.counterpart
            live = self._live[::-1]
            right = self._with_other(cand, ref, node, counterpart, live)
            actual = numeric(cand.oracle_outputs())
            expected = numeric(ref.oracle_outputs())
        except (IsomorphError, ValueError, KeyError):
            return Effect.UNDECIDED
        if right is None:
            return Effect.UNDECIDED
        if not differ_as_stored(actual, right):
            return Effect.NOT_REACHED
        pairs = [
            (expected[pair.reference], actual[pair.candidate], right[pair.candidate])
            for pair in self._experiment.outputs
            if pair.reference in expected and pair.candidate in actual and pair.candidate in right
        ]
        return nearer(pairs, on_grid=quantized(cand.model.graph))

    @staticmethod
    def _with_other(
        model: EvaluatedModel,
        other: EvaluatedModel,
        node: Node,
        replacement: Node,
        live: Sequence[frozenset[str]],
    ) -> Mapping[str, Array] | None:
        """Return the outputs of a model with a node of the other one in place of its own.

        It reads what its own node read, weights as well: those of the other model have another
        precision, or another form with which its attributes belong together.
        """
        pairs = list(zip(node.inputs, replacement.inputs, strict=False))
        reads = [(one, two) for one, two in pairs if one and two]
        places, made = ([each for each in side.outputs if each] for side in (node, replacement))
        if (
            not any(one in live[0] and two in live[1] for one, two in reads)
            or any(bool(one) != bool(two) for one, two in pairs)
            or len(node.inputs) != len(replacement.inputs)
            or len(made) != len(places)
        ):
            return None
        given = model.oracle().run(model.feeds, list(dict.fromkeys(one for one, _ in reads)))
        own, others = (quantization_by_tensor(each.model.graph) for each in (model, other))
        if any(two in others and one not in own for one, two in reads) or any(
            name in own and each not in others for name, each in zip(places, made, strict=True)
        ):
            return None  # real numbers would have to be rounded to a grid
        fed = {
            two: real_values(np.asarray(given[one]), own[one])
            if one in own and two not in others
            else given[one]
            for one, two in reads
        }
        results = other.oracle().run({**other.feeds, **fed}, made)
        put = {name: results[each] for name, each in zip(places, made, strict=True)}
        names = list(dict.fromkeys(spec.name for spec in model.model.graph.outputs))
        return numeric(flattened(model.oracle().run({**model.feeds, **put}, names)))


def _declared(feeds: Mapping[str, Array], graph: Graph) -> bool:
    """Whether all sizes are those that a graph declares for its inputs."""
    sizes = {spec.name: spec.shape for spec in graph.inputs if spec.shape is not None}
    return all(
        not isinstance(size, int) or size == actual
        for name, value in feeds.items()
        for size, actual in zip(sizes.get(name, ()), value.shape, strict=False)
    )


def _live(names: Sequence[str], live: frozenset[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name in live]
