"""How far TFLite's integer kernels stray from the real result before they round it.

Each figure is the arithmetic of the kernels, and was measured against them: LiteRT's reference
and optimized kernels lie inside it, XNNPACK too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isomorph.kernels.tflite.quantized import TIE, Grid, Reach
from isomorph.oracle.noise import Array

_PRODUCTS = {
    "CONV_2D": (0, 1), "DEPTHWISE_CONV_2D": (0, 1), "FULLY_CONNECTED": (0, 1),
    "BATCH_MATMUL": (0, 1), "TRANSPOSE_CONV": (2, 1), "MUL": (0, 1), "SQUARED_DIFFERENCE": (0, 0),
}  # fmt: skip
"""Sums of products, and where their two factors stand."""

_COARSE = frozenset({"QUANTIZE", "LEAKY_RELU", "PRELU"})
"""XNNPACK multiplies these by a factor of eight bits: a quarter of a quantum at the far end."""

_SHORT = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"})
"""Above 64-bit sums the multiplier has only 15 bits."""

_TABLES_OF_16_BITS = {"LOGISTIC": 1.0, "TANH": 2.5, "SOFTMAX": 16.0}
"""Quanta of 1/32768 between the points of tables that are interpolated."""

_FIXED_OF_8_BITS = {
    "SOFTMAX": 2.0**-8, "LOGISTIC": 2.0**-8, "TANH": 2.0**-7, "L2_NORMALIZATION": 2.0**-7,
    "LOG_SOFTMAX": 2.0**-4,
}  # fmt: skip
_FIXED_OF_16_BITS = {"SOFTMAX": 2.0**-15, "LOGISTIC": 2.0**-15, "TANH": 2.0**-15}
"""The scales that TFLite prescribes for these outputs; its kernels take no others."""


def reach_of(
    op: str,
    grids: Sequence[Grid | None],
    onto: Sequence[Grid | None],
    options: Mapping[str, Any],
) -> Reach:
    """By the operator and the grids of its inputs and its first output."""
    made = onto[0] if onto else None
    if made is None:
        return Reach()
    if op in _PRODUCTS:
        a, b = (grids[place] if place < len(grids) else None for place in _PRODUCTS[op])
        quanta = TIE if a is None or b is None else _twice_rounded(a.scale * b.scale, made)
        short = op in _SHORT and made.dtype == "int16"
        return Reach(quanta=quanta, share=2.0**-15 if short else 0.0)
    if op == "MEAN":
        # The zero point of the input moves the result by its own rounded amount.
        return Reach(quanta=0.5)
    given = grids[0] if grids else None
    if op in _COARSE and given is not None:
        slope = np.asarray([1.0, float(options.get("alpha", 1.0)) or 1.0])
        quanta = np.maximum(_twice_rounded(given.scale * slope, made).max(), 0.25)
        return Reach(quanta=quanta)
    if made.dtype == "int16":
        step = _FIXED_OF_16_BITS.get(op, 0.0)
        return Reach(quanta=_TABLES_OF_16_BITS.get(op, TIE), step=step)
    return Reach(step=_FIXED_OF_8_BITS.get(op, 0.0))


def _twice_rounded(scale: Array, made: Grid) -> Array:
    """Quanta by which the first of two roundings may move a product.

    The kernels multiply by m in [½, 1) and round, then shift by the exponent and round again:
    the first rounding is half a unit of what the shift divides.
    """
    _, exponent = np.frexp(np.abs(scale) / made.scale)
    return np.maximum(np.where(exponent < 0, 0.5 * np.ldexp(1.0, exponent), 0.0), TIE)
