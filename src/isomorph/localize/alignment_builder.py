"""The alignment of a check: made where faults were searched, confirmed on further inputs.

What aligns is imported where it is needed: most checks end without an alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Alignment, Confidence, Pair
from isomorph.core.errors import IsomorphError
from isomorph.core.not_done import not_done
from isomorph.core.report import Skipped
from isomorph.localize.fault import placed_value

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.localize.locate import Located
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel

_ONE_DRAW = 1
"""A further input only confirms that values agree; its noise need not be known well."""


@dataclass(slots=True, kw_only=True)
class Aligner:
    """Aligns both graphs on the first suitable sample.

    With ``requested`` None it aligns only where the search for faults has captured both graphs
    already.
    """

    requested: bool | None = None
    on_progress: Callable[[str, str], None] | None = None
    _alignment: Alignment | None = None
    _faults: tuple[Fault, ...] = ()
    _pending: list[tuple[EvaluatedModel, EvaluatedModel]] = field(default_factory=list)
    _failure: str | None = None
    _fresh: bool = False

    def found(self, located: Located) -> None:
        """Align two graphs that were captured to search for faults."""
        from isomorph.localize.fault_search import Search
        from isomorph.match.alignment import AlignmentInput, align_graphs

        if self.requested is False:
            return
        self._faults, self._fresh = located.chain.faults, True
        self._report("")
        given = {each.tensor: each.value for each in self._faults}
        search = Search(located.matcher, (), given)
        with np.errstate(all="ignore"):  # infinities and NaN equal nothing
            self._alignment = align_graphs(
                AlignmentInput(
                    matcher=located.matcher,
                    values=search.values,
                    equal=search.pairs,
                    substituted={e.tensor: (e.counterpart, e.moved) for e in self._faults},
                )
            )

    def remember(self, reference: EvaluatedModel | None, candidate: EvaluatedModel) -> None:
        """Use one sample to confirm the alignment, or keep it until there is one."""
        if reference is None or self.requested is False or self._failure is not None:
            return
        if self._alignment is not None:
            if not self._fresh:
                self._keep_failure(lambda: self._confirm(reference, candidate))
            self._fresh = False
        elif self.requested:
            self._pending.append((reference, candidate))

    def alignment(self) -> tuple[Alignment | None, list[Skipped]]:
        """Return the alignment, and the reason where it failed."""
        if self._pending:
            self._keep_failure(self._catch_up)
        skipped = [not_done("alignment", self._failure)] if self._failure else []
        return self._alignment, skipped

    def _catch_up(self) -> None:
        """Align on the pending samples, of which only the outputs were compared."""
        from isomorph.localize.fault_search import Search
        from isomorph.localize.locate import match_values
        from isomorph.match.alignment import AlignmentInput, align_graphs

        for reference, candidate in self._pending:
            if self._alignment is not None:
                self._confirm(reference, candidate)
                continue
            self._report("")
            matcher = match_values(reference, candidate)
            search = Search(matcher, (), {})
            self._alignment = align_graphs(
                AlignmentInput(matcher=matcher, values=search.values, equal=search.pairs)
            )

    def _confirm(self, reference: EvaluatedModel, candidate: EvaluatedModel) -> None:
        from isomorph.localize.locate import match_values

        assert self._alignment is not None, "nothing to confirm"
        self._report("another input")
        matcher = match_values(reference, candidate, draws=_ONE_DRAW)
        given = {each.tensor: _corrected(each, matcher) for each in self._faults}
        values = matcher.candidate.with_given(given)
        confirmed = set(_confirmed(self._alignment, matcher, values))
        inputs = self._alignment.inputs + 1
        self._alignment = replace(
            self._alignment,
            inputs=inputs,
            pairs=tuple(
                _counted(pair, inputs, agreed=place in confirmed)
                for place, pair in enumerate(self._alignment.pairs)
            ),
        )

    def _keep_failure(self, work: Callable[[], None]) -> None:
        try:
            work()
        except IsomorphError as error:
            self._failure = error.sentence

    def _report(self, detail: str) -> None:
        if self.on_progress is not None:
            self.on_progress("alignment", detail)


def _corrected(fault: Fault, matcher: ValueMatcher) -> Array:
    """Return the right value of a faulty tensor on these inputs."""
    value = matcher.reference.values[fault.counterpart]
    return placed_value(fault.moved, value, matcher.candidate.values[fault.tensor])


def _confirmed(
    alignment: Alignment, matcher: ValueMatcher, values: Mapping[str, Array]
) -> Iterator[int]:
    """Yield the positions of the pairs whose values agree on this sample."""
    from isomorph.match.axis_layout import Rearrangement

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


def _counted(pair: Pair, inputs: int, *, agreed: bool) -> Pair:
    """Count an input on which a pair agrees; one that disagrees makes it only possible."""
    if pair.kind not in {"input", "tensor"} or "value" not in pair.evidence:
        return pair
    if agreed:
        return replace(pair, inputs=pair.inputs + 1)
    return replace(
        pair, confidence=Confidence.POSSIBLE if inputs > pair.inputs else pair.confidence
    )
