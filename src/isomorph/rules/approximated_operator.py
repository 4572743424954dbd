"""Operators that a converter on the way writes as a formula that is near them."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import Abilities, LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import linted_model, node


class ApproximatedOperator:
    """A converter writes this operator as a formula that is near it, and not it.

    The table was measured: operators in many forms (modes, flags, ranks, types) were converted by
    the installed converters and compared with the original in float64. The remark gives the largest
    difference measured in such a form. It is a warning where every route approximates, and a note
    where another route does not.
    """

    name = "approximated_operator"
    code = "ISO120"
    positive_examples = (
        linted_model(
            node("Erf"),
            to="tflite",
            abilities=Abilities(approximated={"erf": {"onnx_to_tflite": 1e-7}}, ways=1),
        ),
        linted_model(
            node("Erf"),
            to="tflite",
            abilities=Abilities(approximated={"erf": {"onnx_to_tflite": 1e-7}}, ways=2),
        ),
    )
    negative_examples = (
        linted_model(
            node("Relu"),
            to="tflite",
            abilities=Abilities(approximated={"erf": {"onnx_to_tflite": 1e-7}}, ways=1),
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node."""
        able = linted.abilities
        for each in linted.nodes:
            errors = able.approximated.get(each.name, {})
            if not errors:
                continue
            everywhere = len(errors) == able.ways
            who = ", ".join(
                message("ISO120.error", converter=name, error=error)
                for name, error in errors.items()
            )
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.WARNING if everywhere else Severity.NOTE,
                message=message("ISO120.approximated", op=each.native_op, converters=who),
                advice=message("ISO120.everywhere_advice" if everywhere else "ISO120.advice"),
                node=each.name,
                source=each.source,
            )
