"""The experiment that most causes make: correct one thing and predict a right node."""

from __future__ import annotations

from isomorph.core.report import Experiment

_THE_RUN = "the run"


def restore_experiment(
    question: str, change: str, *, of: str = "the node", right: bool = True
) -> Experiment:
    """An experiment that predicts that ``of`` is right after the change."""
    return Experiment(
        question=question,
        change=change,
        predicts="it is right" if of == _THE_RUN else f"{of} is right",
        seen="it is" if right else "it is not",
        agrees=right,
    )
