"""What a page shows of the sample that matters most: both graphs, and the tensors to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.profile import CloseUp, ErrorProfile
from isomorph.core.report import Skipped
from isomorph.core.trace import Noise
from isomorph.stages.align.reals import in_reals
from isomorph.stages.align.sight import Sight
from isomorph.stages.localise.columns import Columns, value_at
from isomorph.stages.localise.locate import look
from isomorph.stages.localise.search import Search
from isomorph.stages.measure.close_ups import close_up
from isomorph.stages.measure.worst import weight

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.trace import Array
    from isomorph.stages.localise.guilt import Guilt
    from isomorph.stages.localise.locate import Located
    from isomorph.stages.measure.subject import Subject

_MOST_OUTPUTS = 8
Outputs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One sample: who was compared on it, and what was found."""

    origin: str
    reference: Subject | None
    candidate: Subject
    outputs: Outputs
    located: Located | None


@dataclass(slots=True, kw_only=True)
class Onlooker:
    """Remembers the sample worth looking at: where guilt was found, else the worst one.

    ``wanted`` None looks only where the search for guilty nodes has looked already.
    """

    wanted: bool | None = None
    told: Callable[[str, str], None] | None = None
    _located: dict[int, Located] = field(default_factory=dict)
    _scene: _Scene | None = None
    _rank: tuple[bool, tuple[int, float]] | None = None

    def found(self, candidate: Subject, located: Located) -> None:
        """The guilty nodes of this candidate on its sample."""
        self._located[id(candidate)] = located

    def remember(
        self,
        origin: str,
        subjects: tuple[Subject | None, Subject],
        outputs: Outputs,
        divergences: Sequence[Divergence],
    ) -> None:
        """Take note of one sample."""
        located = self._located.get(id(subjects[1]))
        rank = located is not None, max(map(weight, divergences), default=(0, 0.0))
        if self._rank is None or rank > self._rank:
            self._rank = rank
            self._scene = _Scene(
                origin=origin,
                reference=subjects[0],
                candidate=subjects[1],
                outputs=outputs,
                located=located,
            )

    def profile(self) -> tuple[ErrorProfile | None, list[Skipped]]:
        """Look now, and say what could not be seen."""
        scene = self._scene
        if scene is None or self.wanted is False or (self.wanted is None and not scene.located):
            return None, []
        if self.told is not None:
            self.told("error profile", "")
        skipped: list[Skipped] = []
        try:
            return _drawn(scene, skipped), skipped
        except IsomorphError as error:
            return None, [*skipped, Skipped(what="error profile", why=error.sentence)]


def _drawn(scene: _Scene, skipped: list[Skipped]) -> ErrorProfile:
    candidate, reference = scene.candidate, scene.reference
    if reference is None:
        noise = Noise(seed=candidate.seed, rounding=True)
        graph = candidate.model.graph
        alone = Sight(graph, in_reals(candidate.oracle(), graph), candidate.feeds, noise)
        alone.look()
        columns = Columns("candidate", alone)
        _run(columns, candidate, skipped)
        shown = tuple(_outputs(scene))
        return ErrorProfile(origin=scene.origin, graphs=(columns.told(),), close_ups=shown)
    twins = scene.located.twins if scene.located else look(reference, candidate)
    guilts = scene.located.trail.guilts if scene.located else ()
    search = Search(twins, scene.outputs, {each.tensor: each.value for each in guilts})
    left, right = Columns("reference", twins.reference), Columns("candidate", twins.candidate)
    _run(left, reference, skipped)
    _run(right, candidate, skipped)
    right.translation(search, guilts)
    return ErrorProfile(
        origin=scene.origin,
        graphs=(left.told(), right.told(left)),
        close_ups=(*_guilty(twins.candidate, guilts, candidate), *_outputs(scene)),
    )


def _run(columns: Columns, subject: Subject, skipped: list[Skipped]) -> None:
    """A runtime that fails, or gives only its outputs, leaves its column empty."""
    what = f"error profile of the {columns.role}'s run"
    try:
        session = subject.runtime()
        if session.capabilities.fetch != "all":
            why = "this session gives no tensors but its outputs"
            skipped.append(Skipped(what=what, why=why))
            return
        columns.execution(in_reals(session, subject.model.graph))
    except IsomorphError as error:
        skipped.append(Skipped(what=what, why=error.sentence))


def _guilty(sight: Sight, guilts: Sequence[Guilt], subject: Subject) -> Iterator[CloseUp]:
    """Each guilty tensor as its node makes it from right inputs, beside the right value."""
    given: dict[str, Array] = {}
    for guilt in guilts:
        value = value_at(sight, guilt.tensor, given)
        given[guilt.tensor] = guilt.value
        if value is None:
            continue
        spec = sight.graph.tensors.get(guilt.tensor)
        seen = close_up(
            "node",
            (guilt.counterpart, guilt.tensor),
            np.asarray(guilt.value),
            value,
            node=guilt.node,
            dtype=spec.dtype if spec is not None else None,
            feeds=_arrays(subject.feeds),
        )
        if seen is not None:
            yield seen


def _outputs(scene: _Scene) -> Iterator[CloseUp]:
    """The outputs as both sides ran; of one model alone, its run beside its oracle."""
    yours = scene.candidate.as_run()
    mine = scene.candidate.meaning() if scene.reference is None else scene.reference.as_run()
    if isinstance(yours, IsomorphError) or isinstance(mine, IsomorphError):
        return
    for left, right in scene.outputs[:_MOST_OUTPUTS]:
        if left in mine and right in yours:
            feeds = _arrays(scene.candidate.feeds)
            seen = close_up("output", (left, right), mine[left], yours[right], feeds=feeds)
            if seen is not None:
                yield seen


def _arrays(feeds: Mapping[str, object]) -> dict[str, Array]:
    return {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
