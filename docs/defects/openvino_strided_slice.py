"""OpenVINO 2026.4.1, CPU: StridedSlice with a new axis and a shrunk one reads foreign memory.

The shape is inferred rightly and the values are not: those of another place, and behind them
whatever lies in memory. OpenVINO's own constant folding of the same operator is right.

    pip install openvino==2026.4.1 numpy
    python openvino_strided_slice.py
"""

# ruff: noqa: ANN001, ANN002, ANN201, D103
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as op

x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def whole(*values):
    return op.constant(np.array(values, np.int64))


def sliced(tensor):
    return op.strided_slice(
        tensor, whole(1, 0, 0), whole(2, 1, 3), whole(1, 1, 1), [0, 0, 0], [0, 0, 0],
        new_axis_mask=[0, 1, 0], shrink_axis_mask=[1, 0, 0],
    )  # fmt: skip


def run(model, *inputs):
    return ov.Core().compile_model(model, "CPU")(list(inputs))[0]


expected = x[1, None, 0:3]
data = op.parameter([2, 3, 4], np.float32)
computed = run(ov.Model([sliced(data)], [data], "data"), x)
folded = run(ov.Model([sliced(op.constant(x))], [], "folded"))
print("openvino", ov.__version__)
print("NumPy    ", expected.reshape(-1))
print("folded   ", folded.reshape(-1))
print("CPU      ", computed.reshape(-1))
right = np.array_equal(computed, expected)
print("no defect" if right else "defect")
sys.exit(1 if right else 0)
