"""A check in which a recorded trace replaces one model, or both.

A trace with an oracle gives the usual verdict, and faults are located in a candidate that is a
model. A trace without one is compared by its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.check import check_pair
from isomorph.checking.check_single import check_recorded
from isomorph.checking.compare_traces import compare_values, recording_of
from isomorph.checking.config import CheckConfig
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.limits import noted_limits
from isomorph.core.not_done import beyond, not_done
from isomorph.core.report import Finding, Report
from isomorph.inputs import feeds as feeding
from isomorph.inputs.feeds import Sample
from isomorph.localize.first_difference import first_differing_nodes, first_nodes_off_oracle
from isomorph.match.axis_layout import arrangements
from isomorph.match.binding import bind_inputs
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.findings import ranked
from isomorph.sessions.fetched_feeds import Source, feeds_from
from isomorph.sessions.model_handle import ModelHandle
from isomorph.sessions.trace_session import Replayed

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.trace import Array

Side = ModelHandle | Replayed


def check_replayed(
    reference: Side, candidate: Side, given: Sample | None, options: CheckConfig
) -> Report:
    """Check two sides of which at least one is a trace; the inputs come from the trace."""
    _refuse(reference, candidate, given, options)
    without = [each for each in (reference, candidate) if _lacks_oracle(each)]
    if without:
        return _by_values(reference, candidate, options)
    sample = _sample(reference, candidate, options)
    # A trace has no weights to compare, and no other input can be tried.
    options = replace(options, only_given=True)
    report = check_pair(_handle(reference), _handle(candidate), sample, options)
    report = replace(report, skipped=(*report.skipped, not_done("unreached")))
    if not isinstance(candidate, Replayed) or not options.locate:
        return report
    return _first_differences(report, reference, candidate, sample)


def _handle(side: Side) -> ModelHandle:
    return side.handle if isinstance(side, Replayed) else side


def _lacks_oracle(side: Side) -> bool:
    return isinstance(side, Replayed) and side.record.oracle is None


def _refuse(reference: Side, candidate: Side, given: Sample | None, options: CheckConfig) -> None:
    if options.data is not None:
        raise UsageError(
            "BAD_OPTION",
            "a trace is of one sample, and --data gives many",
            fix="give the model that was traced, or leave --data out",
        )
    if given is not None:
        raise UsageError(
            "BAD_OPTION",
            "a trace brings its own inputs, and --inputs gives others",
            fix="leave --inputs out, or record a trace with these inputs",
        )
    if options.dims or options.sizes:
        raise UsageError(
            "BAD_OPTION",
            "a trace was recorded at one size, and --dim or --dims asks for another",
            fix="leave it out, or record a trace with it",
        )
    if isinstance(reference, Replayed) and isinstance(candidate, Replayed):
        _refuse_other_inputs(reference, candidate, options)


def _refuse_other_inputs(reference: Replayed, candidate: Replayed, options: CheckConfig) -> None:
    ref, cand = reference.record, candidate.record
    pairs = bind_inputs(ref.model.graph.inputs, cand.model.graph.inputs, options.bind_inputs)
    for pair in pairs:
        left = np.asarray(ref.inputs[pair.reference])
        right = np.asarray(cand.inputs[pair.candidate])
        if not np.array_equal(np.sort(left, axis=None), np.sort(right, axis=None)):
            raise UsageError(
                "OTHER_INPUTS",
                "the two traces were recorded with other inputs",
                where=f"input {pair.reference!r} of the reference, {pair.candidate!r} of the "
                "candidate",
                fix="record both with the same --inputs",
            )


def _sample(reference: Side, candidate: Side, options: CheckConfig) -> Sample:
    """The recorded inputs with the names and axis order of the reference."""
    if isinstance(reference, Replayed):
        return Sample(
            origin=f"trace {reference.record.location}", feeds=_arrays(reference.record.inputs)
        )
    assert isinstance(candidate, Replayed), "one side is a trace"
    specs, record = reference.model.graph.inputs, candidate.record
    pairs = bind_inputs(specs, record.model.graph.inputs, options.bind_inputs)
    by_name = {spec.name: spec for spec in specs}
    sources = {
        pair.reference: Source(
            name=pair.candidate,
            arrange=partial(_back, by_name[pair.reference].shape, options, pair.candidate),
            convert=partial(feeding.fitted, by_name[pair.reference]),
        )
        for pair in pairs
    }
    feeds = feeding.from_given(specs, feeds_from(record.inputs, sources))
    return Sample(origin=f"trace {record.location}", feeds=feeds)


def _back(shape: object, options: CheckConfig, name: str, value: Array) -> Array:
    """The candidate's input in the reference's order of axes."""
    array = np.asarray(value)
    if name in options.layouts:
        return array.transpose(np.argsort(options.layouts[name]))
    if not isinstance(shape, tuple) or len(shape) != array.ndim:
        return array
    fits = all(not isinstance(s, int) or s == n for s, n in zip(shape, array.shape, strict=True))
    ways = () if fits else arrangements(array.shape, shape)
    return ways[0].array(array) if len(ways) == 1 else array


def _arrays(values: Mapping[str, object]) -> dict[str, Array]:
    return {name: np.asarray(value) for name, value in values.items()}


def _by_values(reference: Side, candidate: Side, options: CheckConfig) -> Report:
    """Use a trace without an oracle as recorded outputs, with the other side's budgets."""
    trace, other = (
        (reference, candidate)
        if isinstance(reference, Replayed) and _lacks_oracle(reference)
        else (candidate, reference)
    )
    assert isinstance(trace, Replayed), "a trace without an oracle is what led here"
    if isinstance(other, Replayed) and _lacks_oracle(other):
        pair = (trace, other) if trace is reference else (other, trace)
        return compare_values(*pair, options)
    recording = recording_of(trace)
    sample = _sample(trace, other, options)
    specs = other.model.graph.inputs
    pairs = bind_inputs(trace.record.model.graph.inputs, specs, options.bind_inputs)
    feeds = feeding.carried_over(sample.feeds, pairs, specs)
    judged = Sample(origin=sample.origin, feeds=feeds)
    # The recorded values are the reference here, whichever side they were given on.
    report = check_recorded(recording, replace(_handle(other), role="candidate"), judged, options)
    skipped = not_done("oracle", role=trace.role)
    return replace(report, skipped=(*report.skipped, skipped))


def _first_differences(
    report: Report, reference: Side, candidate: Replayed, sample: Sample
) -> Report:
    """The report with the first differing tensors; a trace allows no substitution as proof."""
    wrong = [each for each in report.outputs if each.verdict is Verdict.DIVERGENT]
    if not wrong:
        return report
    try:
        with noted_limits() as hit:
            found = list(_differences(report, wrong, reference, candidate, sample))
    except IsomorphError as error:
        skipped = not_done("first_difference", error.sentence)
        return replace(report, skipped=(*report.skipped, skipped))
    left_out = map(beyond, hit)
    return replace(
        report,
        findings=ranked([*found, *report.findings]),
        skipped=(*report.skipped, *left_out),
    )


def _differences(
    report: Report, wrong: list[Divergence], reference: Side, candidate: Replayed, sample: Sample
) -> Iterator[Finding]:
    cand = _evaluated(candidate, _arrays(candidate.record.inputs), report.seed)
    if any((each.rounding is not None and each.rounding.beyond) for each in wrong):
        ref = _evaluated(reference, sample.feeds, report.seed)
        pairs = [(pair.reference, pair.candidate) for pair in report.output_bindings]
        yield from first_differing_nodes(ref, cand, pairs)
        return
    names = [each.candidate_output for each in wrong if each.candidate_output]
    yield from first_nodes_off_oracle(cand, candidate.captured(), names)


def _evaluated(side: Side, feeds: Mapping[str, Array], seed: int) -> EvaluatedModel:
    return EvaluatedModel.of(_handle(side), feeds, seed=seed)
