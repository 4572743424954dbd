"""Operators that belong to nobody's standard."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import linted_model, node
from isomorph.registry import operator_tables


class CustomDomain:
    """The operator is a custom one: only a runtime with its library can run it.

    ONNX: a domain besides ai.onnx. PyTorch: a namespace besides aten. TFLite: a custom or Flex
    operator. What `com.microsoft` adds, ONNX Runtime alone has.
    """

    name = "custom_domain"
    code = "ISO102"
    positive_examples = (
        linted_model(node("Fused", native="my.company::Fused")),
        linted_model(node("roll", native="mylib.roll.default"), framework="pytorch"),
        linted_model(node("CUSTOM", native="CUSTOM"), framework="tflite"),
        linted_model(node("Flex", native="FlexErf"), framework="tflite"),
    )
    negative_examples = (
        linted_model(node("Relu")),
        linted_model(node("Relu", native="aten.relu.default"), framework="pytorch"),
        linted_model(node("Relu", native="RELU"), framework="tflite"),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node."""
        for each in linted.nodes:
            kind = operator_tables(linted.model.framework).custom(each.native_op)
            if kind is not None:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.ERROR if linted.to else Severity.WARNING,
                    message=message("ISO102.custom", op=each.native_op, kind=kind),
                    advice=message("ISO102.custom_advice"),
                    node=each.name,
                    source=each.source,
                )
