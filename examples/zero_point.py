"""Which parameter of a quantizer is wrong?

The folklore: int8 costs accuracy, so a difference is to be expected.

Measured: int8 costs half a step. A zero point that is off by nine shifts every value by nine
steps, a scale of another tensor stretches them, a range that is too small cuts them off. The loss
that the width intends is derived, and each of the three is beyond it and distinguished:
quantization.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[16,8] x) => (float[16,8] y) {
    q = QuantizeLinear (x, s, z)  h = DequantizeLinear (q, s2, z2)  y = Tanh (h) }"""
RIGHT = {"s": np.float32(0.03), "z": np.int8(0), "s2": np.float32(0.03), "z2": np.int8(0)}
WRONG = {
    "zero point off": {"z2": np.int8(9)},
    "another scale": {"s2": np.float32(0.045)},
    "too small a range": {"s": np.float32(0.005), "s2": np.float32(0.005)},
}


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)
    facts: Facts = {}
    with TemporaryDirectory() as name:
        right = written(Path(name) / "right.onnx", MODEL, **RIGHT)
        for title, other in WRONG.items():
            wrong = written(Path(name) / "wrong.onnx", MODEL, **{**RIGHT, **other})
            report = isomorph.check(right, wrong, inputs={"x": x}, in_process=True)
            facts[title] = first_finding(report)
            facts[f"{title}, in words"] = report.findings[0].statement.cause
    return facts


if __name__ == "__main__":
    show(main())
