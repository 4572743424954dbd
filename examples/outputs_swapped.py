"""Are the outputs of the converted model still in the same order?

The folklore: compare output by output, and everything is wrong if they were exchanged.

Measured: isomorph pairs outputs by name; where the names are gone, by place, and where that fails
it looks for the order that fits. It then calls the graph right and its interface changed:
OUTPUT_ORDER, cause interface, with the flags that accept it. Once accepted, the same file is
equivalent.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[4,6] x) => (float[4,6] {0}, float[4,6] {1}) {{
    {2} = Exp (x)  {3} = Tanh (x) }}"""


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    with TemporaryDirectory() as name:
        folder = Path(name)
        right = written(folder / "right.onnx", MODEL.format("grown", "bent", "grown", "bent"))
        other = written(folder / "other.onnx", MODEL.format("out0", "out1", "out1", "out0"))
        report = isomorph.check(right, other, inputs={"x": x}, in_process=True)
        bound = {"grown": "out1", "bent": "out0"}
        accepted = isomorph.check(
            right,
            other,
            inputs={"x": x},
            in_process=True,
            options=isomorph.CheckOptions(bind_outputs=bound),
        )
    return {
        "as it is": first_finding(report),
        "with the outputs bound": first_finding(accepted),
        "code": report.findings[0].code,
        "fix": report.findings[0].fix,
    }


if __name__ == "__main__":
    show(main())
