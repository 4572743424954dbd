"""The fifth phase of a check: why the located nodes, or the runs, are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Outcome
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Finding, FindingStatus
from isomorph.diagnose.diagnose_faults import diagnosed_faults
from isomorph.diagnose.faulty_runs import runtime_findings
from isomorph.localize.beyond_type import first_beyond_type
from isomorph.localize.first_difference import makers_of_wrong_outputs, non_numeric_outputs

if TYPE_CHECKING:
    from isomorph.checking.locate import Location
    from isomorph.localize.locate import Located
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel


def diagnose(
    location: Location,
    models: tuple[EvaluatedModel, EvaluatedModel],
    comparison: Comparison,
    false_alarm: float,
    on_diagnosed: Callable[[Located], None],
) -> Outcome:
    """The findings with their causes; ``on_diagnosed`` gets the faults of the graph."""
    found: list[Finding] = []
    unexplained = location.failure
    located = location.located
    if located is not None:
        try:
            beyond = first_beyond_type(located.matcher, location.pairs)
            if beyond is not None:
                found = [beyond]
            else:
                found, _ = diagnosed_faults(*location.sides, (), located)
            found = [*found, *makers_of_wrong_outputs(located.matcher, location.outputs)]
            unexplained = located.unexplained
            if not found and (left := non_numeric_outputs(located.matcher, location.outputs)):
                unexplained = message("SKIPPED.words.why", outputs=", ".join(left))
            on_diagnosed(located)
        except IsomorphError as error:
            unexplained = error.sentence
    runs, runs_unexplained = runtime_findings(
        models, comparison.divergences, false_alarm, bool(found)
    )
    found, unexplained = [*found, *runs], unexplained or runs_unexplained
    proven = (
        found and not unexplained and all(each.status == FindingStatus.CONFIRMED for each in found)
    )
    skipped = (not_done("localization", unexplained),) if unexplained else ()
    return Outcome(
        located=tuple(found),
        skipped=skipped,
        explained=frozenset(filter(None, location.outputs)) if proven else frozenset(),
    )
