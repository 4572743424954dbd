"""The user's own measure of quality: a function of outputs and sample, averaged on both sides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.dataset_summary import MetricOverSamples
from isomorph.core.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from isomorph.core.trace import Array

Metric = Callable[[dict[str, Any], dict[str, Any]], float]


class UserMetric:
    """Averages a metric over samples; ``function`` takes outputs and arrays by name."""

    def __init__(self, name: str, function: Metric) -> None:
        self.name, self.function = name, function
        self.samples, self.sums = 0, [0.0, 0.0]

    def add(
        self,
        reference: Mapping[str, Array],
        candidate: Mapping[str, Array],
        sample: Mapping[str, Array],
        origin: str,
    ) -> None:
        """Add both sides on one sample; outputs have the reference's names on both."""
        for side, outputs in enumerate((reference, candidate)):
            try:
                self.sums[side] += float(self.function(dict(outputs), dict(sample)))
            except Exception as error:  # the user's own code may raise anything
                raise UsageError(
                    "METRIC_FAILED",
                    f"the metric {self.name} raised {type(error).__name__}",
                    where=f"sample {origin}",
                    why=str(error),
                    fix="it takes (outputs, sample), two dicts of arrays by name, "
                    "and returns a number",
                ) from error
        self.samples += 1

    @property
    def result(self) -> MetricOverSamples | None:
        """The averages; None before the first sample."""
        if not self.samples:
            return None
        ref, cand = (total / self.samples for total in self.sums)
        return MetricOverSamples(
            name=self.name, samples=self.samples, reference=ref, candidate=cand
        )


def user_metric(word: str | Metric, *, trust: bool) -> UserMetric:
    """Return the metric for a function or ``package.module:function``, which runs the module."""
    if not isinstance(word, str):
        return UserMetric(getattr(word, "__qualname__", repr(word)), word)
    module, colon, attribute = word.partition(":")
    if not (module and colon and attribute):
        raise UsageError(
            "BAD_OPTION",
            f"--metric {word!r} cannot be read",
            why="expected package.module:function",
        )
    if not trust:
        raise RefusedError(
            "METRIC_NEEDS_TRUST",
            f"the metric {word} is code that would run",
            why="importing a module runs whatever it holds",
            fix="add --trust if it is yours",
        )
    return UserMetric(word, _imported(word, module, attribute))


def _imported(word: str, module: str, attribute: str) -> Metric:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # the user's own module may raise anything
        raise UsageError(
            "NO_SUCH_METRIC",
            f"there is no {word}",
            why=f"{type(error).__name__}: {error}",
            fix="the module is looked for in the current folder and among installed packages",
        ) from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise UsageError("NO_SUCH_METRIC", f"{word} is no function")
    metric: Metric = found
    return metric
