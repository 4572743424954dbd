"""Weights in other files: what may go wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import LoadFact
from isomorph.core.rule_examples import linted_model, node

_SEVERITY = {
    LoadFact.EXTERNAL_WEIGHTS_UNREADABLE: Severity.ERROR,
    LoadFact.EXTERNAL_WEIGHTS: Severity.NOTE,
}


class ExternalData:
    """The weights lie beside the model, and a converter that copies the file alone loses them.

    A file whose weights cannot be read is reported by this rule, too; the command goes on.
    """

    name = "external_data"
    code = "ISO117"
    positive_examples = (
        linted_model(
            node("Relu"),
            load_facts={LoadFact.EXTERNAL_WEIGHTS: "weights lie in other files: model.data"},
        ),
        linted_model(
            node("Relu"),
            load_facts={LoadFact.EXTERNAL_WEIGHTS_UNREADABLE: "EXTERNAL_DATA_SHORT: w.bin"},
        ),
    )
    negative_examples = (
        linted_model(node("Relu")),
        linted_model(node("Relu"), load_facts={LoadFact.TRAINING_MODE: ""}),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for what the loader found out about external weights."""
        for fact, severity in _SEVERITY.items():
            if fact in linted.model.load_facts:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=severity,
                    message=linted.model.load_facts[fact],
                    advice=message("ISO117.advice"),
                )
