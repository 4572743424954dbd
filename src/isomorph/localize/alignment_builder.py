"""The alignment of a check: made where guilt was searched, confirmed on every further input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Alignment, Confidence, Pair
from isomorph.core.errors import IsomorphError
from isomorph.core.report import Skipped
from isomorph.localize.fault_search import Search
from isomorph.localize.locate import look
from isomorph.match.alignment import AlignmentInput, align_graphs
from isomorph.match.axis_layout import Rearrangement

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.localize.locate import Located
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel

_ONE_DRAW = 1
"""A further input is asked whether values agree again, not how steady they are."""


@dataclass(slots=True, kw_only=True)
class Aligner:
    """Aligns on the first sample that calls for it.

    ``wanted`` None aligns only where the search for guilty nodes has looked at both graphs
    already, and their values are there.
    """

    wanted: bool | None = None
    on_progress: Callable[[str, str], None] | None = None
    _alignment: Alignment | None = None
    _faults: tuple[Fault, ...] = ()
    _waiting: list[tuple[EvaluatedModel, EvaluatedModel]] = field(default_factory=list)
    _failure: str | None = None
    _fresh: bool = False

    def found(self, located: Located) -> None:
        """Both graphs as they were looked at, and what was found guilty between them."""
        if self.wanted is False:
            return
        self._faults, self._fresh = located.chain.faults, True
        self._tell("")
        given = {each.tensor: each.value for each in self._faults}
        search = Search(located.matcher, (), given)
        with np.errstate(all="ignore"):  # what is infinite or no number equals nothing
            self._alignment = align_graphs(
                AlignmentInput(
                    matcher=located.matcher,
                    values=search.values,
                    equal=search.pairs,
                    substituted={e.tensor: (e.counterpart, e.moved) for e in self._faults},
                )
            )

    def remember(self, reference: EvaluatedModel | None, candidate: EvaluatedModel) -> None:
        """One sample: it confirms, or waits for one on which guilt is searched."""
        if reference is None or self.wanted is False or self._failure is not None:
            return
        if self._alignment is not None:
            if not self._fresh:
                self._carefully(lambda: self._confirm(reference, candidate))
            self._fresh = False
        elif self.wanted:
            self._waiting.append((reference, candidate))

    def alignment(self) -> tuple[Alignment | None, list[Skipped]]:
        """What was aligned, and why not more."""
        if self._waiting:
            self._carefully(self._catch_up)
        skipped = [Skipped(what="alignment", why=self._failure)] if self._failure else []
        return self._alignment, skipped

    def _catch_up(self) -> None:
        """The samples that were only looked at by their outputs."""
        for reference, candidate in self._waiting:
            if self._alignment is not None:
                self._confirm(reference, candidate)
                continue
            self._tell("")
            matcher = look(reference, candidate)
            search = Search(matcher, (), {})
            self._alignment = align_graphs(
                AlignmentInput(matcher=matcher, values=search.values, equal=search.pairs)
            )

    def _confirm(self, reference: EvaluatedModel, candidate: EvaluatedModel) -> None:
        assert self._alignment is not None, "nothing to confirm"
        self._tell("another input")
        matcher = look(reference, candidate, draws=_ONE_DRAW)
        given = {each.tensor: _right(each, matcher) for each in self._faults}
        values = matcher.candidate.with_given(given)
        held = set(_held(self._alignment, matcher, values))
        looked = self._alignment.inputs + 1
        self._alignment = replace(
            self._alignment,
            inputs=looked,
            pairs=tuple(
                _counted(pair, looked, agreed=place in held)
                for place, pair in enumerate(self._alignment.pairs)
            ),
        )

    def _carefully(self, work: Callable[[], None]) -> None:
        try:
            work()
        except IsomorphError as error:
            self._failure = error.sentence

    def _tell(self, detail: str) -> None:
        if self.on_progress is not None:
            self.on_progress("alignment", detail)


def _right(fault: Fault, matcher: ValueMatcher) -> Array:
    """What belongs in the place of a guilty tensor, on these inputs."""
    value = fault.moved.array(matcher.reference.values[fault.counterpart])
    return np.ascontiguousarray(value.astype(matcher.candidate.values[fault.tensor].dtype))


def _held(
    alignment: Alignment, matcher: ValueMatcher, values: Mapping[str, Array]
) -> Iterator[int]:
    """The places of the pairs whose values agree here, too."""
    left, right = matcher.reference.values, matcher.candidate.values
    for place, pair in enumerate(alignment.pairs):
        ref, cand = pair.reference[0], pair.candidate
        if "value" not in pair.evidence or ref not in left or cand not in right:
            continue
        source, value = left[ref], values[cand]
        order = pair.permutation or tuple(range(source.ndim))
        if source.size == value.size and len(order) == source.ndim:
            moved = Rearrangement(permutation=order, shape=value.shape)
            if matcher.equal(ref, cand, moved.array(source), value):
                yield place


def _counted(pair: Pair, looked: int, *, agreed: bool) -> Pair:
    """A pair that agrees on every input is founded better; one that does not was an accident."""
    if pair.kind not in {"input", "tensor"} or "value" not in pair.evidence:
        return pair
    if agreed:
        return replace(pair, inputs=pair.inputs + 1)
    return replace(
        pair, confidence=Confidence.POSSIBLE if looked > pair.inputs else pair.confidence
    )
