"""Does relu(relu(x + 1) - 1) come out differently once an optimizer has fused it?

The folklore: ONNX Runtime fuses the two ReLUs, PyTorch does not, and so the outputs diverge.

Measured on 20,000 inputs: PyTorch, NumPy and ONNX Runtime with its optimizer on and off are equal
bit for bit. Nothing was fused, and nothing may be: each of the four operations is exact or
rounded once by the same rule everywhere.

And if an optimizer did simplify it to relu(x), which over the real numbers is the same function?
Then six in ten positive results would change, by at most half the spacing of floats at the largest
x + 1 (2.4e-7 here), because the short form is the more exact one. That is rounding, not a fault,
and isomorph says so: equivalent. Shift by 1.001 instead of 1 on the way back, and it is divergent.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import elementwise
from showing import Facts, show

import isomorph


class Shifted(torch.nn.Module):
    """Two ReLUs around a shift there and back."""

    def forward(self, x):
        """relu(relu(x + 1) - 1), elementwise."""
        return torch.relu(torch.relu(x + 1) - 1)


def main() -> Facts:
    x = np.random.default_rng(0).normal(size=20_000).astype(np.float32)
    with TemporaryDirectory() as name:
        folder = Path(name)
        exact, wrong = _shifted(folder / "exact.onnx", 1.0), _shifted(folder / "wrong.onnx", 1.001)
        short = elementwise(folder / "short.onnx", [("Relu", ["x"], "y")])
        trace = isomorph.run(
            exact,
            inputs={"x": x},
            in_process=True,
            options=isomorph.RuntimeOptions(settings={"optimization": "none"}),
        )
        plain = trace.tensors["y"]
        reports = {
            "the same four nodes": isomorph.check(Shifted(), exact, inputs={"x": x}),
            "simplified to relu(x)": isomorph.check(exact, short, inputs={"x": x}, in_process=True),
            "shifted back by 1.001": isomorph.check(exact, wrong, inputs={"x": x}, in_process=True),
        }
    by_numpy = np.maximum(np.maximum(x + np.float32(1), 0) - np.float32(1), 0)
    facts: Facts = {name: _row(report) for name, report in reports.items()}
    facts["numpy equals onnxruntime without optimizer"] = bool(np.array_equal(by_numpy, plain))
    return facts


def _row(report) -> dict:
    distance = report.outputs[0].observed.distance
    return {
        "verdict": report.verdict.value,
        "values that differ": distance.differing,
        "max difference": distance.max_abs,
    }


def _shifted(path: Path, back: float) -> Path:
    steps = [
        ("Add", ["x", "one"], "up"),
        ("Relu", ["up"], "kept"),
        ("Sub", ["kept", "back"], "down"),
        ("Relu", ["down"], "y"),
    ]
    return elementwise(path, steps, {"one": np.float32(1), "back": np.float32(back)})


if __name__ == "__main__":
    show(main())
