"""ONNX Runtime takes (x - mean)^4 for the square of a LayerNormalization.

Its fusion looks for Pow between Sub and ReduceMean and does not look at the exponent.
"""

import sys

import numpy as np
import onnx
import onnxruntime

MODEL = """<ir_version: 9, opset_import: ["": 17]>
powers (float[4,8] x) => (float[4,8] y)
<float four = {4.0}, float epsilon = {1e-5}, float[8] scale = {1, 1, 1, 1, 1, 1, 1, 1},
 float[8] shift = {0, 0, 0, 0, 0, 0, 0, 0}> {
    mean = ReduceMean <axes = [-1]> (x)
    centered = Sub (x, mean)
    powers = Pow (centered, four)
    moment = ReduceMean <axes = [-1]> (powers)
    guarded = Add (moment, epsilon)
    root = Sqrt (guarded)
    ratio = Div (centered, root)
    scaled = Mul (ratio, scale)
    y = Add (scaled, shift)
}"""


def run(x: np.ndarray, level: str) -> np.ndarray:
    """The result at one level of optimization."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(
        onnx.parser.parse_model(MODEL).SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
    )
    return np.asarray(session.run(None, {"x": x})[0])


def main() -> int:
    """Compare both levels with the definition."""
    x = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    centered = x.astype(np.float64) - x.mean(axis=-1, keepdims=True, dtype=np.float64)
    right = centered / np.sqrt((centered**4).mean(axis=-1, keepdims=True) + 1e-5)
    plain, optimized = run(x, "ORT_DISABLE_ALL"), run(x, "ORT_ENABLE_ALL")
    print(f"onnxruntime {onnxruntime.__version__}")
    print("right:                ", right[0, :4])
    print("without optimizers:   ", plain[0, :4])
    print("with all optimizers:  ", optimized[0, :4])
    near = [np.allclose(each, right, rtol=1e-4) for each in (plain, optimized)]
    return 0 if near == [True, False] else 1


if __name__ == "__main__":
    sys.exit(main())
