"""What does a custom operator mean, and was it lost in the conversion?

The folklore: a model with a custom operator cannot be checked without its library.

Measured: without more it is refused by the operator's name (UNSUPPORTED_OP). Ten lines of NumPy
say what it means (isomorph.op), and the float64 oracle runs the model. A copy in which the
operator was left out is then divergent, and the sentence is the right one: missing_op.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[4,6] x) => (float[4,6] y) {{ h = Mul (x, k)  {}  y = Tanh ({}) }}"""


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    k = {"k": np.linspace(0.5, 1.5, 6, dtype=np.float32)}
    with TemporaryDirectory() as name:
        whole = written(
            Path(name) / "whole.onnx",
            MODEL.format("b = com.example.Bend <by=0.25> (h)", "b"),
            **k,
        )
        without = written(Path(name) / "without.onnx", MODEL.format("", "h"), **k)
        how = {"inputs": {"x": x}, "in_process": True}
        oracle = isomorph.RuntimeOptions(name="onnx_oracle")
        options = isomorph.CheckOptions(runtime=oracle)
        try:
            isomorph.run(whole, options=oracle, **how)
            refused = ""
        except isomorph.IsomorphError as error:
            refused = error.code

        @isomorph.op("com.example", "Bend")
        def bend(x, *, by):
            return np.where(x > 0, x, by * np.sin(x))

        report = isomorph.check(whole, without, options=options, **how)
        same = isomorph.check(whole, whole, options=options, **how)
    return {
        "left out": first_finding(report),
        "kept": first_finding(same),
        "before it is defined": refused,
        "in words": report.findings[0].statement.cause,
    }


if __name__ == "__main__":
    show(main())
