"""Why does a float16 decoder return NaN on one machine and the right numbers on another?

The folklore: the float16 file was tested, so the other machine's runtime is broken.

Measured: what a residual stream adds up grows from layer to layer. Here two summands of 40,000 are
each within float16, and their sum is not: 65504 is its largest number. That is the mechanism of
onnxruntime#32600, where an embedding model is all NaN on Linux on ARM and right on x86. On x86
ONNX Runtime has no float16 kernel for most nodes, computes them in float32, and hands the sum on
unrounded: the run is degraded, as float16 should be. isomorph computes the graph as it is declared
beside the run, and names the node, its tensor, how large it becomes, and the cause: precision.
With the same weights and a smaller stream nothing is found.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

WIDTH, LAYERS, LARGE = 16, 3, 40_000.0
LAYER = """
    normed_{i} = LayerNormalization ({stream}, ones)  up_{i} = MatMul (normed_{i}, up_weight_{i})
    active_{i} = Relu (up_{i})  down_{i} = MatMul (active_{i}, down_weight_{i})
    summand_{i} = Add (down_{i}, outlier_{i})
    [residual_{i}] stream_{i} = Add ({stream}, summand_{i})"""


def main() -> Facts:
    x = np.random.default_rng(1).normal(size=(1, 4, WIDTH)).astype(np.float32)
    reports = {}
    with TemporaryDirectory() as name:
        for title, large in (
            ("two summands of 40,000", LARGE), ("two summands of 20,000", LARGE / 2)
        ):  # fmt: skip
            wide, half = (
                _decoder(Path(name) / f"{kind}.onnx", kind, large) for kind in ("float", "float16")
            )
            reports[title] = isomorph.check(wide, half, inputs={"x": x}, in_process=True)
    found = reports["two summands of 40,000"].findings[0]
    return {
        **{title: first_finding(report) for title, report in reports.items()},
        "code": found.code,
        "tensor": found.tensors[0],
        "how large it becomes": found.evidence.get("largest", np.inf),
        "largest number of float16": found.evidence.get("limit", np.inf),
        "in words": found.summary,
    }


def _decoder(path: Path, kind: str, large: float) -> Path:
    """Layers that add to a stream; two of them add a large number to one of its channels."""
    draw = np.random.default_rng(0)
    dtype = {"float": np.float32, "float16": np.float16}[kind]
    weights: dict[str, Any] = {"ones": np.ones(WIDTH), "head": draw.normal(size=(WIDTH, 8))}
    steps, stream = "", "x"
    for i in range(LAYERS):
        weights[f"up_weight_{i}"] = draw.normal(size=(WIDTH, 2 * WIDTH), scale=0.2)
        weights[f"down_weight_{i}"] = draw.normal(size=(2 * WIDTH, WIDTH), scale=0.2)
        weights[f"outlier_{i}"] = np.where(np.arange(WIDTH) == 5, large if i else 0.0, 0.0)
        steps += LAYER.format(i=i, stream=stream)
        stream = f"stream_{i}"
    text = f"""decoder ({kind}[1,4,{WIDTH}] x) => ({kind}[1,4,8] logits) {{ {steps}
        normed = LayerNormalization ({stream}, ones)  logits = MatMul (normed, head) }}"""
    return written(path, text, **{name: each.astype(dtype) for name, each in weights.items()})


if __name__ == "__main__":
    show(main())
