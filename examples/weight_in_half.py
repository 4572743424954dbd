"""Was one weight rounded to float16 on the way, although the model is float32?

The folklore: if the file says float32, its numbers have 24 bits.

Measured: a converter that passes a weight through float16 leaves a float32 file with eleven bits
in it. The outputs move by 9e-4, which a tolerance of 1e-3 lets pass. isomorph puts the
reference's weight back, sees the node become right, and recognizes what happened to it: weight,
rounded to float16.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """dense (float[4,16] x) => (float[4,8] y) { h = MatMul (x, w)  y = Tanh (h) }"""


def main() -> Facts:
    draw = np.random.default_rng(0)
    x, w = (draw.normal(size=shape).astype(np.float32) for shape in ((4, 16), (16, 8)))
    with TemporaryDirectory() as name:
        right = written(Path(name) / "right.onnx", MODEL, w=w)
        half = written(Path(name) / "half.onnx", MODEL, w=w.astype(np.float16).astype(np.float32))
        report = isomorph.check(right, half, inputs={"x": x}, in_process=True)
        runs = [
            isomorph.run(m, inputs={"x": x}, in_process=True).tensors["y"] for m in (right, half)
        ]
    return {
        "what isomorph says": first_finding(report),
        "np.allclose(rtol=1e-3, atol=1e-3) says": bool(np.allclose(*runs, rtol=1e-3, atol=1e-3)),
        "largest difference": float(np.abs(runs[0] - runs[1]).max()),
        "in words": report.findings[0].statement.cause.rpartition(": ")[2],
    }


if __name__ == "__main__":
    show(main())
