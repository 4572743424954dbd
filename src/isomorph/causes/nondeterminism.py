"""The model does not repeat itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.report import Experiment
from isomorph.measure.determinism import random_nodes

if TYPE_CHECKING:
    from isomorph.core.execution import Execution


class Nondeterminism:
    """Dropout or random numbers left in, or a result that depends on the number of threads.

    Recognized by running one session twice on the same inputs, as deployed and with every
    optimizer off (an optimizer may remove the random node that the file still carries); then
    with one thread. Random nodes of the graph are named.
    """

    name = "nondeterminism"
    sites = frozenset({FaultSite.RUN})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Run it twice; then ask whether threads or random nodes are behind the difference."""
        execution = context.execution
        if execution is None:
            return
        steady = [execution.steady({}), execution.steady(execution.plain)]
        nodes = random_nodes(context.candidate)
        if False not in steady:
            yield from _by_threads(execution)
            return
        as_run = steady[0] is False
        twice = experiment("nondeterminism.twice" if as_run else "nondeterminism.twice_plain")
        threads = _threads(execution)
        if nodes:
            summary = message("nondeterminism.random", nodes=", ".join(map(repr, nodes)))
            repair = message("FIX.evaluation_mode")
        elif threads is not None and threads.agrees:
            summary = message("nondeterminism.threads")
            repair = message("FIX.one_thread_or_kernels")
        else:
            summary, repair = message("nondeterminism.unknown"), None
        yield Diagnosis(
            cause="nondeterminism",
            certainty=Certainty.CONFIRMED,
            summary=summary,
            experiments=(twice, *((threads,) if threads is not None and not nodes else ())),
            evidence={"random_nodes": list(nodes)},
            fix=repair,
        )


def _threads(execution: Execution) -> Experiment | None:
    if "threads" not in execution.environment.settings:
        return None
    steady = execution.steady({"threads": "1"})
    if steady is None:
        return None
    return experiment("nondeterminism.race", agrees=steady)


def _by_threads(execution: Execution) -> Iterator[Diagnosis]:
    """It repeats itself, and may still depend on how many threads share the work."""
    settings = execution.environment.settings
    if "threads" not in settings or settings["threads"] == "1":
        return
    right = execution.right({"threads": "1"})
    if right is None:
        return
    yield Diagnosis(
        cause="nondeterminism",
        certainty=Certainty.CONFIRMED if right else Certainty.REFUTED,
        summary=message("nondeterminism.one_thread")
        if right
        else message("nondeterminism.any_threads"),
        experiments=(experiment("nondeterminism.threads", agrees=right),),
        fix=message("FIX.one_thread") if right else None,
        restores_run=right,
    )
