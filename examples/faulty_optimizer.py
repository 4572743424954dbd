"""Which optimizer of the runtime changed the model, and did it change the result?

The folklore: optimization levels are equivalent, or switch them all off to be safe.

Measured: of the optimizers that changed this network (setting name_optimizers), none changes its
result: at every level the run is within rounding of float64. Zeros put around an image before a
MaxPool are another matter. ONNX Runtime 1.31.1 moves them into the pool, which never picks what
lies outside, and the run is wrong wherever all neighbors are negative. isomorph bisects the levels
and then the optimizers, and names Pad_Fusion: fusion. So it does a fused file whose activation is
not the one it was fused from.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

PARTS = """net (float[4,8] x) => (float[4,6] y) { h = Gemm (x, w, b)  r = Relu (h)  y = Exp (r) }"""
FUSED = """net (float[4,8] x) => (float[4,6] y) {
    r = com.microsoft.FusedGemm <activation="LeakyRelu", activation_alpha=0.2> (x, w, b)
    y = Exp (r) }"""
PADDED = """net (float[1,1,6,6] x) => (float[1,1,6,6] y) {
    p = Pad (x, border)  y = MaxPool <kernel_shape=[3,3]> (p) }"""
BORDER = np.array([0, 0, 1, 1, 0, 0, 1, 1])
LEVELS = ("none", "basic", "extended", "all")


def main() -> Facts:
    draw = np.random.default_rng(0)
    x, w, b = (draw.normal(size=s).astype(np.float32) * 0.3 for s in ((4, 8), (8, 6), (6,)))
    facts: Facts = {}
    with TemporaryDirectory() as name:
        parts = written(Path(name) / "parts.onnx", PARTS, w=w, b=b)
        fused = written(Path(name) / "fused.onnx", FUSED, w=w, b=b)
        padded = written(Path(name) / "padded.onnx", PADDED, border=BORDER)
        for level in LEVELS:
            settings = {"optimization": level}
            report = isomorph.check(
                parts,
                inputs={"x": x},
                in_process=True,
                options=isomorph.CheckOptions(runtime=isomorph.RuntimeOptions(settings=settings)),
            )
            facts[f"level {level}"] = first_finding(report)
        below_zero = {"x": -1 - draw.random((1, 1, 6, 6), np.float32)}
        report = isomorph.check(padded, inputs=below_zero, in_process=True)
        facts["Pad before MaxPool"] = first_finding(report)
        facts["fused wrongly"] = first_finding(
            isomorph.check(parts, fused, inputs={"x": x}, in_process=True)
        )
        named = isomorph.run(
            parts,
            inputs={"x": x},
            options=isomorph.RuntimeOptions(settings={"name_optimizers": "yes"}),
        )
        facts["setting for Pad before MaxPool"] = (
            report.findings[0].fix if report.findings else None
        )
    ran = named.environment.facts["optimizers that ran"].split(", ")
    facts["optimizers that ran"] = [each for each in ran if "Fusion" in each][:3]
    return facts


if __name__ == "__main__":
    show(main())
