"""Experiments by their key: the catalog has their texts, a cause has the facts."""

from __future__ import annotations

from isomorph.core.messages import message
from isomorph.core.report import Experiment


def experiment(key: str, /, *, agrees: bool = True, **facts: object) -> Experiment:
    """The experiment of this key; ``agrees`` is whether its prediction was seen."""

    def text(part: str) -> str:
        return message(f"EXPERIMENT.{key}.{part}", **facts)

    return Experiment(
        question=text("question"),
        change=text("change"),
        predicts=text("predicts"),
        seen=text("seen" if agrees else "refuted"),
        agrees=agrees,
    )
