"""The oracle in the place of a run that this machine cannot make.

What it returns is what the graph states, rounded once into the declared types. It says nothing
about a run: a report names the model among those that were not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.oracle.value import stored

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays


class TranslatedSession:
    """Answers with the values of the oracle, as the graph declares them."""

    capabilities = Capabilities(fetch="outputs", feed="inputs")

    def __init__(self, oracle: Session, graph: Graph, runtime: str, why: str) -> None:
        self._oracle, self._graph = oracle, graph
        self.environment = Environment(
            runtime=runtime, device="", precision="", facts={"not run": why}
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Evaluate the outputs in float64, and store them in their types."""
        found = self._oracle.run(feeds, fetch)
        return {
            name: stored(value, self._graph.declared_dtype(name)) for name, value in found.items()
        }

    def close(self) -> None:
        """The oracle is closed by whoever has opened it."""
