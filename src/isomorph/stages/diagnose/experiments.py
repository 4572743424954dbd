"""The experiment that most causes make: one thing is put right, and the node must be right then."""

from __future__ import annotations

from isomorph.core.report import Experiment


def put_right(
    question: str, change: str, *, of: str = "the node", right: bool = True
) -> Experiment:
    """What was asked, what was changed, and whether ``of`` came out right, as predicted."""
    subject = "it" if of == "the run" else of
    return Experiment(
        question=question,
        change=change,
        predicts=f"{subject} is right",
        seen="it is" if right else "it is not",
        agrees=right,
    )
