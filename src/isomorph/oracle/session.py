"""The session of every oracle: fetched tensors are returned, or used once they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

from isomorph.core.protocols import Differentiates
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.oracle.rounded_constants import rounded_feeds
from isomorph.store.spill import SpillingTensors

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Arrays, RunRequest, Use

Keep = Callable[[str, Any], Any]
"""Takes a fetched tensor once it is computed, and returns what stands for it in the result."""


class OracleEvaluator(Protocol):
    """A program that is evaluated in float64, loaded once and run many times."""

    def run(
        self,
        feeds: Mapping[str, Any],
        fetch: Sequence[str],
        noise: Noise | None = None,
        keep: Keep = ...,
    ) -> dict[str, Any]:
        """Compute ``fetch`` from ``feeds``, passing every fetched tensor through ``keep``."""
        ...

    def draws_at_once(self, feeds: Mapping[str, Any], fetch: Sequence[str]) -> int:
        """How many draws like this are best computed side by side; 1 where nothing is gained."""
        ...

    def run_draws(
        self,
        feeds: Sequence[Mapping[str, Any]],
        fetch: Sequence[str],
        noises: Sequence[Noise | None],
        keeps: Sequence[Keep],
    ) -> list[dict[str, Any]]:
        """As ``run`` once for each of these feeds and noises, the weights read once for all."""
        ...

    def close(self) -> None:
        """Release what is kept between runs."""
        ...


class OracleSession:
    """One loaded model in float64."""

    def __init__(
        self,
        evaluator: OracleEvaluator,
        environment: Environment,
        capabilities: Capabilities = Capabilities(noise=True),  # noqa: B008 (frozen)
    ) -> None:
        self.environment, self.capabilities = environment, capabilities
        self._evaluator = evaluator

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor or constant.

        Floats are returned in float64, everything else in its declared type. What exceeds the
        memory for fetched tensors is returned in files.
        """
        feeds = rounded_feeds(feeds, noise)
        return self._evaluator.run(feeds, fetch, noise, _keeping(SpillingTensors()))

    def run_many(self, requests: Sequence[RunRequest]) -> list[Arrays]:
        """Compute each request; runs of the same tensors from the same inputs share the weights."""
        found: list[Arrays] = []
        while len(found) < len(requests):
            first = requests[len(found)]
            alike = list(takewhile(partial(_alike, first), requests[len(found) :]))
            if len(alike) > 1:
                alike = alike[: self._evaluator.draws_at_once(first.feeds, first.fetch)]
            if len(alike) < 2:
                found.append(self.run(first.feeds, first.fetch, noise=first.noise))
                continue
            feeds, noises = [each.feeds for each in alike], [each.noise for each in alike]
            keeps = [_keeping(SpillingTensors()) for _ in alike]
            found += self._evaluator.run_draws(feeds, first.fetch, noises, keeps)
        return found

    def hand_over(
        self, feeds: Arrays, fetch: Sequence[str], use: Use, *, noise: Noise | None = None
    ) -> None:
        """Like ``run``, but nothing is kept: each tensor is used as soon as it is computed."""
        self._evaluator.run(rounded_feeds(feeds, noise), fetch, noise, use)

    def gradients(
        self, feeds: Mapping[str, Array], weights: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """The gradient of a weighted sum of tensors by the inputs; see ``capabilities``."""
        assert isinstance(self._evaluator, Differentiates)
        return self._evaluator.gradients(feeds, weights)

    def close(self) -> None:
        """Release the program's lifted weights, plans and magnitudes of sums."""
        self._evaluator.close()


def _keeping(keeper: SpillingTensors) -> Keep:
    return lambda _, value: keeper.keep(value)


def _alike(one: RunRequest, other: RunRequest) -> bool:
    """Whether both compute the same tensors from the same inputs, of whatever numbers."""
    # A run in a narrower type rounds what is fed.
    if any(each.noise is not None and each.noise.run_dtype for each in (one, other)):
        return False
    return one.feeds.keys() == other.feeds.keys() and list(one.fetch) == list(other.fetch)
