"""The fourth phase of a check: which nodes are at fault on a sample that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Outcome
from isomorph.core.cost import phase
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.diagnose.faulty_runs import graphs_differ, runs_at_fault
from isomorph.measure.compare import Comparison, Terms, compare

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.report import Binding
    from isomorph.diagnose.weight_proof import WeightProof
    from isomorph.localize.fault import Fault
    from isomorph.localize.locate import Located
    from isomorph.measure.evaluated_model import EvaluatedModel

Sides = tuple["EvaluatedModel", "EvaluatedModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where the two models differ: faults of the graph, or of a run where ``located`` is None.

    ``failure`` is why a search for faults of the graph did not come to an end.
    """

    sides: Sides
    wrong: tuple[Divergence, ...]
    located: Located | None = None
    failure: str | None = None

    @property
    def outputs(self) -> list[str]:
        """The candidate's outputs that are wrong."""
        return [each.candidate_output for each in self.wrong if each.candidate_output is not None]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The outputs that are wrong, by their names on both sides."""
        names = [(each.reference_output, each.candidate_output) for each in self.wrong]
        return [(ref, cand) for ref, cand in names if ref is not None and cand is not None]


def underflow_outcome(comparison: Comparison) -> Outcome:
    """Constants that the candidate's type cannot hold, where they explain an output."""
    if comparison.underflow is None:
        return Outcome()
    return Outcome(
        findings=tuple(comparison.underflow.findings),
        explained=frozenset(comparison.underflow.outputs),
    )


def weights_decide(options: CheckConfig) -> bool:
    """Whether one wrong weight may answer in the place of a search through all tensors.

    Not where tensors are to be shown, nor where the question is about the given inputs alone.
    """
    shown = options.align or options.profile is not False
    return options.locate and not (shown or options.only_given or options.budgets)


def weight_outcome(comparison: Comparison, proof: WeightProof) -> Outcome:
    """The node that a wrong weight proves to be faulty, and the outputs that it explains."""
    wrong = [each for each in comparison.divergences if each.verdict is Verdict.DIVERGENT]
    return Outcome(
        located=() if proof.finding is None else (proof.finding,),
        explained=frozenset(filter(None, (each.candidate_output for each in wrong))),
    )


def confirmed(
    sides: Sides, comparison: Comparison, outputs: Sequence[Binding], terms: Terms
) -> tuple[Comparison, Located | None]:
    """Confirm a preliminary comparison by the faulty node, or else by all draws that it needs.

    Gives the faults that were located as well.
    """
    if not comparison.preliminary or comparison.order is not None:
        return comparison, None
    from isomorph.localize.decisive_fault import is_decisive
    from isomorph.localize.locate import locate

    pairs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
    located, decisive = None, False
    with phase("locate"):
        try:
            located = locate(*sides, pairs)
            decisive = is_decisive(located)
        except IsomorphError:
            pass  # what went wrong is noted where the search is repeated
    if not decisive:
        with phase("compare"):
            comparison = compare(*sides, outputs, replace(terms, search=False))
    return comparison, located


def locate_faults(
    sides: Sides,
    comparison: Comparison,
    terms: Terms,
    *,
    explained: frozenset[str],
    hidden: Located | None,
    known: Sequence[Fault] = (),
) -> Location | None:
    """Search the graphs for faults; None where neither a graph nor a run is wrong.

    Outputs that underflow has ``explained`` are left out. ``hidden`` are faults that were found
    before, in a loss of precision or to confirm the comparison; ``known`` those that another
    sample has shown.
    """
    if comparison.order is not None:
        return None
    wrong = [each for each in comparison.divergences if each.verdict is Verdict.DIVERGENT]
    if comparison.underflow is not None:
        wrong = [each for each in wrong if each.candidate_output not in explained]
    if not any(graphs_differ(each, terms.false_alarm) for each in wrong):
        found = runs_at_fault(comparison.divergences)
        return Location(sides=sides, wrong=tuple(wrong)) if found else None
    from isomorph.localize.locate import locate

    reference, candidate = comparison.as_stored(sides[0]), sides[1]
    pairs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
    located, failure = hidden, None
    try:
        located = located or locate(reference, candidate, pairs, known)
    except IsomorphError as error:
        failure = error.sentence
    return Location(
        sides=(reference, candidate), wrong=tuple(wrong), located=located, failure=failure
    )
