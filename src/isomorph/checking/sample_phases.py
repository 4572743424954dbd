"""The phases of a check on one sample, each entered in the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.checking.below_rounding import differs_below_rounding, nodes_below_rounding
from isomorph.checking.collect import Collectors
from isomorph.checking.compare import (
    comparison_outcome,
)
from isomorph.checking.evaluate import (
    check_determinism,
    evaluate,
    failure_outcome,
    overflow_outcome,
)
from isomorph.checking.locate import locate_faults, underflow_outcome
from isomorph.checking.verdict import without_known
from isomorph.core.cost import phase
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.measure.compare import Comparison, Terms

if TYPE_CHECKING:
    from isomorph.checking.dataset import TestSetResult
    from isomorph.checking.log import CheckLog
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.localize.locate import Located
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle


def names_of(specs: Sequence[TensorSpec]) -> set[str]:
    """The names of a signature."""
    return {spec.name for spec in specs}


def samples_of(prepared: PreparedPair, given: Sample | None) -> list[Sample]:
    """The user's sample, or generated ones; further sizes unless the user decided on one."""
    samples = [given] if given is not None else prepared.generated_samples()
    if prepared.options.quick:
        return samples[:1]
    if given is None or prepared.options.sizes is not None:
        samples += prepared.samples_of_other_sizes()
    return samples


def evaluate_model(
    log: CheckLog, handle: ModelHandle, feeds: Mapping[str, Array]
) -> EvaluatedModel:
    """The model on these feeds."""
    evaluation = evaluate(handle, feeds, log.options)
    log.add(evaluation.outcome)
    return evaluation.model


def is_deterministic(log: CheckLog, *models: EvaluatedModel) -> bool:
    """Whether each model repeats its outputs."""
    determinism = check_determinism(*models)
    log.add(determinism.outcome)
    return determinism.holds


def add_failures(log: CheckLog, sample: Sample, *models: EvaluatedModel) -> None:
    """Add what the models could not do, and why."""
    log.add(failure_outcome(models, sample, bisect=log.options.locate))


def add_comparison(log: CheckLog, comparison: Comparison, bindings: Sequence[Binding]) -> None:
    """Add the divergences of one sample, and enter them in the ledger."""
    before = bool(log.summary.divergences)
    log.add(comparison_outcome(comparison, bindings, compared_before=before))
    log.ledger.judged(comparison.divergences)


def step_shows_more(log: CheckLog, sample: Sample, comparison: Comparison) -> bool:
    """Whether a later step of decoding has wrong outputs that no fault so far explains.

    Some faults show in the caches at once, and in the logits at the next step.
    """
    return sample.kind is InputKind.DECODED and any(
        each.verdict is Verdict.DIVERGENT and each.candidate_output not in log.summary.explained
        for each in comparison.divergences
    )


def locate_once(
    log: CheckLog,
    collectors: Collectors,
    sides: tuple[EvaluatedModel, EvaluatedModel],
    comparison: Comparison,
    terms: Terms,
    *,
    hidden: Located | None = None,
    done: bool,
) -> bool:
    """Locate and diagnose the faults of the first sample that shows any; whether that is done."""
    log.add(underflow_outcome(comparison))
    if done or not log.options.locate:
        return done
    explained = log.summary.explained
    with phase("locate"):
        location = locate_faults(
            sides, comparison, terms,
            explained=explained, hidden=hidden, known=collectors.known_faults,
        )  # fmt: skip
    if location is None:
        if not collectors.below_rounding and differs_below_rounding(comparison):
            with phase("locate"):
                collectors.below_rounding.append(nodes_below_rounding(sides, comparison))
            log.add(collectors.below_rounding[0])
        return False
    from isomorph.checking.diagnose import diagnose

    with phase("diagnose"):
        outcome = diagnose(
            location, sides, comparison, terms.false_alarm,
            lambda located: collectors.add_faults(sides[1], located),
        )  # fmt: skip
    log.add(without_known(outcome, log.summary))
    return True


def collect_sample(
    log: CheckLog,
    collectors: Collectors,
    sample: Sample,
    comparison: Comparison,
    sides: tuple[EvaluatedModel | None, EvaluatedModel],
) -> None:
    """Keep the sample for what the report shows in detail."""
    if log.options.locate or log.options.hidden_overflow:
        log.add(overflow_outcome(sides[1], log.summary.findings))
    collectors.add_sample(sample, comparison, sides[1], sides[0])


def collect_test_set(collectors: Collectors, result: TestSetResult) -> None:
    """Keep the figures of a test set for the report."""
    collectors.worst.chosen_from = result.summary
    for name, comparison in result.compared.items():
        collectors.worst.note(name, comparison.divergences)
