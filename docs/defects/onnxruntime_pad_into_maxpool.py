"""ONNX Runtime fuses a Pad with zeros into a MaxPool, which ignores its own padding.

Where all numbers are negative, the largest number of a window at the border is one of the zeros.
After the fusion it is the largest negative number.
"""

import sys

import numpy as np
import onnx
import onnxruntime

MODEL = """<ir_version: 9, opset_import: ["": 17]>
padded (float[1,1,4,4] x) => (float[1,1,4,4] y) <int64[8] border = {0, 0, 1, 1, 0, 0, 1, 1}> {
    p = Pad (x, border)
    y = MaxPool <kernel_shape = [3, 3]> (p)
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
    x = -1.0 - np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x[0, 0], 1), (3, 3))
    right = windows.max(axis=(2, 3))
    plain, optimized = run(x, "ORT_DISABLE_ALL")[0, 0], run(x, "ORT_ENABLE_ALL")[0, 0]
    print(f"onnxruntime {onnxruntime.__version__}")
    print("right, first row:     ", right[0])
    print("without optimizers:   ", plain[0])
    print("with all optimizers:  ", optimized[0])
    return 0 if np.array_equal(plain, right) and not np.array_equal(optimized, right) else 1


if __name__ == "__main__":
    sys.exit(main())
