"""The experiment that most causes make: correct one thing and predict a right node."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.core.report import Experiment

_THE_RUN, _RUN_IS_RIGHT = "the run", "it is right"


def restore_experiment(
    question: str, change: str, *, of: str = "the node", right: bool = True
) -> Experiment:
    """An experiment that predicts that ``of`` is right after the change."""
    return Experiment(
        question=question,
        change=change,
        predicts=_RUN_IS_RIGHT if of == _THE_RUN else f"{of} is right",
        seen="it is" if right else "it is not",
        agrees=right,
    )


def restores_the_run(experiments: Sequence[Experiment]) -> bool:
    """Whether one change of the settings restored every output of the run."""
    return any(each.agrees and each.predicts == _RUN_IS_RIGHT for each in experiments)
