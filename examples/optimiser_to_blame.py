"""Which optimiser of the runtime changed the model, and did it change the result?

The folklore: optimisation levels are equivalent, or switch them all off to be safe.

Measured: for this network ONNX Runtime names the optimisers that changed it (setting
name_optimisers), and at every level the run is within rounding of float64. A fused file whose
activation is not the one it was fused from is another matter: the graphs differ, at the fused
node: fusion.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, accused, show

import isomorph

PARTS = """net (float[4,8] x) => (float[4,6] y) { h = Gemm (x, w, b)  r = Relu (h)  y = Exp (r) }"""
FUSED = """net (float[4,8] x) => (float[4,6] y) {
    r = com.microsoft.FusedGemm <activation="LeakyRelu", activation_alpha=0.2> (x, w, b)
    y = Exp (r) }"""
LEVELS = ("none", "basic", "extended", "all")


def main() -> Facts:
    draw = np.random.default_rng(0)
    x, w, b = (draw.normal(size=s).astype(np.float32) * 0.3 for s in ((4, 8), (8, 6), (6,)))
    facts: Facts = {}
    with TemporaryDirectory() as name:
        parts = written(Path(name) / "parts.onnx", PARTS, w=w, b=b)
        fused = written(Path(name) / "fused.onnx", FUSED, w=w, b=b)
        for level in LEVELS:
            settings = {"optimisation": level}
            report = isomorph.check(parts, inputs={"x": x}, settings=settings, in_process=True)
            facts[f"level {level}"] = accused(report)
        facts["fused wrongly"] = accused(
            isomorph.check(parts, fused, inputs={"x": x}, in_process=True)
        )
        named = isomorph.run(parts, inputs={"x": x}, settings={"name_optimisers": "yes"})
    ran = named.environment.facts["optimisers that ran"].split(", ")
    facts["optimisers that ran"] = [each for each in ran if "Fusion" in each][:3]
    return facts


if __name__ == "__main__":
    show(main())
