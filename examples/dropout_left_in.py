"""Is dropout still in the model, although every test agrees?

The folklore: run it twice, and if the numbers are the same nothing is random.

Measured: ONNX Runtime's default optimizer removes Dropout in training mode, so two runs agree in
every bit, and with the reference too. The file still carries it, and another runtime will draw.
isomorph runs the file with every optimizer off as well, where two runs differ: nondeterminism, at
the node by its name.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import written
from showing import Facts, first_finding, show

import isomorph

MODEL = """net (float[4,8] x) => (float[4,8] y) {{ h = Exp (x)  d = {}  y = Tanh (d) }}"""


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    stored = {"ratio": np.float32(0.5), "training": np.array(True)}
    with TemporaryDirectory() as name:
        folder = Path(name)
        right = written(folder / "right.onnx", MODEL.format("Identity (h)"))
        left_in = written(
            folder / "left_in.onnx", MODEL.format("Dropout (h, ratio, training)"), **stored
        )
        report = isomorph.check(right, left_in, inputs={"x": x}, in_process=True)
        runs = [
            isomorph.run(
                left_in,
                inputs={"x": x},
                in_process=True,
                options=isomorph.RuntimeOptions(settings={"optimization": level}),
            )
            for level in ("all", "all", "none")
        ]
    values = [run.tensors["y"] for run in runs]
    return {
        "what isomorph says": first_finding(report),
        "two runs as deployed agree": bool(np.array_equal(values[0], values[1])),
        "as deployed and without optimizers agree": bool(np.array_equal(values[0], values[2])),
        "fix": report.findings[0].fix,
    }


if __name__ == "__main__":
    show(main())
