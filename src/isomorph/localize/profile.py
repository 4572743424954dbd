"""The error profile of the most relevant sample: both graphs, and details of some tensors.

What measures the profile is imported where it is needed: most checks end without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import ReportSection, Skipped
from isomorph.measure.worst_sample import weight

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.profile import CloseUp, ErrorProfile
    from isomorph.localize.locate import Located
    from isomorph.localize.profile_levels import ProfileBuilder
    from isomorph.measure.evaluated_model import EvaluatedModel

_MOST_OUTPUTS = 8
Outputs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    """One sample: the models that were compared on it, and what was found."""

    origin: str
    reference: EvaluatedModel | None
    candidate: EvaluatedModel
    outputs: Outputs
    located: Located | None


@dataclass(slots=True, kw_only=True)
class ProfileCollector:
    """Keeps the sample to profile: one on which faults were found, or else the worst one.

    With ``requested`` None only a sample that was searched for faults is profiled.
    """

    requested: bool | None = None
    on_progress: Callable[[str, str], None] | None = None
    _located: dict[int, Located] = field(default_factory=dict)
    _snapshot: _Snapshot | None = None
    _rank: tuple[bool, tuple[int, float]] | None = None

    def found(self, candidate: EvaluatedModel, located: Located) -> None:
        """Keep the faults of this candidate on its sample."""
        self._located[id(candidate)] = located

    def remember(
        self,
        origin: str,
        models: tuple[EvaluatedModel | None, EvaluatedModel],
        outputs: Outputs,
        divergences: Sequence[Divergence],
    ) -> None:
        """Keep one sample if it is more relevant than those before."""
        located = self._located.get(id(models[1]))
        rank = located is not None, max(map(weight, divergences), default=(0, 0.0))
        if self._rank is None or rank > self._rank:
            self._rank = rank
            self._snapshot = _Snapshot(
                origin=origin,
                reference=models[0],
                candidate=models[1],
                outputs=outputs,
                located=located,
            )

    def profile(self) -> tuple[ErrorProfile | None, list[Skipped]]:
        """Return the profile, and what could not be measured."""
        snapshot = self._snapshot
        if (
            snapshot is None
            or self.requested is False
            or (self.requested is None and not snapshot.located)
        ):
            return None, []
        from isomorph.localize.profile_levels import ProfileBuilder

        if self.on_progress is not None:
            self.on_progress(message("SKIPPED.profile.what"), "")
        builder = ProfileBuilder(all_bodies=self.requested is True)
        try:
            return _profile(snapshot, builder), builder.skipped
        except IsomorphError as error:
            missing = not_done("profile", error.sentence, section=ReportSection.PROFILE)
            return None, [*builder.skipped, missing]


def _profile(snapshot: _Snapshot, builder: ProfileBuilder) -> ErrorProfile:
    from isomorph.core.profile import ErrorProfile
    from isomorph.localize.fault import NO_FAULTS
    from isomorph.localize.flat_profile import profile
    from isomorph.localize.locate import Located, match_values
    from isomorph.localize.profile_levels import Level

    candidate, reference = snapshot.candidate, snapshot.reference
    if reference is None:
        alone = profile("candidate", builder.alone(candidate))
        return ErrorProfile(
            origin=snapshot.origin, graphs=(alone,), close_ups=tuple(_outputs(snapshot))
        )
    located = snapshot.located or Located(
        chain=NO_FAULTS, matcher=match_values(reference, candidate)
    )
    ref, cand = builder.rows(
        Level(reference=reference, candidate=candidate, located=located, outputs=snapshot.outputs)
    )
    return ErrorProfile(
        origin=snapshot.origin,
        graphs=(profile("reference", ref), profile("candidate", cand, ref)),
        close_ups=(*builder.close_ups, *_outputs(snapshot)),
    )


def _outputs(snapshot: _Snapshot) -> Iterator[CloseUp]:
    """Yield details of the outputs of both runs; of a single model, of its run and oracle."""
    from isomorph.localize.profile_levels import arrays
    from isomorph.measure.tensor_details import close_up

    cand = snapshot.candidate.runtime_outputs()
    ref = (
        snapshot.candidate.oracle_outputs()
        if snapshot.reference is None
        else snapshot.reference.runtime_outputs()
    )
    if isinstance(cand, IsomorphError) or isinstance(ref, IsomorphError):
        return
    for left, right in snapshot.outputs[:_MOST_OUTPUTS]:
        if left in ref and right in cand:
            feeds = arrays(snapshot.candidate.feeds)
            seen = close_up("output", (left, right), ref[left], cand[right], feeds=feeds)
            if seen is not None:
                yield seen
