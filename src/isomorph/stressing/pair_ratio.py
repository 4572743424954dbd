"""How far two models are apart on an input, relative to the budget that is derived there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.node_runs import run_all
from isomorph.checking.compare import comparison_terms
from isomorph.core.errors import IsomorphError
from isomorph.core.trace import RunRequest
from isomorph.measure.compare import Terms, compare

if TYPE_CHECKING:
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.divergence import Divergence
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.input_layout import Layout

Feeds = Mapping[str, "Array"]


@dataclass(slots=True, kw_only=True)
class PairRatio:
    """Both models of a pair, on many inputs.

    ``scales`` are the budgets of the outputs at the last input for which they were derived, by the
    reference's name.
    """

    prepared: PreparedPair
    runs: int = 0
    budgets: int = 0
    scales: dict[str, float] = field(default_factory=dict)
    worst_output: str | None = None
    _layouts: tuple[Layout, ...] | None = None

    def exact(self, feeds: Feeds) -> float:
        """The largest ratio of all outputs, by a budget that is derived at this input."""
        try:
            sides = self._sides(feeds)
            judged = compare(*sides, self.prepared.outputs, self._terms()).divergences
        except (IsomorphError, ValueError):
            return math.nan  # an input that a model rejects shows nothing
        self.runs += 1
        self.budgets += 1
        ratios = {each.reference_output or "": ratio_of(each) for each in judged}
        for each in judged:
            term = each.intended_loss or each.observed
            if term is not None and term.budget.allowed_max:
                self.scales[each.reference_output or ""] = term.budget.allowed_max
        known = {name: ratio for name, ratio in ratios.items() if not math.isnan(ratio)}
        if not known:
            return math.nan
        self.worst_output = max(known, key=lambda name: known[name])
        return known[self.worst_output]

    def quick(self, inputs: Sequence[Feeds]) -> list[float]:
        """The largest difference of the runs over the last known budget, for each input."""
        prepared = self.prepared
        names = [pair.reference for pair in prepared.outputs]
        others = [pair.candidate for pair in prepared.outputs]
        try:
            carried = [self.carried(feeds) for feeds in inputs]
            left = run_all(prepared.reference.run(), [_request(f, names) for f in inputs])
            right = run_all(prepared.candidate.run(), [_request(f, others) for f in carried])
        except (IsomorphError, ValueError):
            return [math.nan] * len(inputs)
        self.runs += len(inputs)
        return [
            max(
                (
                    self._distance(name, one.get(name), two.get(other))
                    for name, other in zip(names, others, strict=True)
                ),
                default=math.nan,
            )
            for one, two in zip(left, right, strict=True)
        ]

    def _distance(self, name: str, left: object, right: object) -> float:
        if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
            return 0.0
        if left.shape != right.shape or left.dtype.kind not in "fiu":
            return 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(left.astype(np.float64) - right.astype(np.float64))
        largest = float(np.max(apart[np.isfinite(apart)], initial=0.0))
        return largest / self.scales.get(name, 1.0)

    def differences(self, feeds: Feeds) -> dict[str, Array]:
        """Where each output of the reference differs most: the sign at that element, else zero."""
        prepared, found = self.prepared, {}
        left = prepared.reference.run().run(feeds, [pair.reference for pair in prepared.outputs])
        right = prepared.candidate.run().run(
            self.carried(feeds), [pair.candidate for pair in prepared.outputs]
        )
        for pair in prepared.outputs:
            one, two = left.get(pair.reference), right.get(pair.candidate)
            if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray):
                continue
            if one.shape != two.shape or one.dtype.kind != "f" or not one.size:
                continue
            apart = one.astype(np.float64) - two.astype(np.float64)
            apart = np.where(np.isfinite(apart), apart, 0.0)
            weight = np.zeros(one.shape)
            place = int(np.abs(apart).argmax())
            weight.reshape(-1)[place] = float(np.sign(apart.reshape(-1)[place]) or 1.0)
            found[pair.reference] = weight / self.scales.get(pair.reference, 1.0)
        return found

    def _terms(self) -> Terms:
        prepared = self.prepared
        left, right = prepared.reference.model, prepared.candidate.model
        channels = left.channels_last != right.channels_last
        # What re-rounded constants explain has no part in the difference of two runs.
        return replace(comparison_terms(prepared.options, channels=channels), allowance=False)

    def _sides(self, feeds: Feeds) -> tuple[EvaluatedModel, EvaluatedModel]:
        ref = self.prepared.evaluated(self.prepared.reference, feeds)
        return ref, self.prepared.evaluated(self.prepared.candidate, self.carried(feeds))

    def carried(self, feeds: Feeds) -> Feeds:
        """The candidate's feeds; the order of its axes is chosen once."""
        ref = self.prepared.evaluated(self.prepared.reference, feeds)
        if self._layouts is None:
            self._layouts = self.prepared.layouts(ref)
        return self.prepared.arrange(ref, self._layouts).feeds


def ratio_of(divergence: Divergence) -> float:
    """The error of the runs over its budget; over the intended loss, where one is intended."""
    term = divergence.intended_loss or divergence.observed
    ratio = term.budget.ratio if term is not None else None
    return math.nan if ratio is None else ratio


def _request(feeds: Feeds, fetch: Sequence[str]) -> RunRequest:
    return RunRequest(feeds=feeds, fetch=list(dict.fromkeys(fetch)))
