"""Weights too small to be quantized."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import constant, linted_model, node

LEAST = 1024
"""Elements below which TensorFlow's converter leaves a weight in float; it states no option."""


class SmallWeights:
    """Every weight has fewer than 1,024 elements: dynamic-range quantization leaves all in float.

    The file looks quantized, and nothing is.
    """

    name = "small_weights"
    code = "ISO119"
    positive_examples = (
        linted_model(
            node("MatMul", "x", "w"),
            constants=(constant("w", shape=(8, 8)),),
            to="tflite",
            width="dynamic",
        ),
    )
    negative_examples = (
        linted_model(
            node("MatMul", "x", "w"),
            constants=(constant("w", shape=(64, 64)),),
            to="tflite",
            width="dynamic",
        ),
        linted_model(
            node("MatMul", "x", "w"), constants=(constant("w", shape=(8, 8)),), to="tflite"
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for the model."""
        if linted.to != "tflite" or linted.width != "dynamic":
            return
        sizes = []
        for stored in linted.model.graph.constants.values():
            size = 1
            for length in stored.shape:
                size *= length
            sizes.append(size)
        if sizes and max(sizes) < LEAST:
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.WARNING,
                message=message("ISO119.small", least=LEAST, largest=max(sizes)),
                advice=message("ISO119.small_advice"),
            )
