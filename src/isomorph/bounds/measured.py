"""The least and the largest value of every tensor over runs of the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.node_runs import run_all
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import BATCH_BYTES
from isomorph.core.trace import RunRequest

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array


@dataclass(slots=True, kw_only=True)
class MeasuredRanges:
    """What was measured so far; ``recipes`` are the inputs that gave each extreme.

    ``bytes_each`` is the size of all tensors of one run.
    """

    session: Session
    names: Sequence[str]
    bytes_each: int
    lower: dict[str, float] = field(default_factory=dict)
    upper: dict[str, float] = field(default_factory=dict)
    extremes: dict[str, tuple[Mapping[str, Array], str]] = field(default_factory=dict)
    nan: set[str] = field(default_factory=set)
    """The tensors that held NaN in some run."""
    runs: int = 0

    def magnitude(self, name: str) -> float:
        """The largest absolute value that was measured."""
        return max(abs(self.lower.get(name, 0.0)), abs(self.upper.get(name, 0.0)))

    def measure(self, samples: Sequence[tuple[Mapping[str, Array], str]]) -> None:
        """Run every tensor on samples, each with words for how it was made."""
        batch = max(1, BATCH_BYTES // max(1, self.bytes_each))
        for start in range(0, len(samples), batch):
            part = samples[start : start + batch]
            for (feeds, recipe), found in zip(part, self._runs(part), strict=True):
                for name, value in found.items():
                    self._note(name, np.asarray(value), feeds, recipe)

    def magnitudes(
        self, name: str, inputs: Sequence[Mapping[str, Array]], others: Sequence[str] = ()
    ) -> list[float]:
        """The largest absolute value of one tensor for each input; NaN where a run fails.

        ``others`` are measured beside it.
        """
        fetch = list(dict.fromkeys((name, *others)))
        batch = max(1, BATCH_BYTES // max(1, self.bytes_each))
        numbers: list[float] = []
        for start in range(0, len(inputs), batch):
            part = [(feeds, "") for feeds in inputs[start : start + batch]]
            for (feeds, _), found in zip(part, self._runs(part, fetch), strict=True):
                value = np.asarray(found.get(name, np.nan))
                numbers.append(float(np.max(np.abs(value), initial=0.0)))
                for each, other in found.items():
                    self._note(each, np.asarray(other), feeds, f"search for {name}")
        return numbers

    def _runs(
        self, samples: Sequence[tuple[Mapping[str, Array], str]], names: Sequence[str] | None = None
    ) -> list[Mapping[str, object]]:
        fetch = list(names if names is not None else self.names)
        requests = [RunRequest(feeds=feeds, fetch=fetch) for feeds, _ in samples]
        self.runs += len(requests)
        try:
            return [dict(each) for each in run_all(self.session, requests)]
        except IsomorphError:
            return [self._single(request) for request in requests]

    def _single(self, request: RunRequest) -> Mapping[str, object]:
        """One run; a sample that the model rejects measures nothing."""
        try:
            return dict(self.session.run(request.feeds, request.fetch))
        except IsomorphError:
            return {}

    def _note(self, name: str, value: Array, feeds: Mapping[str, Array], recipe: str) -> None:
        if np.isnan(value).any():
            self.nan.add(name)
        numbers = value[np.isfinite(value)]
        if not numbers.size:
            return
        before = self.magnitude(name) if name in self.lower else -1.0
        low, high = float(numbers.min()), float(numbers.max())
        self.lower[name] = min(self.lower.get(name, np.inf), low)
        self.upper[name] = max(self.upper.get(name, -np.inf), high)
        if max(abs(low), abs(high)) > before:
            self.extremes[name] = feeds, recipe
