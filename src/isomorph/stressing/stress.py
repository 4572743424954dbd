"""Search for the worst input of a pair, reduce it, and check the pair on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.check import check_pair
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import noted_limits
from isomorph.core.not_done import beyond
from isomorph.core.search_limits import MINIMIZING_TRIALS, STRESS_BUDGETS, STRESS_STARTS
from isomorph.core.stated_numbers import KEPT_RATIO
from isomorph.core.stress import Stress, StressFinding
from isomorph.inputs.extreme_search import differentiable, search, steps_along
from isomorph.inputs.feeds import Sample
from isomorph.inputs.input_space import ValueKind, input_range, input_space, measured_bounds
from isomorph.stressing.minimize import changed_elements, set_back
from isomorph.stressing.pair_ratio import PairRatio
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.report import Report
    from isomorph.core.trace import Array
    from isomorph.inputs.input_space import Bounds, InputSpace

Feeds = Mapping[str, "Array"]


@dataclass(kw_only=True)
class StressSearch:
    """A prepared pair, the samples to start from, and stated ranges of inputs."""

    prepared: PreparedPair
    samples: Sequence[Sample]
    stated: Mapping[str, Bounds]
    given_name: str = "worst input"
    """What the report of the check calls the input."""
    on_progress: Callable[[str, str], None] | None = None
    _ratio: PairRatio = field(init=False)
    _gradients: int = 0

    def stress(self) -> Stress:
        """The worst input that was found, and the check on it."""
        with noted_limits() as noted:
            found = self._stress()
        skipped = tuple(map(beyond, noted))
        return replace(found, skipped=skipped)

    def _stress(self) -> Stress:
        prepared, seed = self.prepared, self.prepared.options.seed
        graph = prepared.reference.model.graph
        self._ratio = PairRatio(prepared=prepared)
        feeds = [dict(prepared.reference.real(each.feeds)) for each in self.samples]
        shapes = {name: np.shape(value) for name, value in feeds[0].items()}
        alike = [each for each in feeds if all(np.shape(v) == shapes[n] for n, v in each.items())]
        space = input_space(graph, feeds[0], self.stated, measured_bounds(feeds))
        starts = [space.fitted(each) for each in STRESS_STARTS.first(alike)]
        self._report("start", f"{len(starts)} samples")
        known = [(each, self._ratio.exact(each)) for each in starts]
        place = max(range(len(known)), key=lambda at: _rank(known[at][1]))
        first, start_ratio = known[place]
        self._report("search", f"from {_rank(start_ratio):.3g} of the budget")
        worst = search(
            space,
            known,
            self._evaluate,
            np.random.default_rng([seed, 2]),
            propose=lambda best: self._proposed(space, best),
        )
        self._report("minimize", f"{worst.value:.3g} of the budget")
        least = self._minimized(space, worst.feeds, first, worst.value)
        ratio = self._ratio.exact(least)
        self._report("check", f"{ratio:.3g} of the budget")
        report = self._checked(least)
        return Stress(
            report=report,
            finding=finding_of(report),
            output=self._ratio.worst_output,
            ratio=ratio,
            start_ratio=start_ratio,
            origin=self.samples[place].origin if place < len(self.samples) else "",
            ranges=tuple(map(input_range, space.variables)),
            changed=changed_elements(least, first),
            elements=sum(int(np.size(value)) for value in least.values()),
            runs=self._ratio.runs,
            budgets=self._ratio.budgets,
            gradients=self._gradients,
            seed=seed,
            inputs=dict(least),
            version=VERSION,
        )

    def _evaluate(self, inputs: Sequence[Feeds]) -> list[float]:
        """The exact ratio of the few inputs whose runs are farthest apart; NaN for the others."""
        found = [math.nan] * len(inputs)
        if self._ratio.budgets >= STRESS_BUDGETS.most:
            STRESS_BUDGETS.reached()
            return found
        quick = self._ratio.quick(inputs)
        order = sorted(range(len(inputs)), key=lambda at: -_rank(quick[at]))
        for at in order[:2]:
            found[at] = self._ratio.exact(inputs[at])
        return found

    def _proposed(self, space: InputSpace, best: Feeds) -> list[Feeds]:
        """Steps along gradients, where an oracle can be differentiated."""
        found = (steps_along(space, best, each, (1.0, -1.0)) for each in self._slopes(best))
        return [feeds for each in found for feeds in each]

    def _slopes(self, best: Feeds) -> list[Mapping[str, Array]]:
        """Gradients at the element that differs most: of the reference, and of the difference.

        That of the difference needs both models differentiated, and is nothing where they agree.
        That of the reference leads to where its function bends, on either side.
        """
        prepared = self.prepared
        oracle = differentiable(prepared.reference.oracle())
        other = differentiable(prepared.candidate.oracle())
        if oracle is None:
            return []
        try:
            weights = self._ratio.differences(best)
            if not weights:
                return []
            own = oracle.gradients(best, weights)
            self._gradients += 1
            if other is None:
                return [own]
            names = {pair.reference: pair.candidate for pair in prepared.outputs}
            carried = {names[name]: weight for name, weight in weights.items()}
            other_slopes = other.gradients(self._ratio.carried(best), carried)
        except IsomorphError:
            return []
        inputs = {pair.reference: pair.candidate for pair in prepared.inputs}
        apart = {
            name: slope - other_slopes[inputs[name]]
            for name, slope in own.items()
            if inputs.get(name) in other_slopes and other_slopes[inputs[name]].shape == slope.shape
        }
        return [own, apart]

    def _minimized(self, space: InputSpace, worst: Feeds, first: Feeds, value: float) -> Feeds:
        """The worst input with elements of the first sample, or zeros, where the ratio stays."""
        least = KEPT_RATIO * value

        def holds(feeds: Feeds) -> bool:
            return _rank(self._ratio.exact(feeds)) >= least

        reduced, spent = set_back(worst, first, holds, MINIMIZING_TRIALS)
        zeros = {
            each.name: each.typed(np.zeros(each.shape))
            if each.kind is ValueKind.REAL and each.lower <= 0.0 <= each.upper
            else np.asarray(reduced[each.name])
            for each in space.variables
        }
        return set_back(reduced, zeros, holds, max(0, MINIMIZING_TRIALS - spent))[0]

    def _checked(self, feeds: Feeds) -> Report:
        """The check of the pair on exactly this input."""
        prepared = self.prepared
        stored = prepared.reference.whole(feeds)
        given = Sample(
            origin=self.given_name,
            feeds={name: np.asarray(value) for name, value in stored.items()},
            kind=InputKind.GIVEN,
        )
        reference, candidate = (
            each.as_stored() if each.reals else each
            for each in (prepared.reference, prepared.candidate)
        )
        return check_pair(reference, candidate, given, prepared.options)

    def _report(self, phase: str, detail: str) -> None:
        if self.on_progress is not None:
            self.on_progress(phase, detail)


def finding_of(report: Report) -> StressFinding:
    """What the check of the worst input shows."""
    if report.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}:
        return StressFinding.WITHIN
    beyond = [each for each in report.outputs if each.observed is not None and each.observed.beyond]
    alike = [each.rounding is not None and each.rounding.within for each in beyond]
    if beyond and all(alike):
        return StressFinding.ROUNDING_EXCEEDS_BUDGET
    if report.verdict is Verdict.DIVERGENT:
        shown = any(each.verdict is Verdict.DIVERGENT for each in report.outputs)
        return StressFinding.DIFFERENT_FUNCTION if shown else StressFinding.LATENT
    return StressFinding.UNDECIDED


def _rank(value: float) -> float:
    return -math.inf if math.isnan(value) else value
