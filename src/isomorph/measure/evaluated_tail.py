"""A model whose noise is drawn in the tail of its graph alone.

The spreads are lower bounds of those of the whole model (see ``graph_tail``): what they explain is
explained, and what they do not explain is left to the draws of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.cost import phase
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import TAIL_ENTRY_BYTES
from isomorph.core.memory import share_of_memory
from isomorph.core.stated_numbers import FIRST_DRAWS, FURTHER_DRAWS, TAIL_DRAWS
from isomorph.core.trace import Noise
from isomorph.measure.graph_tail import tail_of
from isomorph.measure.noise_draws import NoiseDraws
from isomorph.measure.precision import jumps, widths
from isomorph.measure.spread import Spread, finite_where
from isomorph.measure.undecided_branches import decisions

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model
    from isomorph.core.trace import Array, Arrays, RunRequest
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.graph_tail import Tail


@dataclass(slots=True, kw_only=True)
class EvaluatedTail:
    """A model on one sample, as a ``Comparand`` whose rounding is that of its tail."""

    model: Model
    whole: EvaluatedModel
    tail: Tail
    entering: Arrays
    """The oracle's values where the tail begins."""
    recorded: bool = False
    draws: int = TAIL_DRAWS
    allowance_draws: int = FIRST_DRAWS
    whole_allowance: bool = False
    _spreading: dict[str, NoiseDraws] = field(default_factory=dict)
    _spreads: dict[str, tuple[int, Mapping[str, Spread]]] = field(default_factory=dict)
    """The last spread of each noise, with the number of its draws."""

    @property
    def isolated(self) -> bool:
        """Whether it runs in a process of its own."""
        return self.whole.isolated

    def pending(self, *, rounding: bool = True) -> bool:
        """Whether a run, an oracle or draws of its ``rounding`` are still to be computed."""
        if self.whole.pending(rounding=False):
            return True
        return rounding and self.drawn < self.draws

    @property
    def drawn(self) -> int:
        """How many draws of its rounding there are."""
        known = self._spreading.get("rounding")
        return 0 if known is None else known.drawn

    @property
    def run_dtype(self) -> str:
        """As of the whole model."""
        return self.whole.run_dtype

    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs of the runtime, as deployed."""
        return self.whole.runtime_outputs()

    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs with every optimizer off."""
        return self.whole.unoptimized_outputs()

    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs of the graph in float64."""
        return self.whole.oracle_outputs()

    def oracle_outputs_toward(
        self, target: Mapping[str, Array]
    ) -> Mapping[str, Array] | IsomorphError:
        """Return the oracle outputs; a graph with open decisions has no tail."""
        del target
        return self.whole.oracle_outputs()

    def rounding(self) -> Mapping[str, Spread] | IsomorphError:
        """Return how far the rounding of the tail alone can move the outputs."""
        return self._spread("rounding", Noise(seed=self.whole.seed, rounding=True), self.draws)

    def allowance(self, constants: tuple[str, ...]) -> Mapping[str, Spread] | IsomorphError:
        """Return how far one rounding of those constants that only the tail reads moves them."""
        if self.whole_allowance:
            return self.whole.allowance(constants)
        own = tuple(name for name in constants if name in self.tail.constants)
        noise = Noise(seed=self.whole.seed + 1, constants=own, attributes=True)
        moved = self._spread("allowance", noise, self.allowance_draws)
        return moved if isinstance(moved, IsomorphError) else finite_where(moved, self.rounding)

    def widen_allowance(self, *, within: bool) -> bool:
        """Draw more for the allowance, or the whole graph for it; False where that was done.

        More draws of the tail help where the translation is ``within`` the allowance, though not
        beyond doubt.
        """
        more = next((each for each in FURTHER_DRAWS if each > self.allowance_draws), None)
        if within and more is not None:
            self.allowance_draws = more
            return True
        widened, self.whole_allowance = not self.whole_allowance, True
        return widened

    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """Return nothing: a graph of narrow types has no tail."""
        return {}

    execution_loss = intended_loss

    def draw_more(self, draws: int, *, allowance: bool = False) -> bool:
        """Use this many draws from now on; False if there are as many already.

        Those of the ``allowance`` are counted by themselves.
        """
        del allowance
        more, self.draws = self.draws < draws, max(self.draws, draws)
        return more

    def draw_further(self) -> bool:
        """Use the next larger number of draws; False if there is none."""
        return any(self.draw_more(draws) for draws in (FIRST_DRAWS, *FURTHER_DRAWS))

    def draw_wider(self) -> bool:
        """Return False: wider noise is for graphs that jump, which have no tail."""
        return False

    def first_requests(self) -> list[RunRequest]:
        """Return the runs of the first draws of its rounding, as far as they are missing."""
        return self._rounding().requests(self.draws, self.entering)

    def add_first(self, drawn: Iterable[Arrays]) -> None:
        """Keep the results of the first draws."""
        self._rounding().add(drawn)

    def _rounding(self) -> NoiseDraws:
        outputs = self.whole.oracle_outputs()
        if isinstance(outputs, IsomorphError):
            raise outputs
        if "rounding" not in self._spreading:
            noise = Noise(seed=self.whole.seed, rounding=True)
            self._spreading["rounding"] = NoiseDraws(outputs, noise)
        return self._spreading["rounding"]

    def _spread(self, what: str, noise: Noise, draws: int) -> Mapping[str, Spread] | IsomorphError:
        outputs = self.whole.oracle_outputs()
        if isinstance(outputs, IsomorphError):
            return outputs
        known = self._spreads.get(what)
        if known is not None and known[0] == draws:
            return known[1]
        if what not in self._spreading:
            self._spreading[what] = NoiseDraws(outputs, noise)
        drawn = self._spreading[what]
        try:
            with phase(f"{what} of the last nodes"):
                drawn.draw_until(draws, self.whole.oracle(), self.entering)
        except IsomorphError as error:
            return error
        found = drawn.spreads()
        spreads = {name: replace(each, lower_bound=True) for name, each in found.items()}
        self._spreads[what] = draws, spreads
        return spreads


def even_tail(graph: Graph) -> Tail | None:
    """Return the tail of a graph in which noise only adds up; None where it would be too large."""
    tail = tail_of(graph)
    if tail is None or 8 * tail.entering > share_of_memory(TAIL_ENTRY_BYTES):
        return None
    return None if jumps(graph) or widths(graph) or decisions(graph) else tail


def small_enough(entering: Arrays) -> Mapping[str, Array] | None:
    """Return the tensors if all are arrays that may be kept; axes of unknown size may be large."""
    arrays = {name: value for name, value in entering.items() if isinstance(value, np.ndarray)}
    bytes_kept = sum(value.nbytes for value in arrays.values())
    if len(arrays) < len(entering) or bytes_kept > share_of_memory(TAIL_ENTRY_BYTES):
        return None
    return arrays
