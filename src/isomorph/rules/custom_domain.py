"""Operators that belong to nobody's standard."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.rule_examples import linted_model, node

_STANDARD = {
    "onnx": ("", "ai.onnx", "ai.onnx.ml"),
    "pytorch": ("aten", "prim", "prims", "_operator", "higher_order", "onnx"),
}


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
            domain = _custom(linted.model.framework, each.native_op)
            if domain is not None:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.ERROR if linted.to else Severity.WARNING,
                    message=f"{each.native_op} is no standard operator ({domain})",
                    advice="replace it by standard operators, or export without the optimizer "
                    "that made it",
                    node=each.name,
                    source=each.source,
                )


def _custom(framework: str, native: str) -> str | None:
    if framework == "onnx":
        domain, _, _ = native.rpartition("::")
        return None if domain in _STANDARD["onnx"] else f"domain {domain}"
    if framework == "pytorch":
        space = native.partition(".")[0]
        known = "." not in native or space in _STANDARD["pytorch"]
        return None if known else f"namespace {space}"
    if framework == "tflite" and (native == "CUSTOM" or native.startswith(("Flex", "CUSTOM"))):
        return "TensorFlow's own, by the Flex delegate" if "Flex" in native else "custom"
    return None
