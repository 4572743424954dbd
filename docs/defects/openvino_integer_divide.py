"""OpenVINO 2026.4.1, CPU: Divide of whole numbers ignores its attribute ``m_pythondiv``.

The attribute is true by default and means that the quotient is rounded down, as in Python.
OpenVINO's constant folding rounds down; the CPU plugin cuts off. So a graph gives other numbers
where an input of the division becomes a constant.

    pip install openvino==2026.4.1 numpy
    python openvino_integer_divide.py
"""

# ruff: noqa: ANN001, ANN002, ANN201, D103
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as op

a, b = np.array([7, -7, 5, -9]), np.array([2, 2, -3, -4])


def run(model, *inputs):
    return ov.Core().compile_model(model, "CPU")(list(inputs))[0]


x, y = op.parameter([4], np.int64), op.parameter([4], np.int64)
node = op.divide(x, y)
computed = run(ov.Model([node], [x, y], "data"), a, b)
folded = run(ov.Model([op.divide(op.constant(a), op.constant(b))], [], "folded"))
print("openvino", ov.__version__, node.get_attributes())
print("a // b   ", a // b)
print("folded   ", folded)
print("CPU      ", computed)
right = np.array_equal(computed, a // b)
print("no defect" if right else "defect")
sys.exit(1 if right else 0)
