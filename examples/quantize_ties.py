"""With the same scale and zero point, do two quantizers give the same integers?

The folklore: they drift apart, because rounding and clipping are implemented differently.

Measured on 81 multiples of a quarter of the scale: NumPy's rint, ONNX Runtime's QuantizeLinear and
PyTorch's fake_quantize give the same integers, every one. They round ties to even. A quantizer
that rounds ties away from zero differs in exactly those ties whose even neighbor lies toward
zero (10 of the 20 ties here), by one step, and nowhere else. isomorph says divergent: nothing
before the quantizer rounds, so these ties are the model's own, and the two functions answer them
differently. Without a tie among the inputs, and asked about these inputs only (``only_given``), the
same pair is equivalent, and the exit code is 0; else isomorph tries other inputs and finds one.

What is really wrong in much code is ``q - zero_point`` with a uint8 ``q``: NumPy stays in uint8,
and everything below the zero point wraps round to a large positive number (38 of the 81 values,
each off by 256 steps). Widen the integers first.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import elementwise
from showing import Facts, show

import isomorph

SCALE, ZERO_POINT = 0.5, 128
X = np.arange(-40, 41, dtype=np.float32) * np.float32(SCALE / 4)
TIES = np.abs(X / SCALE) % 1 == 0.5


def main() -> Facts:
    even = np.clip(np.rint(X / SCALE) + ZERO_POINT, 0, 255).astype(np.uint8)
    away = np.trunc(X / SCALE + np.copysign(0.5, X)) + ZERO_POINT
    fake = torch.fake_quantize_per_tensor_affine(torch.from_numpy(X), SCALE, ZERO_POINT, 0, 255)
    right = (even.astype(np.int32) - ZERO_POINT) * SCALE
    wrapped = (even - np.uint8(ZERO_POINT)) * SCALE
    with TemporaryDirectory() as name:
        folder = Path(name)
        model, other = _half_even(folder / "even.onnx"), _half_away(folder / "away.onnx")
        trace = isomorph.run(model, inputs={"x": X}, fetch=["q", "y"])
        q, y = trace.tensors["q"], trace.tensors["y"]
        with_ties = isomorph.check(
            model, other, inputs={"x": X}, options=isomorph.CheckOptions(strict=True)
        )
        without = isomorph.check(
            model,
            other,
            inputs={"x": X[~TIES]},
            options=isomorph.CheckOptions(strict=True, only_given=True),
        )
    return {
        "onnxruntime": {"differ from rint": int((q != even).sum())},
        "torch fake_quantize": {"differ from rint": int((fake.numpy() != right).sum())},
        "half away from zero": {
            "differ from rint": int((even != away).sum()),
            "only at ties": bool(np.all(TIES[even != away])),
            "steps": float(np.abs(even - away).max()),
        },
        "uint8 - zero_point": {
            "differ from rint": int((wrapped != right).sum()),
            "only below zero": bool(np.array_equal(wrapped != right, even < ZERO_POINT)),
            "steps": float(np.abs(wrapped - right).max() / SCALE),
        },
        "values": len(X),
        "ties": int(TIES.sum()),
        "dequantized the same": bool(np.array_equal(y, right)),
        "half even against half away": _outcome(with_ties),
        "the same without the ties": _outcome(without),
    }


def _outcome(report) -> list:
    """The verdict, the strict exit code, and what stands between the two."""
    hidden = [one.code for one in report.findings if one.effect == "below_rounding"]
    return [report.verdict.value, report.exit_code, *hidden]


def _half_even(path: Path) -> Path:
    """The standard's quantizer, followed by its inverse."""
    steps = [
        ("QuantizeLinear", ["x", "scale", "zero"], "q"),
        ("DequantizeLinear", ["q", "scale", "zero"], "y"),
    ]
    return elementwise(path, steps, {"scale": np.float32(SCALE), "zero": np.uint8(ZERO_POINT)})


def _half_away(path: Path) -> Path:
    """The same step, but ties go away from zero; these inputs are far from the ends of uint8."""
    steps = [
        ("Div", ["x", "scale"], "v"),
        ("Abs", ["v"], "size"),
        ("Add", ["size", "half"], "moved"),
        ("Floor", ["moved"], "whole"),
        ("Sign", ["v"], "sign"),
        ("Mul", ["whole", "sign"], "rounded"),
        ("Mul", ["rounded", "scale"], "y"),
    ]
    return elementwise(path, steps, {"scale": np.float32(SCALE), "half": np.float32(0.5)})


if __name__ == "__main__":
    show(main())
