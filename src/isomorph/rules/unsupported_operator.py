"""Operators that the converters on the way to the target do not take."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import Abilities, LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import linted_model, node


class UnsupportedOperator:
    """No converter, or not every one, has a rule for this operator.

    The tables are those of the installed converters themselves. An operator that one route lacks
    and another takes is a warning: that route will fail, and the next will be tried. So is one that
    a converter has a rule for and was measured to fail on in the form that the node has; there it
    stood alone, and together with its neighbors it may be taken for something else.
    """

    name = "unsupported_operator"
    code = "ISO101"
    positive_examples = (
        linted_model(
            node("Det"),
            to="tflite",
            abilities=Abilities(lacking={"det": ("onnx_to_tflite",)}, hopeless=frozenset({"det"})),
        ),
        linted_model(
            node("Det"), to="tflite", abilities=Abilities(lacking={"det": ("onnx_to_tflite",)})
        ),
        linted_model(
            node("Tan"), to="tflite", abilities=Abilities(refused={"tan": ("onnx_to_tflite",)})
        ),
    )
    negative_examples = (linted_model(node("Relu"), to="tflite"),)

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node."""
        able = linted.abilities
        for each in linted.nodes:
            lacking = able.lacking.get(each.name, ())
            refused = [who for who in able.refused.get(each.name, ()) if who not in lacking]
            if refused:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.WARNING,
                    message=message(
                        "ISO101.refused", op=each.native_op, converters=", ".join(refused)
                    ),
                    advice=message("ISO101.refused_advice"),
                    node=each.name,
                    source=each.source,
                )
            if not lacking:
                continue
            hopeless = each.name in able.hopeless
            who = ", ".join(lacking)
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.ERROR if hopeless else Severity.WARNING,
                message=message(
                    "ISO101.hopeless" if hopeless else "ISO101.lacking",
                    op=each.native_op,
                    converters=who,
                ),
                advice=message("ISO101.hopeless_advice" if hopeless else "ISO101.lacking_advice"),
                node=each.name,
                source=each.source,
            )
