"""Draws of rounding that serve the budget of the outputs and the search for a faulty node.

Both disturb the whole graph by the same noise. Where an output will probably differ, every tensor
is therefore fetched when the rounding of the outputs is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.core.trace import Noise
from isomorph.match.tensor_capture import TensorCapture
from isomorph.oracle.noise_stats import Disturbed, DisturbsTensors
from isomorph.sessions.trace_session import SEEDS

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays
    from isomorph.measure.evaluated_model import EvaluatedModel


def share_draws(*sides: EvaluatedModel) -> None:
    """Let further draws of the rounding of these models be those of a search that follows."""
    for side in sides:
        session = side.oracle()
        if not isinstance(session, DisturbsTensors) or isinstance(session, SharedDraws):
            continue
        memory_bytes = side.handle.host.memory_bytes if side.handle is not None else None
        noise = Noise(seed=side.seed, rounding=True)
        graph = side.model.graph
        capture = TensorCapture(graph, session, side.feeds, noise, memory_bytes=memory_bytes)
        outputs = [spec.name for spec in graph.outputs]
        if capture.at_once and set(capture.names).issuperset(outputs):
            side.oracle = _returning(SharedDraws(session, capture, outputs))


def _returning(session: SharedDraws) -> Callable[[], Session]:
    return lambda: session


class SharedDraws:
    """An oracle whose first draws on these feeds are computed together with every tensor."""

    def __init__(self, session: Session, capture: TensorCapture, outputs: Sequence[str]) -> None:
        self.capabilities, self.environment = session.capabilities, session.environment
        self._session, self._feeds, self._names = session, capture.feeds, capture.names
        self._outputs = list(outputs)
        self._noises = capture.noises(TENSOR_DRAWS)
        self._first = 0 if capture.noise is None else capture.noise.seed * SEEDS
        self._drawn: Sequence[Arrays] | None = None
        self._captured: Disturbed | None = None

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; a draw that is shared is computed with the others."""
        if noise is not None and feeds is self._feeds and set(fetch).issubset(self._outputs):
            place = noise.seed - self._first
            plain = noise == Noise(seed=noise.seed, rounding=True)
            if plain and 0 <= place < len(self._noises):
                drawn = self._draws()
                if drawn:
                    return {name: drawn[place][name] for name in fetch}
        return self._session.run(feeds, fetch, noise=noise)

    def disturbed(
        self,
        feeds: Arrays,
        fetch: Sequence[str],
        noises: Sequence[Noise],
        draws_of: Sequence[str] = (),
    ) -> Disturbed:
        """Return what was computed with the draws, once; other tensors are computed."""
        found, asked = self._captured, (list(fetch), list(noises), list(draws_of))
        if found is not None and feeds is self._feeds and asked == (self._names, self._noises, []):
            # The tensors now belong to who asked for them.
            self._captured = None
            return found
        assert isinstance(self._session, DisturbsTensors), "others share no draws"
        return self._session.disturbed(feeds, fetch, noises, draws_of)

    def close(self) -> None:
        """Let go of what the session holds."""
        self._session.close()

    def _draws(self) -> Sequence[Arrays]:
        """Return the draws of the outputs; none where the tensors could not be computed."""
        if self._drawn is None:
            assert isinstance(self._session, DisturbsTensors), "others share no draws"
            try:
                found = self._session.disturbed(
                    self._feeds, self._names, self._noises, self._outputs
                )
                complete = all(set(self._outputs) <= set(each) for each in found.draws)
                self._drawn = found.draws if complete else ()
                self._captured = found
            except IsomorphError:
                self._drawn = ()  # a run without the tensors may do
        return self._drawn
