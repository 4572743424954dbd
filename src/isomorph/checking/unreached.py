"""Comparing weights, attributes, inputs that are read, and what other inputs and sizes show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.localize.attribute_findings import compared_attributes
from isomorph.localize.other_input_search import compared_on_other_inputs
from isomorph.localize.size_search import compared_sizes
from isomorph.localize.unread_inputs import compared_inputs
from isomorph.localize.weight_findings import compared_constants

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.prepare import PreparedPair
    from isomorph.checking.verdict import Summary
    from isomorph.core.report import Finding
    from isomorph.inputs.feeds import Sample
    from isomorph.localize.probe_search import Probed
    from isomorph.localize.weight_effect import ConstantExperiment
    from isomorph.localize.weight_findings import ComparedWeights


def compare_constants(
    prepared: PreparedPair,
    experiment: ConstantExperiment | None,
    summary: Summary,
    samples: Sequence[Sample],
    weights: ComparedWeights | None = None,
) -> Outcome:
    """Findings for weights that differ; those that the summary already explains are left out.

    A weight that differs makes another function although the given inputs do not show it. If the
    user asked about the given inputs only, it is a finding and does not change the verdict.
    """
    options: CheckConfig = prepared.options
    found = compared_constants(
        prepared.reference,
        prepared.candidate,
        experiment,
        summary.findings,
        stated_budget=bool(options.budgets),
        weights=weights,
    )
    claims = () if options.only_given else _claims(found.differs, summary, samples)
    return Outcome(findings=found.findings, skipped=found.skipped, claims=claims)


def compare_attributes(
    prepared: PreparedPair,
    experiment: ConstantExperiment | None,
    probed: Probed | None,
    summary: Summary,
    samples: Sequence[Sample],
) -> Outcome:
    """Findings for nodes that differ on other inputs: those that probes found, and attributes.

    Where an input shows such a difference, the models are two functions, as with weights.
    """
    findings = probed.findings if probed is not None else ()
    skipped = probed.skipped if probed is not None else ()
    differs = probed.differs if probed is not None else ""
    if not differs and experiment is not None and summary.verdict is not Verdict.DIVERGENT:
        models = prepared.reference.model, prepared.candidate.model
        found = compared_attributes(*models, experiment, findings)
        shown = {each.node for each in found.findings}
        findings = (*found.findings, *(each for each in findings if each.node not in shown))
        skipped, differs = (*skipped, *found.skipped), found.differs
    claims = () if prepared.options.only_given else _claims(differs, summary, samples)
    return Outcome(findings=findings, skipped=skipped, claims=claims)


def compare_inputs(
    prepared: PreparedPair,
    experiment: ConstantExperiment | None,
    summary: Summary,
    samples: Sequence[Sample],
) -> Outcome:
    """Findings for inputs that only one of the models reads, where a value of them shows it."""
    if experiment is None or summary.verdict is Verdict.DIVERGENT:
        return Outcome()
    found = compared_inputs(experiment, prepared.inputs)
    claims = () if prepared.options.only_given else _claims(found.differs, summary, samples)
    return Outcome(findings=found.findings, skipped=found.skipped, claims=claims)


def compare_on_other_inputs(
    prepared: PreparedPair,
    experiment: ConstantExperiment | None,
    summary: Summary,
    samples: Sequence[Sample],
) -> Outcome:
    """Findings for nodes that differ on inputs of a search, where nothing else pointed to one.

    Comparisons that know what differs come first: they name it.
    """
    options: CheckConfig = prepared.options
    if experiment is None or not options.locate or options.only_given:
        return Outcome()
    if summary.verdict is Verdict.DIVERGENT:
        return Outcome()
    found = compared_on_other_inputs(experiment)
    claims = _claims(found.differs, summary, samples)
    return Outcome(findings=_with_causes(found), skipped=found.skipped, claims=claims)


def _with_causes(found: Probed) -> tuple[Finding, ...]:
    """The findings with what an experiment on the input that was found shows of their causes."""
    if found.located is None:
        return found.findings
    from isomorph.diagnose.diagnose_faults import diagnosed_faults

    reference, candidate, located = found.located
    try:
        diagnosed, _ = diagnosed_faults(reference, candidate, (), located)
    except IsomorphError:
        return found.findings  # the node is known without its cause
    causes = {name: each for each in reversed(diagnosed) for name in (each.node, *each.nodes)}
    return tuple(
        each if (known := causes.get(each.node)) is None else _caused(each, known)
        for each in found.findings
    )


def _caused(finding: Finding, known: Finding) -> Finding:
    """The finding with the cause of the other one, which is about the same node."""
    if known.cause is None or known.statement is None or not known.statement.cause:
        return finding
    fixes = [each for each in (known.fix, finding.fix) if each]
    return replace(
        finding,
        node=known.node,
        nodes=known.nodes,
        tensors=known.tensors,
        summary=message("LATENT.caused", text=finding.summary, cause=known.statement.cause),
        cause=known.cause,
        causes=known.causes,
        experiments=(*finding.experiments, *known.experiments),
        evidence={**known.evidence, **finding.evidence},
        fix="; ".join(fixes) or None,
    )


def compare_sizes(
    prepared: PreparedPair,
    experiment: ConstantExperiment | None,
    summary: Summary,
    samples: Sequence[Sample],
) -> Outcome:
    """Findings for other sizes of the given inputs at which the models differ.

    Generated inputs, and the steps of decoding, have several sizes already.
    """
    options: CheckConfig = prepared.options
    sized = {InputKind.GENERATED, InputKind.DECODED}
    given = any(sample.kind not in sized for sample in samples)
    if experiment is None or not given or options.only_given or options.sizes is not None:
        return Outcome()
    if summary.verdict is Verdict.DIVERGENT:
        return Outcome()
    found = compared_sizes(experiment, prepared.inputs, options.dims)
    return Outcome(findings=found.findings, claims=_claims(found.differs, summary, samples))


def _claims(differs: str, summary: Summary, samples: Sequence[Sample]) -> tuple[Claim, ...]:
    """The verdict that a difference implies; none where it describes none."""
    if not differs:
        return ()
    reason = _reason(differs, summary.verdict, [sample.kind for sample in samples])
    return (Claim(verdict=Verdict.DIVERGENT, reason=reason),)


def _reason(differs: str, verdict: Verdict, kinds: Sequence[InputKind]) -> str:
    """What the runs showed, then the difference that decides."""
    generated = all(kind is InputKind.GENERATED for kind in kinds)
    where = ("generated" if generated else "given") + (" input" if len(kinds) == 1 else " inputs")
    if InputKind.DECODED in kinds:
        where = "steps of decoding"
    if verdict is Verdict.EQUIVALENT:
        return message("DIVERGENT.unshown_equal", where=where, differs=differs)
    if verdict is Verdict.DEGRADED:
        return message("DIVERGENT.unshown_loss", where=where, differs=differs)
    return differs
