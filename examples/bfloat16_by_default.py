"""Why does OpenVINO differ on one processor and not on the other?

The folklore: the conversion to OpenVINO lost something.

Measured: the graph is right. On processors with bfloat16 the CPU plugin computes in it unless it
is set otherwise, and the outputs move by 1e-3; on others it does not. isomorph finds the graphs
equal, the run off, asks for full precision, and the run is right: precision, with the setting
that corrects it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[8,32] x) => (float[8,16] y) { h = MatMul (x, w)  y = Tanh (h) }"""


def main() -> Facts:
    draw = np.random.default_rng(0)
    x, w = (draw.normal(size=shape).astype(np.float32) * 0.3 for shape in ((8, 32), (32, 16)))
    with TemporaryDirectory() as name:
        model = written(Path(name) / "model.onnx", MODEL, w=w)
        reports = {
            hint: isomorph.check(
                model,
                model,
                inputs={"x": x},
                in_process=True,
                options=isomorph.CheckOptions(
                    runtime=isomorph.RuntimeOptions(
                        name={"candidate": "openvino"}, settings={"candidate.precision": hint}
                    )
                ),
            )
            for hint in ("default", "f32")
        }
    facts: Facts = {f"precision {hint}": first_finding(report) for hint, report in reports.items()}
    facts["computed in"] = reports["default"].environments["candidate run"].precision
    facts["the graphs are equal"] = all(
        output.rounding.budget.ratio <= 1 for output in reports["default"].outputs
    )
    return facts


if __name__ == "__main__":
    show(main())
