"""Which steps a run needs, and after which of them each tensor may be released."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from isomorph.core.cutting import unknown_tensor, walk_back
from isomorph.core.errors import UsageError
from isomorph.core.limits import KEPT_PLANS

K = TypeVar("K", bound=Hashable)
K_co = TypeVar("K_co", bound=Hashable, covariant=True)


class PlannedStep(Protocol[K_co]):
    """What a plan knows of a step: the tensors it reads and those it defines."""

    @property
    def needs(self) -> tuple[K_co, ...]:
        """Every tensor it reads."""
        ...

    @property
    def gives(self) -> tuple[K_co, ...]:
        """Every tensor it defines."""
        ...


S = TypeVar("S", bound=PlannedStep)  # type: ignore[type-arg]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[K, S]):
    """The steps of one run in order, each with its place in the program.

    ``releases`` are, for each step, the tensors that nothing reads after it. ``reads`` are all
    tensors that a step reads or that are fetched.
    """

    steps: tuple[tuple[int, S], ...]
    releases: tuple[tuple[K, ...], ...]
    reads: frozenset[K]


class Planner(Generic[K, S]):
    """Plans runs of one program from any tensors to any tensors; the last plans are kept.

    ``stored`` holds the tensors that have a value without being fed. ``before`` returns the steps
    that must have run before a step though it reads none of their outputs.
    """

    def __init__(
        self,
        steps: Sequence[S],
        inputs: Sequence[K],
        stored: Collection[K],
        *,
        name_of: Callable[[K], str] = str,
        before: Callable[[int], Iterable[int]] = lambda _: (),
    ) -> None:
        self._steps, self._inputs, self._stored = steps, inputs, stored
        self._name_of, self._before = name_of, before
        self._makers = {key: place for place, step in enumerate(steps) for key in step.gives}
        self._kept: dict[tuple[frozenset[K], tuple[K, ...]], Plan[K, S]] = {}

    def plan(self, feeds: frozenset[K], fetch: tuple[K, ...]) -> Plan[K, S]:
        """The steps from ``feeds`` to ``fetch``; what is fed cuts the graph there."""
        key = (feeds, fetch)
        if key not in self._kept:
            if len(self._kept) >= KEPT_PLANS:
                self._kept.clear()
            self._refuse_unknown((*feeds, *fetch))
            self._kept[key] = self._ordered(fetch, self._needed(feeds, fetch))
        return self._kept[key]

    def whole(self, fetch: tuple[K, ...]) -> Plan[K, S]:
        """Every step, for programs whose steps also act by what they write."""
        return self._ordered(fetch, set(range(len(self._steps))))

    def clear(self) -> None:
        """Release the kept plans."""
        self._kept.clear()

    def _needed(self, feeds: frozenset[K], fetch: tuple[K, ...]) -> set[int]:
        needed, ends = walk_back(
            fetch, feeds, self._makers.get, lambda place: self._steps[place].needs, self._before
        )
        missing = next((key for key in ends if key not in self._stored), None)
        if missing is not None:
            raise self._missing(missing)
        return needed

    def _ordered(self, fetch: tuple[K, ...], needed: set[int]) -> Plan[K, S]:
        steps = tuple((place, self._steps[place]) for place in sorted(needed))
        reads = frozenset(key for _, step in steps for key in step.needs) | frozenset(fetch)
        releases = releases_of([step for _, step in steps])
        return Plan(steps=steps, releases=releases, reads=reads)

    def _refuse_unknown(self, keys: Iterable[K]) -> None:
        for key in keys:
            if key not in self._makers and key not in self._inputs and key not in self._stored:
                known = map(self._name_of, {*self._makers, *self._inputs, *self._stored})
                raise unknown_tensor(self._name_of(key), known)

    def _missing(self, key: K) -> UsageError:
        name = self._name_of(key)
        inputs = ", ".join(self._name_of(each) for each in self._inputs)
        return UsageError(
            "MISSING_INPUT",
            f"nothing was fed for {name!r}",
            why=f"the model's inputs are {inputs or 'none'}",
            fix=f"feed {name!r}, or cut the graph below it",
        )


def releases_of(
    steps: Sequence[PlannedStep[K]], kept: Container[K] = ()
) -> tuple[tuple[K, ...], ...]:
    """For each step, the tensors that nothing reads after it, without those that are ``kept``."""
    last: dict[K, int] = {}
    for turn, step in enumerate(steps):
        last.update(dict.fromkeys((*step.gives, *step.needs), turn))
    releases: list[list[K]] = [[] for _ in steps]
    for key, turn in last.items():
        if key not in kept:
            releases[turn].append(key)
    return tuple(map(tuple, releases))


def constant_tensors(
    steps: Iterable[S], stored: Iterable[K], is_fixed: Callable[[S, Container[K]], bool]
) -> frozenset[K]:
    """The stored tensors and all that follows from them; ``is_fixed`` decides of one step."""
    known = set(stored)
    for step in steps:
        if is_fixed(step, known):
            known.update(step.gives)
    return frozenset(known)
