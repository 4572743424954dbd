"""Can a model with torch.special.entr be exported to ONNX?

The folklore: ONNX has no such operator, so the export fails or approximates it.

Measured: the older exporter (dynamo=False) refuses it by name. The present one (dynamo=True)
writes it as -x·log(x) with the special cases around it, and isomorph finds it equivalent on
10,000 draws and on every special value (negative: -inf, zero: 0, NaN: NaN). One bit differs: at
x = 1 PyTorch gives -0.0 and the ONNX model 0.0, which isomorph mentions (SIGNED_ZERO) and does
not hold against it. An approximation would not pass: with log(x + 1e-6), which people write to
avoid log(0), it is divergent.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import export
from showing import Facts, show

import isomorph

SPECIAL = [-1.0, -0.0, 0.0, 1.0, 2.0, np.inf, np.nan]


class Entr(torch.nn.Module):
    """Elementwise entropy, as PyTorch has it."""

    def forward(self, x):
        """-x·log(x), elementwise."""
        return torch.special.entr(x)


class Approximated(torch.nn.Module):
    """The usual shortcut around log(0)."""

    def forward(self, x):
        """-x·log(x + 1e-6), elementwise."""
        return -x * torch.log(x + 1e-6)


def main() -> Facts:
    draws = np.random.default_rng(0).uniform(0.0, 3.0, size=10_000).astype(np.float32)
    x = np.concatenate([np.array(SPECIAL, np.float32), draws])
    example = (torch.from_numpy(x),)
    with TemporaryDirectory() as name:
        folder = Path(name)
        faithful = export(Entr(), example, folder / "entr.onnx", dynamo=True)
        shortcut = export(Approximated(), example, folder / "shortcut.onnx", dynamo=True)
        try:
            export(Entr(), example, folder / "legacy.onnx", dynamo=False)
            refused = ""
        except torch.onnx.errors.UnsupportedOperatorError as error:
            refused = str(error).partition(" to ONNX")[0]
        graph = isomorph.inspect(faithful).graph
        report = isomorph.check(Entr(), faithful, inputs={"x": x})
        wrong = isomorph.check(faithful, shortcut, inputs={"x": x}, in_process=True)
    return {
        "dynamo": _row(report),
        "log(x + 1e-6)": _row(wrong),
        "legacy exporter says": refused,
        "operators it became": sorted({node.op for node in graph.nodes}),
    }


def _row(report) -> dict:
    distance = report.outputs[0].observed.distance
    return {
        "verdict": report.verdict.value,
        "max difference": distance.max_abs,
        "NaN/Inf elsewhere": distance.nonfinite_mismatch,
        "zeros of the other sign": distance.signed_zero_mismatch,
        "findings": [finding.code for finding in report.findings],
    }


if __name__ == "__main__":
    show(main())
