"""Dropout and BatchNorm that still train."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import LoadFact, Node
from isomorph.core.rule_examples import constant, linted_model, node

_FLAGS = ("training_mode", "training", "train", "is_training")
_AFFECTED = frozenset({"Dropout", "BatchNormalization", "InstanceNormalization"})


class TrainingMode:
    """Dropout or BatchNorm is in training mode: the results are random, or depend on the batch."""

    name = "training_mode"
    code = "ISO108"
    positive_examples = (
        linted_model(node("BatchNormalization", training_mode=1)),
        linted_model(
            node("Dropout", "x", "p", "t"), constants=(constant("t", True, dtype="bool"),)
        ),
        linted_model(node("Dropout", train=True), framework="pytorch"),
        linted_model(node("Relu"), framework="pytorch", load_facts={LoadFact.TRAINING_MODE: ""}),
    )
    negative_examples = (
        linted_model(node("BatchNormalization", training_mode=0)),
        linted_model(
            node("Dropout", "x", "p", "t"), constants=(constant("t", False, dtype="bool"),)
        ),
        linted_model(node("Dropout")),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node, or for the module as a whole."""
        found = False
        for each in linted.nodes:
            if each.op in _AFFECTED and _trains(linted, each):
                found = True
                yield self._remark(message("ISO108.node", op=each.op), each)
        if not found and LoadFact.TRAINING_MODE in linted.model.load_facts:
            yield self._remark(message("ISO108.module"), None)

    def _remark(self, text: str, each: Node | None) -> Remark:
        return Remark(
            code=self.code,
            check=self.name,
            severity=Severity.ERROR,
            message=text,
            advice=message("ISO108.advice"),
            node=each.name if each is not None else None,
            source=each.source if each is not None else None,
        )


def _trains(linted: LintedModel, each: Node) -> bool:
    if any(each.attributes.get(flag) in (True, 1) for flag in _FLAGS):
        return True
    stored = linted.model.graph.constants.get(each.inputs[2]) if len(each.inputs) > 2 else None
    switch = each.op == "Dropout" and stored is not None and stored.dtype == "bool"
    return bool(switch and stored is not None and stored.values == (True,))
