"""Comparing two traces that have no oracle, by their values alone.

The effect of rounding is unknown, so only two answers are certain: equal to the last bit, or
within a budget that the user states. Everything else is unknown, and the first tensor that
differs becomes a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.coverage import concluded
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Finding, FindingEffect, FindingStatus, Report
from isomorph.inputs import feeds as feeding
from isomorph.inputs.feeds import Sample
from isomorph.match.binding import bind_model_outputs
from isomorph.measure.compare import Terms, compare
from isomorph.measure.findings import of_outputs, ranked
from isomorph.measure.ledger import Accounts
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.output_order import elements
from isomorph.measure.recorded_reference import RecordedValues, Recording
from isomorph.measure.spread import FALSE_ALARM
from isomorph.measure.worst_sample import SEVERITY
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.trace import Array
    from isomorph.sessions.trace_session import Replayed

_SAME = message("EQUIVALENT.recorded_bits")


def recording_of(trace: Replayed) -> Recording:
    """The outputs of a trace as recorded outputs, from the run that captured nothing else."""
    record = trace.record
    arrays = {name: np.asarray(value) for name, value in record.untouched.items()}
    return Recording(
        location=record.location,
        digest=record.digest,
        arrays={
            f"{spec.name}{path}": value
            for spec in record.model.graph.outputs
            for path, value in elements(spec.name, arrays).items()
        },
    )


def compare_values(reference: Replayed, candidate: Replayed, options: CheckConfig) -> Report:
    """Compare each output, then find the first tensor of equal name that differs."""
    ref, cand = recording_of(reference), recording_of(candidate)
    outputs = bind_model_outputs(reference.model, candidate.model, options.bind_outputs)
    left = RecordedValues(model=reference.model, runs=ref.arrays, recorded=True)
    right = RecordedValues(model=candidate.model, runs=cand.arrays, recorded=True)
    channels = reference.model.channels_last != candidate.model.channels_last
    terms = Terms(
        false_alarm=FALSE_ALARM,
        budgets=options.budgets,
        arrangeable=Arrangeable(channels=channels, stated=options.layouts),
    )
    compared = compare(left, right, outputs, terms).divergences
    judged = [_judged(each) for each in compared]
    accounts = Accounts()
    judged += accounts.expect([spec.name for spec in reference.model.graph.outputs], outputs)
    accounts.open(Sample(origin=f"trace {reference.record.location}", feeds={}))
    accounts.judged(judged)
    worst = max(judged, key=lambda each: SEVERITY.index(each.verdict), default=None)
    verdict, reason = concluded(
        worst.verdict if worst is not None else Verdict.UNKNOWN,
        worst.reason if worst is not None else message("UNKNOWN.no_values"),
        accounts.coverage,
    )
    findings = [*of_outputs([each for each in judged if each.verdict is not Verdict.UNKNOWN])]
    findings += [_unjudged(each) for each in judged if each.verdict is Verdict.UNKNOWN]
    if worst is not None and worst.verdict is not Verdict.EQUIVALENT:
        findings += _first_difference(reference, candidate)
    sides = (reference, candidate)
    return Report(
        verdict=verdict,
        reason=reason,
        coverage=accounts.coverage,
        command="check",
        seed=options.seed,
        draws=0,
        false_alarm=FALSE_ALARM,
        strict=options.strict,
        models=tuple(each.handle.summary for each in sides),
        environments={f"{each.role} run": each.record.run.environment for each in sides},
        inputs=feeding.summaries(
            {name: np.asarray(value) for name, value in reference.record.inputs.items()},
            f"trace {reference.record.location}",
        ),
        output_bindings=outputs,
        outputs=tuple(judged),
        findings=ranked(findings),
        skipped=(not_done("oracles"),),
        version=VERSION,
    )


def _judged(divergence: Divergence) -> Divergence:
    """The divergence; outputs that are equal to the last bit are equivalent without a budget."""
    observed = divergence.observed
    if divergence.verdict is not Verdict.UNKNOWN or observed is None:
        return divergence
    if observed.distance.differing or observed.distance.nonfinite_mismatch:
        why = message("UNKNOWN.no_oracle")
        return replace(divergence, reason=why)
    return replace(divergence, verdict=Verdict.EQUIVALENT, reason=_SAME)


def _unjudged(divergence: Divergence) -> Finding:
    name = divergence.candidate_output or ""
    return Finding(
        code="UNJUDGED",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=message("OUTPUT.is", output=name, reason=divergence.reason),
        tensors=(name,),
        fix=message("FIX.record_again"),
    )


def _first_difference(reference: Replayed, candidate: Replayed) -> Iterator[Finding]:
    """The first tensor that differs, in the order of the candidate's graph, paired by name."""
    ref, cand = reference.record.run.tensors, candidate.record.run.tensors
    for node in candidate.model.graph.nodes:
        for name in node.outputs:
            if name in ref and name in cand and not _same(ref[name], cand[name]):
                yield Finding(
                    code="FIRST_DIFFERENCE",
                    status=FindingStatus.SUSPECTED,
                    effect=FindingEffect.NONE,
                    summary=message(
                        "FIRST_DIFFERENCE.bits",
                        tensor=name,
                        place=named_node(node.op, node.name),
                    ),
                    node=node.name,
                    nodes=(node.name,),
                    tensors=(name,),
                    source=node.source,
                )
                return


def _same(left: object, right: object) -> bool:
    one: Array = np.asarray(left)
    two: Array = np.asarray(right)
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    return bool(np.array_equal(one, two, equal_nan=one.dtype.kind == "f"))
