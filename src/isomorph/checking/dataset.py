"""A test set in a check: every sample is judged, and the ledger and the report know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.divergence import Verdict
from isomorph.measure.dataset import Found, measure

if TYPE_CHECKING:
    from isomorph.checking.state import CheckState
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.inputs.data_sets import DataSet
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.model_functions import Sides
    from isomorph.measure.screening import Judge


def judged_samples(
    work: CheckState,
    sides: Sides,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[Binding],
    judge: Judge,
) -> tuple[list[Sample], tuple[Binding, ...]]:
    """Judge all samples; gives those that the full check is made on, and the pairs of outputs."""
    options, data = work.options, work.options.data
    assert data is not None, "a test set is what led here"
    found = measure(
        str(data.location),
        data.samples(inputs, options.dims),
        sides,
        outputs,
        judge,
        false_alarm=work.terms.false_alarm,
        arrangeable=lambda: work.terms.arrangeable,
        metric=options.metric,
        on_progress=options.on_progress,
    )
    left_over = data.skipped()
    found.unjudged.update({each.what: each.why for each in left_over})
    work.worst.chosen_from = found.summary
    work.findings += found.findings
    work.skipped += [*found.skipped, *left_over]
    _account(work, data, found)
    return found.examined, found.outputs


def _account(work: CheckState, data: DataSet, found: Found) -> None:
    """Enter all samples but those that are examined, which are entered with their examination."""
    examined = {sample.origin for sample in found.examined}
    rest = {name: why for name, why in found.unjudged.items() if name not in examined}
    judged = {name: each for name, each in found.judged.items() if name not in examined}
    work.accounts.of_test_set(
        data.location.name,
        len(examined) + len(rest) + len(judged),
        {name: each.divergences for name, each in judged.items()},
        rest,
    )
    for name, comparison in judged.items():
        work.keep(comparison.divergences)
        work.worst.note(name, comparison.divergences)
    # Those after a divergence are counted; they lower no verdict any further.
    undecided = [why for name, why in rest.items() if name not in examined]
    if undecided and not _divergent(found):
        work.raise_verdict(Verdict.UNKNOWN, undecided[0])


def _divergent(found: Found) -> bool:
    return any(
        each.verdict is Verdict.DIVERGENT
        for comparison in found.judged.values()
        for each in comparison.divergences
    )
