"""Quantizers that the target cannot represent."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import Quantization
from isomorph.core.rule_examples import constant, linted_model, node


def _weight(**about: object) -> LintedModel:
    given = {"scale": (0.1, 0.2), "zero_point": (0, 0), "axis": 0, "dtype": "int8", **about}
    return linted_model(
        node("Conv", "x", "w"),
        constants=(constant("w", shape=(2, 3)),),
        quantization=(Quantization(tensor="w", **given),),  # type: ignore[arg-type]
        to="tflite",
    )


class QuantizationScheme:
    """The model is quantized in a way that the target cannot express.

    TFLite's weights are symmetric (zero point 0), per channel only for weights, in 8 or 4 bits;
    its int16 activations are symmetric too. What does not fit is quantized anew, or refused.
    """

    name = "quantization_scheme"
    code = "ISO111"
    positive_examples = (
        _weight(zero_point=(3, 4)),
        _weight(dtype="uint8", zero_point=(128, 128)),
        linted_model(
            node("Relu"),
            quantization=(
                Quantization(tensor="y", dtype="int8", scale=(0.1, 0.2), zero_point=(0, 0), axis=1),
            ),
            to="tflite",
        ),
    )
    negative_examples = (
        _weight(),
        linted_model(
            node("Relu"),
            quantization=(Quantization(tensor="y", dtype="int8", scale=(0.1,), zero_point=(3,)),),
            to="tflite",
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each tensor; TFLite models have none."""
        if linted.to != "tflite" or linted.model.framework == "tflite":
            return
        for one in linted.model.graph.quantization:
            trouble = _trouble(one, weight=one.tensor in linted.model.graph.constants)
            if trouble is not None:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.ERROR,
                    message=message(trouble, tensor=one.tensor),
                    advice=message("ISO111.advice"),
                    tensor=one.tensor,
                )


def _trouble(one: Quantization, *, weight: bool) -> str | None:
    # A bias is an int32 that follows from the other two; it has no choice of its own.
    if one.dtype == "int32":
        return None
    if weight and one.dtype == "uint8":
        return "ISO111.uint8"
    if weight and any(one.zero_point):
        return "ISO111.weights"
    if not weight and len(one.scale) > 1:
        return "ISO111.channels"
    if one.dtype in {"int16", "uint16"} and any(one.zero_point):
        return "ISO111.int16"
    return None
