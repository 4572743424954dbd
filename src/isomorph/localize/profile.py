"""What a page shows of the sample that matters most: both graphs, and the tensors to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.profile import CloseUp, ErrorProfile
from isomorph.core.report import Skipped
from isomorph.localize.fault import NOBODY
from isomorph.localize.flat_profile import profile
from isomorph.localize.locate import Located, look
from isomorph.localize.profile_levels import PROFILE, Drawing, Level, arrays
from isomorph.measure.tensor_details import close_up
from isomorph.measure.worst_sample import weight

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.measure.evaluated_model import EvaluatedModel

_MOST_OUTPUTS = 8
Outputs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One sample: who was compared on it, and what was found."""

    origin: str
    reference: EvaluatedModel | None
    candidate: EvaluatedModel
    outputs: Outputs
    located: Located | None


@dataclass(slots=True, kw_only=True)
class ProfileCollector:
    """Remembers the sample worth looking at: where guilt was found, else the worst one.

    ``wanted`` None looks only where the search for guilty nodes has looked already.
    """

    wanted: bool | None = None
    on_progress: Callable[[str, str], None] | None = None
    _located: dict[int, Located] = field(default_factory=dict)
    _scene: _Scene | None = None
    _rank: tuple[bool, tuple[int, float]] | None = None

    def found(self, candidate: EvaluatedModel, located: Located) -> None:
        """The guilty nodes of this candidate on its sample."""
        self._located[id(candidate)] = located

    def remember(
        self,
        origin: str,
        subjects: tuple[EvaluatedModel | None, EvaluatedModel],
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
        if self.on_progress is not None:
            self.on_progress(PROFILE, "")
        drawing = Drawing(all_bodies=self.wanted is True)
        try:
            return _drawn(scene, drawing), drawing.skipped
        except IsomorphError as error:
            return None, [*drawing.skipped, Skipped(what=PROFILE, why=error.sentence)]


def _drawn(scene: _Scene, drawing: Drawing) -> ErrorProfile:
    candidate, reference = scene.candidate, scene.reference
    if reference is None:
        alone = profile("candidate", drawing.alone(candidate))
        return ErrorProfile(origin=scene.origin, graphs=(alone,), close_ups=tuple(_outputs(scene)))
    located = scene.located or Located(chain=NOBODY, matcher=look(reference, candidate))
    ref, cand = drawing.drawn(
        Level(reference=reference, candidate=candidate, located=located, outputs=scene.outputs)
    )
    return ErrorProfile(
        origin=scene.origin,
        graphs=(profile("reference", ref), profile("candidate", cand, ref)),
        close_ups=(*drawing.close_ups, *_outputs(scene)),
    )


def _outputs(scene: _Scene) -> Iterator[CloseUp]:
    """The outputs as both sides ran; of one model alone, its run beside its oracle."""
    cand = scene.candidate.runtime_outputs()
    ref = (
        scene.candidate.oracle_outputs()
        if scene.reference is None
        else scene.reference.runtime_outputs()
    )
    if isinstance(cand, IsomorphError) or isinstance(ref, IsomorphError):
        return
    for left, right in scene.outputs[:_MOST_OUTPUTS]:
        if left in ref and right in cand:
            feeds = arrays(scene.candidate.feeds)
            seen = close_up("output", (left, right), ref[left], cand[right], feeds=feeds)
            if seen is not None:
                yield seen
