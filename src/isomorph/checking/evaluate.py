"""The second phase of a check: models on the feeds of one sample, and whether they ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from isomorph.checking.tried_sizes import with_tried_sizes
from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.divergence import Verdict
from isomorph.core.errors import FATAL, IsomorphError, RuntimeFailedError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Finding, Skipped
from isomorph.measure import findings as output_findings
from isomorph.measure import input_layout, overflow
from isomorph.measure.determinism import (
    NotRepeated,
    compare_repeated_runs,
    repeated_rounding_finding,
)
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.parallel import run_parallel
from isomorph.measure.undecided_branches import of_decisions

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.prepare import ArrangedFeeds, PreparedPair
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A model on one sample, and what was found while its feeds were prepared."""

    model: EvaluatedModel
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Determinism:
    """Whether every model repeats its outputs, and the findings about those that do not."""

    holds: bool
    outcome: Outcome


def evaluate(handle: ModelHandle, feeds: Mapping[str, Array], options: CheckConfig) -> Evaluation:
    """A model on these feeds, with a finding if its memory is not likely to suffice."""
    model = EvaluatedModel.of(handle, feeds, seed=options.seed, on_progress=options.on_progress)
    return Evaluation(model=model, outcome=memory_outcome(model))


def memory_outcome(model: EvaluatedModel) -> Outcome:
    """A finding if the memory of a worker is not likely to suffice for these feeds."""
    handle = model.handle
    findings = () if handle is None else output_findings.of_forecast(handle, model.feeds)
    return Outcome(findings=tuple(findings))


def evaluate_candidate(prepared: PreparedPair, reference: EvaluatedModel) -> Evaluation:
    """The candidate on the feeds of the reference, in its own names, types and axis order."""
    arranged = prepared.arrange(reference)
    made = evaluate(prepared.candidate, arranged.feeds, prepared.options)
    layout = layout_outcome(arranged)
    return Evaluation(
        model=made.model,
        outcome=Outcome(
            findings=(*layout.findings, *made.outcome.findings),
            moves_channels=layout.moves_channels,
        ),
    )


def layout_outcome(arranged: ArrangedFeeds) -> Outcome:
    """A finding for each input that the candidate takes in another order of axes."""
    return Outcome(
        findings=tuple(input_layout.findings(arranged.layouts)),
        moves_channels=arranged.moves_channels,
    )


def check_determinism(*models: EvaluatedModel) -> Determinism:
    """Run each model twice; a random reference leaves nothing to compare with."""
    found: dict[str, NotRepeated] = {}

    def repeat(model: EvaluatedModel) -> None:
        found[model.role] = _repeated(model)

    at_once = all(each.isolated and _runs_beside_another(each) for each in models)
    run_parallel(*(partial(repeat, each) for each in models), apart=at_once)
    seen = [(each, found[each.role]) for each in models]
    random = {each.role: (each, found.random) for each, found in seen if found.random}
    findings: list[Finding] = []
    claims: list[Claim] = []
    for role, (model, outputs) in random.items():
        # With a random reference no candidate can be called wrong, not even a random one.
        verdict = Verdict.UNKNOWN if "reference" in random else Verdict.DIVERGENT
        from isomorph.diagnose.randomness import randomness_finding

        findings.append(randomness_finding(model, outputs))
        claims.append(Claim(verdict=verdict, reason=message("DIVERGENT.random", role=role)))
    findings += [
        repeated_rounding_finding(each.role, found.rounding_only)
        for each, found in seen
        if found.rounding_only
    ]
    outcome = Outcome(findings=tuple(findings), claims=tuple(claims))
    return Determinism(holds=not random, outcome=outcome)


def _runs_beside_another(model: EvaluatedModel) -> bool:
    return model.handle is not None and model.handle.runs_beside_another


def _repeated(model: EvaluatedModel) -> NotRepeated:
    """What differs between two runs; a large runtime is closed behind them."""
    found = compare_repeated_runs(model)
    if model.handle is not None:
        model.handle.release()
    return found


def overflow_outcome(candidate: EvaluatedModel, known: tuple[Finding, ...]) -> Outcome:
    """Overflow that a run in wider arithmetic hides, unless it is ``known`` already."""
    if any(each.code == overflow.CODE for each in known):
        return Outcome()
    try:
        return Outcome(findings=tuple(overflow.hidden_overflow(candidate)))
    except IsomorphError as error:
        return Outcome(skipped=(not_done("overflow", error.sentence),))


def failure_outcome(models: tuple[EvaluatedModel, ...], sample: Sample, *, bisect: bool) -> Outcome:
    """Crashes, hangs and refusals of runtimes; what could not be measured is unknown.

    With ``bisect``, the node behind a crash is searched for. An error that is not the runtime's
    is raised.
    """
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    claims: list[Claim] = []
    abort_reason = ""
    for model in models:
        findings += of_decisions(model.role, model.model.graph, model.taken)
        for what, plain in model.failures():
            search = bisect and not abort_reason and model.handle is not None
            error = _with_node(model, plain) if search else plain
            failed = output_findings.of_failure(model.role, what, error)
            findings.append(with_tried_sizes(failed, model.model.graph, model.feeds, sample))
            skipped.append(not_done("run", error.sentence, role=model.role, phase=what))
            claims.append(_failure_claim(model, error))
            if error.code in FATAL:
                abort_reason = message("SKIPPED.after_death.why", code=error.code)
            if error.exit_code != RuntimeFailedError.exit_code:
                raise error
    return Outcome(
        findings=tuple(findings),
        skipped=tuple(skipped),
        claims=tuple(claims),
        abort_reason=abort_reason,
    )


def _with_node(model: EvaluatedModel, error: IsomorphError) -> IsomorphError:
    from isomorph.diagnose.crash_bisect import with_crashing_node

    assert model.handle is not None, "a model without a handle has no runtime to run again"
    return with_crashing_node(error, model.handle, model.feeds)


def _failure_claim(model: EvaluatedModel, error: IsomorphError) -> Claim:
    failed = message("UNKNOWN.failed", role=model.role, what=error.what)
    if error.node:
        failed = message("UNKNOWN.failed_at", text=failed, node=error.node)
    return Claim(
        verdict=Verdict.UNKNOWN,
        reason=error.sentence,
        unmeasured_reason=failed,
    )
