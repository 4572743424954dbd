"""Test whether a weight that differs changes the outputs, by replacing its values.

The candidate's oracle runs with the weight as it is and with the reference's values, on the given
inputs and then on others until the two results differ. The reference then decides which of the two
is right. A rewrite that another change compensates for is refuted in this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import SHOWN_INPUTS
from isomorph.core.stated_numbers import CONFIRMING_INPUTS, SAME_DATA_INPUTS
from isomorph.localize.input_search import (
    Carry,
    Trial,
    one_framework,
    other_inputs,
    shown_differences,
)
from isomorph.localize.only_difference import only_difference
from isomorph.localize.output_effect import (
    ConstantEffect,
    Effect,
    differ_as_stored,
    near_outputs,
    nearer,
    numeric,
    same_text,
)
from isomorph.localize.replaced_weight import corrected_weight, replaced_readers
from isomorph.localize.same_operand import (
    applied_to_same_data,
    readers_of_both,
    reads_same_data,
)
from isomorph.localize.weight_inputs import (
    equal_operands,
    scales_to_limits,
    selected_rows,
)
from isomorph.match.attributes import attribute_differences
from isomorph.match.structural_constants import Isolation, is_limit, is_unused
from isomorph.match.topology import Topology
from isomorph.measure.compare import Terms
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.noise_draws import flattened
from isomorph.measure.precision import lower_precision, quantized
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.stored_weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantExperiment:
    """Both models on the given inputs, and how other inputs are converted for the candidate."""

    sides: tuple[EvaluatedModel, EvaluatedModel]
    outputs: Sequence[Binding]
    terms: Terms
    carry: Carry = field(repr=False)

    @property
    def one_framework(self) -> bool:
        """Whether both models are of one framework, so that ties are broken alike."""
        return one_framework(self.sides)

    def effect(self, difference: ConstantDifference) -> ConstantEffect:
        """Return the effect of the difference, on the given inputs or others of a search."""
        reference, candidate = self.sides
        replaced = corrected_weight(difference, candidate) if difference.replaceable else None
        if replaced is None and difference.replaceable:
            return ConstantEffect(effect=Effect.NOT_REACHED)
        best = ConstantEffect(effect=Effect.NOT_REACHED)
        count = judged = against = 0
        most_against = self._refuting_inputs(difference)
        for trial in self._trials(difference):
            count += 1
            try:
                ref = reference if trial is None else reference.with_feeds(trial.feeds)
                cand = candidate if trial is None else candidate.with_feeds(self.carry(ref))
                seen = self._seen(ref, cand, difference, replaced)
                if seen is Effect.REFUTED and self._restores(ref, cand, difference):
                    seen = Effect.UNDECIDED
            except (IsomorphError, ValueError):
                continue  # an input that a model rejects shows nothing
            against += (seen is Effect.REFUTED) - (seen is Effect.SHOWN)
            if against == most_against:
                return ConstantEffect(effect=Effect.REFUTED, tried=count)
            if seen is Effect.NOT_REACHED:
                continue
            if seen is Effect.REFUTED:
                seen = Effect.UNDECIDED  # other inputs may tell the opposite
            if seen is Effect.UNDECIDED and difference.replaceable and not difference.certain:
                continue  # another fault may be what differs here
            found = self.judged(ref, cand, trial, seen)
            if best.effect is not Effect.SHOWN or found.divergent:
                best = found
            judged += 1
            if found.divergent:
                break
            if judged >= SHOWN_INPUTS.most:
                SHOWN_INPUTS.reached()
                break
        return ConstantEffect(
            effect=best.effect, tried=count, trial=best.trial, given=best.given,
            output=best.output, divergent=best.divergent,
        )  # fmt: skip

    def _refuting_inputs(self, difference: ConstantDifference) -> int:
        """Return how many more inputs must refute a difference than show it.

        All other weights of a narrower candidate are rounded too. What that moves is not
        independent between the elements of an output, and outweighs a wrong weight on one input by
        chance.
        """
        by_chance = bool(lower_precision(*(side.model.graph for side in self.sides)))
        return CONFIRMING_INPUTS if by_chance and difference.certain else 1

    def reads_same_data(
        self, difference: ConstantDifference, weights: tuple[Weights, Weights]
    ) -> bool:
        """Whether the only constant that differs is identified by the data its node reads."""
        replaced = corrected_weight(difference, self.sides[1])
        tried = self._tried(difference)
        return replaced is not None and reads_same_data(difference, weights, tried, replaced)

    def only_rounded_otherwise(
        self, difference: ConstantDifference, weights: tuple[Weights, Weights]
    ) -> bool:
        """Whether a narrower candidate differs in this constant alone, beside its rounding.

        Nothing else is left that could make up for it: no constant and no attribute.
        """
        models = [side.model for side in self.sides]
        lower = lower_precision(models[0].graph, models[1].graph)
        if not lower or quantized(models[1].graph) or is_limit(difference.weight):
            return False
        nodes = readers_of_both(difference, weights)
        return nodes is not None and not attribute_differences(*models)

    def applied_to_same_data(
        self, difference: ConstantDifference, weights: tuple[Weights, Weights]
    ) -> bool:
        """Whether a weight without an equal and its counterpart are applied to the same data."""
        return applied_to_same_data(difference, weights, self._tried(difference))

    def only_difference(
        self, difference: ConstantDifference, weights: tuple[Weights, Weights]
    ) -> bool:
        """Whether nothing else differs from the node on that reads a constant."""
        if is_unused(difference.weight):
            return False
        if is_limit(difference.weight):
            return self.reads_same_data(difference, weights)
        return only_difference(difference, weights, self._tried(difference))

    def _tried(self, difference: ConstantDifference) -> list[tuple[EvaluatedModel, EvaluatedModel]]:
        """Both models on the given inputs and on some others; none where nothing can be fed."""
        reference, candidate = self.sides
        if reference.oracle().capabilities.feed != "all":
            return []
        pairs = [(reference, candidate)]
        for trial in self._trials(difference):
            if trial is None or len(pairs) > SAME_DATA_INPUTS:
                continue
            try:
                ref = reference.with_feeds(trial.feeds)
                pairs.append((ref, candidate.with_feeds(self.carry(ref))))
            except (IsomorphError, ValueError):
                continue
        return pairs

    def counts(
        self,
        difference: ConstantDifference,
        effect: ConstantEffect,
        weights: tuple[Weights, Weights],
    ) -> bool:
        """Whether a constant identified by its position changes the function unnoticed."""
        if effect.effect is not Effect.NOT_REACHED:
            return False  # an input reaches it, and the outputs are judged there
        if difference.isolation is Isolation.ONLY_LIMIT:
            return self.reads_same_data(difference, weights)
        return difference.isolation is Isolation.ONLY or self.unmoved(difference)

    def unmoved(self, difference: ConstantDifference) -> bool:
        """Whether the readers of a constant compute the same with the reference's values."""
        reference, candidate = self.sides
        replaced, name = corrected_weight(difference, candidate), difference.weight.name
        if replaced is None:
            return False
        read = dict.fromkeys(e for r in difference.weight.readers for e in r.node.outputs if e)
        generated = 0
        for trial in self._trials(difference):
            if trial is not None and generated > SAME_DATA_INPUTS:
                break
            try:
                ref = reference if trial is None else reference.with_feeds(trial.feeds)
                feeds = candidate.feeds if trial is None else self.carry(ref)
                actual = numeric(flattened(candidate.oracle().run(feeds, list(read))))
                replaced_feeds = {**feeds, name: replaced}
                right = numeric(flattened(candidate.oracle().run(replaced_feeds, list(read))))
            except (IsomorphError, ValueError):
                continue  # an input that a model rejects shows nothing
            if differ_as_stored(actual, right):
                return False
            generated += trial is not None and trial.kind is InputKind.GENERATED
        return generated > 0

    def _trials(self, difference: ConstantDifference) -> Iterator[Trial | None]:
        reference = self.sides[0]
        yield None
        if reference.oracle().capabilities.feed != "all":
            return
        own = {name: np.asarray(value) for name, value in reference.feeds.items()}
        rows = list(selected_rows(reference.model.graph, own, difference))
        rows += equal_operands(reference.model.graph, own, difference)
        scales = list(scales_to_limits(difference, self.sides[1]))
        yield from other_inputs(
            reference, self.terms, first=rows, scales=scales, ties=self.one_framework
        )

    def _seen(
        self,
        ref: EvaluatedModel,
        cand: EvaluatedModel,
        difference: ConstantDifference,
        replaced: Array | None,
    ) -> Effect:
        """Return which of the two results the reference is closer to, if they differ."""
        name = difference.weight.name
        if replaced is None:
            return self.screened(ref, cand)
        names = list(dict.fromkeys(spec.name for spec in cand.model.graph.outputs))
        readers = replaced_readers(cand, {name: replaced})
        if readers is not None and readers.same:
            return Effect.NOT_REACHED
        given = {name: replaced} if readers is None else readers.after
        actual = numeric(cand.oracle_outputs())
        right = numeric(flattened(cand.oracle().run({**cand.feeds, **given}, names)))
        if not differ_as_stored(actual, right):
            return Effect.NOT_REACHED
        expected = numeric(ref.oracle_outputs())
        pairs = [
            (expected[pair.reference], actual[pair.candidate], right[pair.candidate])
            for pair in self.outputs
            if pair.reference in expected and pair.candidate in actual and pair.candidate in right
        ]
        # Where all numbers are off alike, and nothing else is left to make up for that.
        corrected = difference.count if difference.grid is not None and difference.certain else None
        return nearer(pairs, on_grid=quantized(cand.model.graph), corrected=corrected)

    def _restores(
        self, ref: EvaluatedModel, cand: EvaluatedModel, difference: ConstantDifference
    ) -> bool:
        """Whether the outputs come to the reference's with all values of the counterpart.

        The other numbers of a narrow weight are rounded too, and what they move may outweigh the
        wrong ones by chance. Then nothing else compensates for these.
        """
        narrow = unit_roundoff(difference.weight.dtype) > unit_roundoff("float32")
        if difference.origin is None or not narrow or difference.store is not None:
            return False
        name = difference.weight.name
        stored = np.asarray(cand.oracle().run({}, [name])[name])
        whole = np.asarray(difference.origin, np.float64, order="C")
        if stored.dtype != np.float64 or stored.shape != whole.shape:
            return False
        return self._seen(ref, cand, difference, whole) is Effect.SHOWN

    def screened(self, ref: EvaluatedModel, cand: EvaluatedModel) -> Effect:
        """Return whether outputs are worth judging, where nothing can be replaced."""
        expected, actual = ref.oracle_outputs(), cand.oracle_outputs()
        near = near_outputs(numeric(expected), numeric(actual), self.outputs)
        near = near and same_text(expected, actual, self.outputs)
        return Effect.NOT_REACHED if near else Effect.UNDECIDED

    def judged(
        self, ref: EvaluatedModel, cand: EvaluatedModel, trial: Trial | None, seen: Effect
    ) -> ConstantEffect:
        """Compare the outputs on one input; ``seen`` is what is known of them.

        Quantizers are calibrated for the given inputs: on others the candidate may lose more, so
        outputs beyond their budgets count only where the reference's numbers restore them.
        """
        wrong = shown_differences((ref, cand), self.sides, self.outputs, self.terms)
        if trial is not None and seen is not Effect.SHOWN and wrong and self.calibrated():
            wrong = []
        return ConstantEffect(
            effect=Effect.SHOWN if wrong else seen,
            trial=trial,
            given=trial is None,
            output=str(wrong[0].candidate_output) if wrong else None,
            divergent=bool(wrong),
        )

    def calibrated(self) -> bool:
        """Whether the candidate quantizes data with ranges of its own."""
        graphs = [side.model.graph for side in self.sides]
        live = Topology(graphs[1]).live
        static = any(each.scale and each.tensor in live for each in graphs[1].quantization)
        return static and bool(lower_precision(*graphs))
