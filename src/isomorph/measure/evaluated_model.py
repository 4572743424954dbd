"""A model on one sample: its runtime outputs, its oracle outputs, and their spread.

Every result is computed on first use and then kept. A failure is kept too, as its error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from isomorph.core.cost import phase
from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import FIRST_DRAWS, WIDE_DRAWS
from isomorph.core.trace import Noise, RunRequest
from isomorph.measure.evaluated_tail import EvaluatedTail, even_tail, small_enough
from isomorph.measure.graph_tail import Tail
from isomorph.measure.noise_draws import DrawnNoise, NoiseDraws, flattened
from isomorph.measure.precision import jumps, narrow_constants
from isomorph.measure.run_time_quantizers import execution_noise
from isomorph.measure.spread import Spread, finite_where
from isomorph.measure.undecided_branches import Decided, decisions, taken_toward, unsettled

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays
    from isomorph.sessions.model_handle import ModelHandle

_T = TypeVar("_T")
_ALLOWANCE = "allowance"


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
    allowance_draws: int = FIRST_DRAWS
    wide_draws: int = 0
    on_progress: Callable[[str, str], None] | None = None
    recorded: bool = False
    handle: ModelHandle | None = None
    """The handle of the model, for experiments under other settings."""
    taken: Mapping[str, Array] = field(default_factory=dict)
    """Decisions that rounding leaves open, as the run took them."""
    _kept: dict[str, Any] = field(default_factory=dict)
    _spreading: dict[str, NoiseDraws] = field(default_factory=dict)

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
        """Create the evaluated model of a handle on these feeds; nothing is run yet."""
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
        """Return the same model on other feeds, with nothing evaluated yet."""
        return replace(
            self, feeds=feeds, draws=FIRST_DRAWS, allowance_draws=FIRST_DRAWS, wide_draws=0,
            taken={}, _kept={}, _spreading={},
        )  # fmt: skip

    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs of the runtime, as deployed."""

        def work() -> Mapping[str, Array]:
            self.keep_run(self.runtime().run(self.feeds, self._output_names()))
            return cast("Mapping[str, Array]", self._kept["run"])

        return self._keep("run", work)

    @property
    def isolated(self) -> bool:
        """Whether it runs in a process of its own, and therefore in parallel with another."""
        return self.handle is not None and self.handle.host.isolation == "process"

    @property
    def run_dtype(self) -> str:
        """The narrower float type that its run was set to; empty where it was set to none."""
        return self.handle.requested_dtype if self.handle is not None else ""

    def has_tail(self) -> bool:
        """Whether noise only adds up in its graph, so that its tail is drawn alone."""
        return self._find_tail(self.oracle()) is not None

    def pending(self, *, rounding: bool = True) -> bool:
        """Whether its run, its oracle or its ``rounding`` is still to be computed."""
        wanted = ("run", "oracle", "rounding") if rounding else ("run", "oracle")
        return any(what not in self._kept for what in wanted)

    def as_stored(self) -> EvaluatedModel:
        """Return the model with integer inputs and outputs, where it is dequantized."""
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
        """Return the same model on the same feeds with another oracle; its runs are kept."""
        kept = {what: value for what, value in self._kept.items() if what.startswith("run")}
        return replace(self, oracle=lambda: oracle, taken={}, _kept=kept, _spreading={})

    def again(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs of a second run in the same session; they differ if it is random."""
        return self._keep("run again", lambda: self._outputs(self.runtime()))

    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs with every optimizer off."""
        return self._keep("run as written", lambda: self._outputs(self.plain()))

    def unoptimized_outputs_again(self) -> Mapping[str, Array] | IsomorphError:
        """Return the unoptimized outputs of a second run in the same session."""
        return self._keep("run as written again", lambda: self._outputs(self.plain()))

    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the outputs of the graph in float64."""
        return self._keep("oracle", lambda: self._outputs(self.oracle()))

    def rounding(self) -> Mapping[str, Spread] | IsomorphError:
        """Return how far the rounding of the declared types can move the outputs."""
        noise = Noise(seed=self.seed, rounding=True)
        moved = self._spread("rounding", noise)
        if isinstance(moved, IsomorphError) or not self._decide(moved):
            return moved
        return self._spread("rounding", noise)

    def tied_rounding(self) -> Mapping[str, Spread] | IsomorphError:
        """Return how far rounding moves the outputs where equal numbers are rounded alike."""
        return self._spread("tied rounding", Noise(seed=self.seed, rounding=True, tied=True))

    def settle(self) -> None:
        """Take decisions that rounding leaves open as the run took them, if there are branches."""
        if decisions(self.model.graph):
            self.rounding()

    def oracle_outputs_toward(
        self, target: Mapping[str, Array]
    ) -> Mapping[str, Array] | IsomorphError:
        """Return the oracle outputs with open decisions taken so that they come closest to target.

        Where rounding leaves a decision open, the other model may have taken it the other way.
        """
        if not self.taken:
            return self.oracle_outputs()
        what = f"oracle toward {', '.join(target)}"
        return self._keep(what, lambda: self._run_with(self._toward(self.taken, target)))

    def allowance(self, constants: tuple[str, ...]) -> Mapping[str, Spread] | IsomorphError:
        """Return how far one rounding of these constants and of attributes moves the outputs.

        It makes no number infinite or NaN that rounding does not: the cube of a negative number
        becomes NaN where the exponent is only nearly three.
        """
        noise = Noise(seed=self.seed + 1, constants=constants, attributes=True)
        moved = self._spread(_ALLOWANCE, noise)
        return moved if isinstance(moved, IsomorphError) else finite_where(moved, self.rounding)

    def tail(self) -> EvaluatedTail | None:
        """Return the model with noise in the tail of its graph alone; None where it has none."""
        if isinstance(self.oracle_outputs(), IsomorphError):
            return None
        tail = self._find_tail(self.oracle())
        entering = self._kept["entering"] if tail is not None else None
        if tail is None or entering is None:
            return None
        given = {name: self.feeds[name] for name in tail.inputs if name in self.feeds}
        if "tail" not in self._kept:
            self._kept["tail"] = EvaluatedTail(
                model=self.model,
                whole=self,
                tail=tail,
                entering={**given, **entering},
            )
        return cast("EvaluatedTail", self._kept["tail"])

    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """Return how far ideal quantizers and constants of the declared widths move the outputs."""
        constants = narrow_constants(self.model.graph)
        noise = Noise(
            seed=self.seed + 2, rounding=True, constants=constants, quantizers=True,
            run_time=True, run_dtype=self.run_dtype,
        )  # fmt: skip
        return self._spread("intended loss", noise, about_mean=True)

    def execution_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """Return how far a run of these widths may be from the oracle, with the stored weights.

        A runtime may omit a rounding that the graph states, or add one that it does not.
        """
        noise = execution_noise(self.model.graph, self.seed + 3, self.run_dtype)
        if noise.quantizers and not narrow_constants(self.model.graph):
            return self.intended_loss()
        return self._spread("execution loss", noise, about_mean=noise.quantizers)

    def draws_made(self) -> tuple[DrawnNoise, ...]:
        """Return every noise that was drawn so far, and how often."""
        return tuple(each.made(what) for what, each in self._spreading.items())

    def draws_like(self, other: DrawnNoise) -> NoiseDraws | None:
        """Return the draws of a noise that was drawn on other feeds; None if the oracle fails."""
        if isinstance(self.oracle_outputs(), IsomorphError):
            return None
        own = self._spreading.get(other.what) or self._begin(other.noise, other.about_mean)
        return self._spreading.setdefault(other.what, own)

    def draw_more(self, draws: int, *, allowance: bool = True) -> bool:
        """Use this many draws from now on; False if there are as many already.

        Without ``allowance``, that of re-rounded constants keeps the draws that it has.
        """
        more, further = self.draws < draws, allowance and self.allowance_draws < draws
        self.draws = max(self.draws, draws)
        self.allowance_draws = max(self.allowance_draws, draws if allowance else 0)
        for what in self._spreading:
            if further if what == _ALLOWANCE else more:
                self._kept.pop(what, None)
        return more or further

    def draw_wider(self) -> bool:
        """Use draws of wider noise as well; False if there are some already."""
        if self.wide_draws:
            return False
        self.wide_draws = WIDE_DRAWS
        for what in self._spreading:
            self._kept.pop(what, None)
        return True

    def failures(self) -> tuple[tuple[str, IsomorphError], ...]:
        """Return what could not be computed, one entry for each distinct error."""
        errors: dict[tuple[str, str], tuple[str, IsomorphError]] = {}
        for what, kept in self._kept.items():
            if isinstance(kept, IsomorphError):
                errors.setdefault((kept.code, kept.sentence), (what, kept))
        return tuple(errors.values())

    def _spread(
        self, what: str, noise: Noise, *, about_mean: bool = False
    ) -> Mapping[str, Spread] | IsomorphError:
        def work() -> Mapping[str, Spread]:
            outputs = self.oracle_outputs()
            if isinstance(outputs, IsomorphError):
                raise outputs
            spreading = self._spreading.setdefault(what, self._begin(noise, about_mean))
            draws = self.allowance_draws if what == _ALLOWANCE else self.draws
            spreading.draw_until(
                draws,
                self.oracle(),
                self.feeds,
                on_progress=lambda n: self._report(what, f"draw {n} of {draws}"),
            )
            # Wider noise does not apply to quantizers: their steps are fixed by the file.
            if noise.rounding and not noise.quantizers:
                spreading.draw_until(
                    self.wide_draws,
                    self.oracle(),
                    self.feeds,
                    wide=True,
                    on_progress=lambda n: self._report(what, f"wider draw {n}"),
                )
            return spreading.spreads()

        return self._keep(what, work)

    def _begin(self, noise: Noise, about_mean: bool) -> NoiseDraws:  # noqa: FBT001
        jumping = jumps(self.model.graph)
        return NoiseDraws(self._nested(), noise, about_mean=about_mean, jumps=jumping)

    def _decide(self, moved: Mapping[str, Spread]) -> bool:
        """Take the decisions that noise leaves open as the run took them; False if none are."""
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
        decided = Decided(self.oracle(), self.feeds, self.taken)
        self.oracle = lambda: decided
        for what in ("oracle", *self._spreading):
            self._kept.pop(what, None)
        self._spreading.clear()
        return not isinstance(self.oracle_outputs(), IsomorphError)

    def _toward(
        self, open_decisions: Mapping[str, Array], target: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return taken_toward(self._run_with, open_decisions, target)

    def _run_with(self, taken: Arrays) -> Mapping[str, Array]:
        """Return the outputs of the oracle under these decisions."""
        result = self.oracle().run({**self.feeds, **taken}, self._output_names())
        return flattened(result)

    def _find_tail(self, session: Session) -> Tail | None:
        """Return the tail of a graph in which noise only adds up, where it could be fed."""
        if "tail of the graph" not in self._kept:
            able = session.capabilities
            fed = able.noise and able.feed == able.fetch == "all" and not self.run_dtype
            self._kept["tail of the graph"] = even_tail(self.model.graph) if fed else None
        return cast("Tail | None", self._kept["tail of the graph"])

    def _nested(self) -> Arrays:
        kept: Arrays = self._kept["nested oracle"]
        return kept

    def _outputs(self, session: Session) -> Mapping[str, Array]:
        request = self.request(session)
        return self._seen(session, session.run(request.feeds, request.fetch))

    def request(self, session: Session) -> RunRequest:
        """Return the run of one of its sessions that gives its outputs, and what draws need."""
        names, asked, entries = self._fetched(session)
        return RunRequest(feeds=self.feeds, fetch=list(dict.fromkeys((*names, *asked, *entries))))

    def keep_run(self, result: Arrays) -> None:
        """Keep the result of its runtime for the request."""
        self._kept["run nested"] = result
        self._kept["run"] = flattened(result)

    def keep_oracle(self, result: Arrays) -> None:
        """Keep the result of its oracle for the request."""
        self._kept["oracle"] = self._seen(self.oracle(), result)

    def nested_runtime_outputs(self) -> Arrays:
        """Return the outputs of the runtime by name, sequences and maps whole; raise a failure."""
        seen = self.runtime_outputs()
        if isinstance(seen, IsomorphError):
            raise seen
        kept: Arrays = self._kept["run nested"]
        return kept

    def _fetched(self, session: Session) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """Return the outputs, the conditions of branches, and where the tail begins."""
        names = self._output_names()
        if not session.capabilities.noise:
            return names, (), ()
        # The conditions of branches are fetched as well, where they could be fed.
        asked = decisions(self.model.graph) if session.capabilities.feed == "all" else ()
        tail = self._find_tail(session)
        return names, asked, tail.entries if tail is not None else ()

    def _seen(self, session: Session, result: Arrays) -> Mapping[str, Array]:
        """Return the outputs of a result, and keep what else was fetched."""
        names, asked, entries = self._fetched(session)
        if session.capabilities.noise:
            self._kept["nested oracle"] = {name: result[name] for name in (*names, *asked)}
            self._kept["entering"] = small_enough({name: result[name] for name in entries})
        return flattened({name: result[name] for name in names})

    def _output_names(self) -> list[str]:
        return list(dict.fromkeys(spec.name for spec in self.model.graph.outputs))

    def _keep(self, what: str, work: Callable[[], _T]) -> _T | IsomorphError:
        if what not in self._kept:
            self._report(what, "")
            try:
                with phase(what):
                    self._kept[what] = work()
            except IsomorphError as error:
                self._kept[what] = error
        return cast("_T | IsomorphError", self._kept[what])

    def _report(self, what: str, detail: str) -> None:
        if self.on_progress is not None:
            self.on_progress(f"{self.role}: {what}", detail)
