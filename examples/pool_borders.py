"""Why does average pooling differ, and only at the border of the image?

The folklore: padding is padding, and border effects are noise.

Measured: PyTorch counts the zeros of the padding by default, ONNX does not (count_include_pad).
In the middle the two are equal in every bit; at the border they differ by up to half. isomorph
sets the flag in the float64 oracle, sees the node become right, and says so: attribute.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """pool (float[1,2,8,8] x) => (float[1,2,8,8] y) {{
    p = AveragePool <kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad={}> (x)
    y = Tanh (p) }}"""


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(1, 2, 8, 8)).astype(np.float32)
    with TemporaryDirectory() as name:
        counted, not_counted = (
            written(Path(name) / f"{flag}.onnx", MODEL.format(flag)) for flag in (1, 0)
        )
        report = isomorph.check(counted, not_counted, inputs={"x": x}, in_process=True)
        runs = [
            isomorph.run(each, inputs={"x": x}, in_process=True).tensors["y"]
            for each in (counted, not_counted)
        ]
    apart = np.abs(runs[0] - runs[1])
    return {
        "what isomorph says": first_finding(report),
        "largest difference in the middle": float(apart[..., 1:-1, 1:-1].max()),
        "largest difference at the border": float(apart.max()),
        "in words": report.findings[0].statement.cause,
    }


if __name__ == "__main__":
    show(main())
