"""Is TensorFlow's fake_quant the same function as QuantizeLinear and DequantizeLinear in ONNX?

The folklore: yes, with scale = (max - min) / 255; or: no, the two drift apart.

Measured: with a grid that zero lies on, they agree in every value but ties. At a tie fake_quant
goes up and QuantizeLinear to the even neighbor: one step apart in 10 of 20 ties, and isomorph
says divergent where the inputs hold such a tie, equivalent where they do not.

The larger gap is in the range. Asked for -1 to 1, fake_quant moves ("nudges") both ends until zero
is on the grid: to -0.996 and 1.004. Whoever quantizes with the range that was asked for is half a
step off everywhere, and in half of the values one integer off. With the nudged zero point (127) in
the ONNX model the two are the same function: equal but for 1 of 9,999 values, which lies so near
a tie that the rounding of the division decides it, and equivalent.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from building import elementwise
from converting import saved_model
from showing import Facts, show

import isomorph

QUARTERS = np.arange(-40, 41, dtype=np.float32) * np.float32(0.125)
TIES = np.abs(QUARTERS / 0.5) % 1 == 0.5


def main() -> Facts:
    x = np.random.default_rng(0).uniform(-1.1, 1.1, 9_999).astype(np.float32)
    with TemporaryDirectory() as name:
        folder = Path(name)
        # 255 steps of a half from -64: zero lies on the grid, and nothing has to be moved.
        exact, onnx = _fake(folder / "exact", -64.0, 63.5), _linear(folder / "a.onnx", 0.5, 128)
        # 255 steps from -1 to 1: zero would lie between two of them.
        step = np.float32(2 / 255)
        moved = _fake(folder / "moved", -1.0, 1.0)
        low, high = _only(moved, np.array([-9.0, 9.0], np.float32))
        zero = int(np.rint(-low / step))
        rows = {
            "zero on the grid": _row(exact, onnx, QUARTERS[~TIES], 0.5),
            "the same, at ties": _row(exact, onnx, QUARTERS[TIES], 0.5),
            "nudged": _row(moved, _linear(folder / "b.onnx", step, zero), x, step),
        }
        within = x[np.abs(x) < 0.99]
        got = _only(moved, within)
    asked = np.rint((within + 1.0) / step)
    return {
        **rows,
        "the range asked for": [-1.0, 1.0],
        "the range on the grid": [float(low), float(high)],
        "zero point": zero,
        "steps off the range asked for": float(np.abs(got + 1.0 - asked * step).max() / step),
        "integers one apart": float((np.rint((got - low) / step) != asked).mean()),
    }


def _row(fake: Path, linear: Path, x: np.ndarray, step: float) -> dict:
    report = isomorph.check(fake, linear, inputs={"x": x}, in_process=True)
    gap = np.abs(_only(fake, x) - _only(linear, x)) / step
    return {
        "values": x.size,
        "differ": int((gap > 0.5).sum()),
        "steps": float(np.rint(gap.max())),
        "verdict": report.verdict.value,
    }


def _only(model: Path, x: np.ndarray) -> np.ndarray:
    (value,) = isomorph.run(model, inputs={"x": x}, in_process=True).tensors.values()
    return np.asarray(value)


def _fake(path: Path, low: float, high: float) -> Path:
    def quantize(x):
        import tensorflow as tf

        return tf.quantization.fake_quant_with_min_max_args(x, low, high)

    return saved_model(path, quantize)


def _linear(path: Path, scale: float, zero_point: int) -> Path:
    steps = [
        ("QuantizeLinear", ["x", "scale", "zero"], "q"),
        ("DequantizeLinear", ["q", "scale", "zero"], "y"),
    ]
    return elementwise(path, steps, {"scale": np.float32(scale), "zero": np.uint8(zero_point)})


if __name__ == "__main__":
    show(main())
