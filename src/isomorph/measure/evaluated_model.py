"""One model under examination: what it gave as run, what it means, how far it may move.

Every answer is worked out when first asked for and then kept. What could not be had is kept
too, as the error that prevented it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise, flatten
from isomorph.measure.noise_draws import Spreading
from isomorph.measure.precision import jumps, narrow_constants
from isomorph.measure.spread import FIRST_DRAWS, WIDE_DRAWS, Spread
from isomorph.measure.undecided_branches import Decided, decisions, taken_toward, unsettled

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays
    from isomorph.sessions.model_handle import ModelHandle

_T = TypeVar("_T")


class Comparand(Protocol):
    """What a comparison may ask of either side."""

    role: str
    model: Model
    recorded: bool

    @property
    def isolated(self) -> bool: ...  # noqa: D102
    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError: ...  # noqa: D102
    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError: ...  # noqa: D102
    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError: ...  # noqa: D102
    def rounding(self) -> Mapping[str, Spread] | IsomorphError: ...  # noqa: D102
    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError: ...  # noqa: D102
    def execution_loss(self) -> Mapping[str, Spread] | IsomorphError: ...  # noqa: D102
    def allowance(  # noqa: D102
        self, constants: tuple[str, ...]
    ) -> Mapping[str, Spread] | IsomorphError: ...
    def look_closer(self, draws: int) -> bool: ...  # noqa: D102
    def look_wider(self) -> bool: ...  # noqa: D102
    def meaning_toward(  # noqa: D102
        self, target: Mapping[str, Array]
    ) -> Mapping[str, Array] | IsomorphError: ...


@dataclass(slots=True, kw_only=True)
class EvaluatedModel:
    """A model with its sessions and the feeds of one sample."""

    role: str
    model: Model
    feeds: Arrays
    runtime: Callable[[], Session]
    plain: Callable[[], Session]
    oracle: Callable[[], Session]
    seed: int
    draws: int = FIRST_DRAWS
    wide_draws: int = 0
    on_progress: Callable[[str, str], None] | None = None
    recorded: bool = False
    handle: ModelHandle | None = None
    """Where it came from, for experiments under other settings."""
    taken: Mapping[str, Array] = field(default_factory=dict)
    """Decisions that rounding leaves open, as the run took them."""
    _kept: dict[str, Any] = field(default_factory=dict)
    _spreading: dict[str, Spreading] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        handle: ModelHandle,
        feeds: Arrays,
        *,
        seed: int,
        draws: int = FIRST_DRAWS,
        on_progress: Callable[[str, str], None] | None = None,
    ) -> EvaluatedModel:
        """The model of a handle on these feeds; nothing is evaluated until it is asked for."""
        return cls(
            role=handle.role,
            model=handle.model,
            feeds=feeds,
            runtime=handle.run,
            plain=handle.plain,
            oracle=handle.oracle,
            seed=seed,
            draws=draws,
            on_progress=on_progress,
            handle=handle,
        )

    def with_feeds(self, feeds: Arrays) -> EvaluatedModel:
        """The same model on other feeds, with nothing evaluated yet."""
        return replace(
            self, feeds=feeds, draws=FIRST_DRAWS, wide_draws=0, taken={}, _kept={}, _spreading={}
        )

    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """The outputs, as deployed."""
        return self._keep("run", lambda: self._outputs(self.runtime()))

    @property
    def isolated(self) -> bool:
        """Whether it runs in a process of its own, and therefore beside another."""
        return self.handle is not None and self.handle.host.isolation == "process"

    def as_stored(self) -> EvaluatedModel:
        """The model with integers at its inputs and outputs, where it is seen in real numbers."""
        if self.handle is None or not self.handle.reals:
            return self
        stored = self.handle.as_stored()
        return EvaluatedModel.of(
            stored,
            self.handle.whole(self.feeds),
            seed=self.seed,
            draws=self.draws,
            on_progress=self.on_progress,
        )

    def evaluated_by(self, oracle: Session) -> EvaluatedModel:
        """The same model on the same feeds with another oracle; what it gave as run is kept."""
        kept = {what: value for what, value in self._kept.items() if what.startswith("run")}
        return replace(self, oracle=lambda: oracle, taken={}, _kept=kept, _spreading={})

    def again(self) -> Mapping[str, Array] | IsomorphError:
        """The outputs of a second run in the same session: equal, or the model is random."""
        return self._keep("run again", lambda: self._outputs(self.runtime()))

    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """The outputs with every optimizer off."""
        return self._keep("run as written", lambda: self._outputs(self.plain()))

    def unoptimized_outputs_again(self) -> Mapping[str, Array] | IsomorphError:
        """The same once more, in the same session."""
        return self._keep("run as written again", lambda: self._outputs(self.plain()))

    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """The outputs in float64: what the graph says."""
        return self._keep("oracle", lambda: self._outputs(self.oracle()))

    def rounding(self) -> Mapping[str, Spread] | IsomorphError:
        """How far the rounding of the declared types can move the outputs."""
        noise = Noise(seed=self.seed, rounding=True)
        moved = self._spread("rounding", noise)
        if isinstance(moved, IsomorphError) or not self._decide(moved):
            return moved
        return self._spread("rounding", noise)

    def settle(self) -> None:
        """Take decisions that rounding leaves open as the run took them, if there are branches."""
        if decisions(self.model.graph):
            self.rounding()

    def meaning_toward(self, target: Mapping[str, Array]) -> Mapping[str, Array] | IsomorphError:
        """The meaning with open decisions taken so that these outputs come nearest to the target.

        Where rounding leaves a decision open, the other side may have taken it the other way.
        """
        if not self.taken:
            return self.oracle_outputs()
        what = f"oracle toward {', '.join(target)}"
        return self._keep(what, lambda: self._run_with(self._toward(self.taken, target)))

    def allowance(self, constants: tuple[str, ...]) -> Mapping[str, Spread] | IsomorphError:
        """How far one rounding of these constants, and of inexact attributes, moves the outputs.

        It makes no number infinite or NaN that rounding does not: a cube of negative numbers is
        one no longer where its exponent is merely near to three.
        """
        noise = Noise(seed=self.seed + 1, constants=constants, attributes=True)
        moved, rounding = self._spread("allowance", noise), self.rounding()
        if isinstance(moved, IsomorphError) or isinstance(rounding, IsomorphError):
            return moved
        return {name: _as_finite(each, rounding.get(name)) for name, each in moved.items()}

    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """How far ideal quantizers and constants of the declared widths move the outputs."""
        noise = Noise(
            seed=self.seed + 2,
            rounding=True,
            constants=narrow_constants(self.model.graph),
            quantizers=True,
        )
        return self._spread("intended loss", noise, about_mean=True)

    def execution_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """How far a run of these widths may stand from the meaning: the stored weights as they are.

        A runtime may leave out a rounding that the graph spells, or add one that it does not.
        """
        if not narrow_constants(self.model.graph):
            return self.intended_loss()
        noise = Noise(seed=self.seed + 3, rounding=True, quantizers=True)
        return self._spread("execution loss", noise, about_mean=True)

    def look_closer(self, draws: int) -> bool:
        """Draw as often as it is worth; False where that has been done already."""
        if self.draws >= draws:
            return False
        self.draws = draws
        for what in self._spreading:
            self._kept.pop(what, None)
        return True

    def look_wider(self) -> bool:
        """Draw with wider noise as well; False where that has been done already."""
        if self.wide_draws:
            return False
        self.wide_draws = WIDE_DRAWS
        for what in self._spreading:
            self._kept.pop(what, None)
        return True

    def failures(self) -> tuple[tuple[str, IsomorphError], ...]:
        """What was asked for and could not be had; one entry for each distinct error."""
        errors: dict[tuple[str, str], tuple[str, IsomorphError]] = {}
        for what, kept in self._kept.items():
            if isinstance(kept, IsomorphError):
                errors.setdefault((kept.code, kept.sentence), (what, kept))
        return tuple(errors.values())

    def _spread(
        self, what: str, noise: Noise, *, about_mean: bool = False
    ) -> Mapping[str, Spread] | IsomorphError:
        def work() -> Mapping[str, Spread]:
            meaning = self.oracle_outputs()
            if isinstance(meaning, IsomorphError):
                raise meaning
            spreading = self._spreading.setdefault(what, self._begin(noise, about_mean=about_mean))
            spreading.reach(
                self.draws,
                self.oracle(),
                self.feeds,
                on_progress=lambda n: self._tell(what, f"draw {n} of {self.draws}"),
            )
            # Of what a grid loses, wider noise says nothing: its steps are the file's.
            if noise.rounding and not noise.quantizers:
                spreading.reach_wider(
                    self.wide_draws,
                    self.oracle(),
                    self.feeds,
                    on_progress=lambda n: self._tell(what, f"wider draw {n} of {self.wide_draws}"),
                )
            return spreading.spreads()

        return self._keep(what, work)

    def _begin(self, noise: Noise, *, about_mean: bool) -> Spreading:
        jumping = jumps(self.model.graph)
        return Spreading(self._nested(), noise, about_mean=about_mean, jumps=jumping)

    def _decide(self, moved: Mapping[str, Spread]) -> bool:
        """Take the decisions that this noise did not settle as the run took them; False: none."""
        names = decisions(self.model.graph)
        found = unsettled(names, self._nested(), moved) if names else {}
        if not found:
            return False
        seen = self.runtime_outputs()
        open_decisions = {**self.taken, **found}
        self.taken = (
            open_decisions
            if isinstance(seen, IsomorphError)
            else self._toward(open_decisions, seen)
        )
        told = Decided(self.oracle(), self.feeds, self.taken)
        self.oracle = lambda: told
        for what in ("oracle", *self._spreading):
            self._kept.pop(what, None)
        self._spreading.clear()
        return not isinstance(self.oracle_outputs(), IsomorphError)

    def _toward(
        self, open_decisions: Mapping[str, Array], target: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return taken_toward(self._run_with, open_decisions, target)

    def _run_with(self, taken: Arrays) -> Mapping[str, Array]:
        """The outputs of the oracle under these decisions."""
        result = self.oracle().run({**self.feeds, **taken}, self._wanted())
        return flattened(result)

    def _nested(self) -> Arrays:
        kept: Arrays = self._kept["nested oracle"]
        return kept

    def _outputs(self, session: Session) -> Mapping[str, Array]:
        wanted = self._wanted()
        if not session.capabilities.noise:
            return flattened(session.run(self.feeds, wanted))
        # What branches decide on is looked at as well, where it could be told otherwise.
        asked = decisions(self.model.graph) if session.capabilities.feed == "all" else ()
        result = session.run(self.feeds, [*wanted, *(n for n in asked if n not in wanted)])
        self._kept["nested oracle"] = result
        return flattened({name: result[name] for name in wanted})

    def _wanted(self) -> list[str]:
        return list(dict.fromkeys(spec.name for spec in self.model.graph.outputs))

    def _keep(self, what: str, work: Callable[[], _T]) -> _T | IsomorphError:
        if what not in self._kept:
            self._tell(what, "")
            try:
                self._kept[what] = work()
            except IsomorphError as error:
                self._kept[what] = error
        return cast("_T | IsomorphError", self._kept[what])

    def _tell(self, what: str, detail: str) -> None:
        if self.on_progress is not None:
            self.on_progress(f"{self.role}: {what}", detail)


def flattened(result: Arrays) -> dict[str, Array]:
    """Every tensor of a result under its path; what is absent is left out."""
    return {
        key: np.asarray(value)
        for name in result
        for key, value in flatten(name, result[name]).items()
        if value is not None
    }


def _as_finite(spread: Spread, rounding: Spread | None) -> Spread:
    """Of real numbers, no more elements of an open kind than rounding leaves open."""
    if spread.deviation is None or rounding is None:
        return spread
    return replace(spread, unsettled=spread.unsettled & rounding.unsettled)


def unmatched_constants(graph: Graph, other: Graph) -> tuple[str, ...]:
    """Float constants with values that the other graph does not hold in any arrangement."""
    there = {constant.value_digest for constant in other.constants.values()}
    return tuple(
        name
        for name, constant in graph.constants.items()
        if "float" in constant.dtype and constant.value_digest not in there
    )
