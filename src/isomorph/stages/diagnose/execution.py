"""Why a run is off although the graph is right: an optimiser, a kernel, or its precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, Judgement
from isomorph.core.errors import IsomorphError
from isomorph.core.report import Experiment, Finding
from isomorph.stages.localise.findings import findings
from isomorph.stages.localise.locate import locate_execution
from isomorph.stages.measure.judge import judge

if TYPE_CHECKING:
    from isomorph.stages.measure.subject import Subject


def guilty_of_running(
    candidate: Subject, astray: Sequence[Divergence], false_alarm: float
) -> tuple[list[Finding], str | None]:
    """The nodes at which the run leaves its oracle, with the cause that an experiment shows."""
    names = [d.candidate_output for d in astray if d.candidate_output is not None]
    experiment = _without_optimisers(candidate, names, false_alarm)
    cause = "fusion" if experiment is not None and experiment.agrees else _cause(candidate)
    runtime = candidate.runtime()
    if runtime.capabilities.fetch != "all":
        return _whole(cause, experiment, names), "this session gives no tensors but its outputs"
    located = locate_execution(candidate, names)
    graph = candidate.model.graph
    found = [
        replace(
            finding,
            cause=cause,
            summary=finding.summary.replace("the reference's is", "its float64 oracle is"),
            experiments=(*finding.experiments, *((experiment,) if experiment else ())),
        )
        for finding in findings(located.trail, graph, graph)
    ]
    if found:
        return found, located.unexplained
    # Captured, the run is right: taking tensors out keeps the optimisers from joining nodes.
    return _whole(cause, experiment, names), None


def _whole(cause: str, experiment: Experiment | None, names: Sequence[str]) -> list[Finding]:
    """No node could be singled out: what is known of the run as a whole."""
    told = "; with every optimiser off it is right" if cause == "fusion" else ""
    return [
        Finding(
            rank=0,
            code="RUN_AS_A_WHOLE",
            cause=cause,
            status="confirmed" if experiment is not None and experiment.agrees else "suspected",
            effect="reaches_output",
            summary=f"the deployed run is off, but no node is by itself{told}",
            tensors=tuple(names),
            experiments=(experiment,) if experiment is not None else (),
        )
    ]


def _cause(candidate: Subject) -> str:
    """A precision other than the declared one explains itself; else it is a kernel."""
    precision = candidate.runtime().environment.precision
    return "kernel" if precision in {"as declared", "float32", "float64"} else "precision"


def _without_optimisers(
    candidate: Subject, names: Sequence[str], false_alarm: float
) -> Experiment | None:
    """Run the graph as written, and see whether it is right then."""
    written, meaning, rounding = candidate.as_written(), candidate.meaning(), candidate.rounding()
    if (
        isinstance(written, IsomorphError)
        or isinstance(meaning, IsomorphError)
        or isinstance(rounding, IsomorphError)
    ):
        return None
    right = True
    for name in names:
        part = judge(
            written[name],
            meaning[name],
            rounding[name],
            dtype=str(written[name].dtype),
            derivation="",
            false_alarm=false_alarm,
        )
        right = right and part.budget.within is Judgement.YES
    return Experiment(
        question="Does an optimiser of the runtime change the result?",
        change="the same model runs with every optimiser off",
        predicts="it is right",
        seen="it is" if right else "it is not",
        agrees=right,
    )
