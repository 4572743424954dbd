"""OpenVINO 2026.4.1, CPU: LRN cuts the fraction off its attribute ``bias``.

With a bias of 1.5 the CPU plugin computes x / (1 + alpha/size · Σx²)^beta. A bias that is a whole
number is right.

    pip install openvino==2026.4.1 numpy
    python openvino_lrn_bias.py
"""

# ruff: noqa: ANN001, ANN201, D103
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as op

ALPHA, BETA, SIZE = 0.5, 0.75, 3
x = np.random.default_rng(0).normal(size=(1, 5, 1, 1)).astype(np.float32)
squares = np.convolve(x.ravel() ** 2, np.ones(SIZE), "same")


def computed(bias):
    port = op.parameter(list(x.shape), np.float32)
    node = op.lrn(port, op.constant(np.array([1])), ALPHA, BETA, bias, SIZE)
    return ov.Core().compile_model(ov.Model([node], [port], "lrn"), "CPU")([x])[0].ravel()


def expected(bias):
    return x.ravel() / (bias + ALPHA / SIZE * squares) ** BETA


print("openvino", ov.__version__)
for bias in (1.0, 1.5, 2.0):
    off = float(np.abs(computed(bias) - expected(bias)).max())
    print(f"bias {bias}: off by {off:.2g}")
off = float(np.abs(computed(1.5) - expected(1.0)).max())
print(f"bias 1.5, against the formula with 1.0: off by {off:.2g}")
wrong = not np.allclose(computed(1.5), expected(1.5), rtol=1e-4)
print("defect" if wrong else "no defect")
sys.exit(0 if wrong else 1)
