"""Opsets that the runtime or a converter does not know."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import Abilities, LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import linted_model, node

_RANGE = Abilities(opsets=(7, 21))


class OpsetRange:
    """The model's opset is older or newer than the installed runtime promises to run."""

    name = "opset_range"
    code = "ISO103"
    positive_examples = (
        linted_model(node("Relu"), opset={"": 99}, abilities=_RANGE),
        linted_model(node("Relu"), opset={"": 5}, abilities=_RANGE),
    )
    negative_examples = (
        linted_model(node("Relu"), opset={"": 18}, abilities=_RANGE),
        linted_model(node("Relu"), opset={"": 99}),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for the standard domain."""
        limits, opset = linted.abilities.opsets, linted.model.opset.get("")
        if limits is None or opset is None or limits[0] <= opset <= limits[1]:
            return
        old = opset < limits[0]
        yield Remark(
            code=self.code,
            check=self.name,
            severity=Severity.WARNING if old else Severity.ERROR,
            message=message(
                "ISO103.old" if old else "ISO103.new",
                opset=opset,
                first=limits[0],
                last=limits[1],
            ),
            advice=message("ISO103.advice", opset=limits[0] if old else limits[1]),
        )
