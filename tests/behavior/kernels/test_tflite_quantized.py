"""Quantized TFLite operators against LiteRT, in quanta of their output."""

import numpy as np
import pytest

from tflite_one_operator import OneOperator, T, assert_quanta_agree, data, state, stored

RNG = np.random.default_rng(17)
RELU, RELU6 = 1, 3
GRIDS = {
    "int8": {"scale": 0.05, "zero": -3},
    "uint8": {"scale": 0.05, "zero": 120},
    "int16": {"scale": 0.0002, "zero": 0},
}


def activation(shape, dtype="int8", **grid):
    ends = np.iinfo(dtype)
    return data(RNG.integers(ends.min, ends.max + 1, shape), dtype, **{**GRIDS[dtype], **grid})


def out(dtype="int8", scale=0.05, zero=None):
    return [T(dtype=dtype, scale=scale, zero=GRIDS[dtype]["zero"] if zero is None else zero)]


def weights(shape, axis=None, scale=0.01):
    channels = 1 if axis is None else shape[axis]
    scales = scale * RNG.uniform(0.5, 2.0, channels)
    return stored(RNG.integers(-127, 128, shape), "int8", scale=scales, zero=0, axis=axis or 0)


def bias(x, w, count, dtype="int32"):
    scales = float(np.float32(x.scale)) * np.asarray(w.scale, np.float32)
    return stored(RNG.integers(-2000, 2000, count), dtype, scale=scales, zero=0)


def product(op, x, w, count, options, **settings):
    kind = x.dtype
    wide = "int64" if kind == "int16" else "int32"
    inputs = [x, w, bias(x, w, count, wide)]
    scale = settings.pop("scale", 0.4 if kind != "int16" else 0.002)
    version = {"int8": 3, "uint8": 1, "int16": 4}[kind]
    return OneOperator(op, inputs, out(kind, scale), options, version, **settings)


def conv(dtype="int8", axis=0, **settings):
    x, w = activation((2, 6, 6, 3), dtype), weights((4, 3, 3, 3), axis)
    given = {"strideW": 1, "strideH": 1, **settings}
    return product("CONV_2D", x, w, 4, "Conv2D", **given)


def depthwise(dtype="int8"):
    x, w = activation((1, 6, 6, 4), dtype), weights((1, 3, 3, 8), 3)
    return product("DEPTHWISE_CONV_2D", x, w, 8, "DepthwiseConv2D", strideW=2, strideH=2,
                   depthMultiplier=2, scale=0.1 if dtype == "int8" else 0.0005)  # fmt: skip


def dense(dtype="int8", axis=None):
    x, w = activation((3, 16), dtype), weights((5, 16), axis)
    return product("FULLY_CONNECTED", x, w, 5, "FullyConnected",
                   scale=0.1 if dtype == "int8" else 0.0005)  # fmt: skip


def elementwise(op, options, dtype="int8", **settings):
    a = activation((2, 3, 16), dtype)
    b = activation((16,), dtype, scale=GRIDS[dtype]["scale"] * 0.7)
    scale = settings.pop("scale", GRIDS[dtype]["scale"] * 1.5)
    if dtype == "int16" and op in ("ADD", "SUB"):
        settings["potScaleInt16"] = False
    return OneOperator(op, [a, b], out(dtype, scale), options, 2, **settings)


def unary(op, scale, zero, options=None, dtype="int8", version=1, **settings):
    x = activation((4, 32), dtype)
    return OneOperator(op, [x], out(dtype, scale, zero), options, version, **settings)


def pool(op):
    return OneOperator(
        op, [activation((2, 7, 6, 3))], out(), "Pool2D", 2,
        filterHeight=3, filterWidth=2, strideH=2, strideW=1,
    )  # fmt: skip


def reduction(op, scale=0.05, zero=None, version=2):
    inputs = [activation((2, 5, 6, 3)), stored(np.array([1, 2], np.int32))]
    return OneOperator(op, inputs, out("int8", scale, zero), "Reducer", version, keepDims=True)


def transposed():
    x, w = activation((1, 4, 5, 3)), weights((4, 3, 3, 3), 0)
    inputs = [stored(np.array([1, 8, 10, 4], np.int32)), w, x, bias(x, w, 4)]
    return OneOperator("TRANSPOSE_CONV", inputs, out("int8", 0.3), "TransposeConv", 3,
                       strideW=2, strideH=2)  # fmt: skip


def requantized(source, target, scale, zero):
    version = 3 if "int16" in (source, target) else 2
    return OneOperator("QUANTIZE", [activation((4, 32), source)], out(target, scale, zero),
                       "Quantize", version)  # fmt: skip


def lstm(projection=0, hidden=6, features=5, steps=4):
    """int8 with a 16-bit cell; gates without layer normalization have a grid of their own."""
    size = projection or hidden
    out_grid = {"scale": 1 / 128, "zero": 3}
    x = activation((2, steps, features), scale=0.02)

    def gate_bias(w):
        return stored(RNG.integers(-500, 500, hidden), "int32", scale=0.02 * float(w.scale[0]))

    # Small enough that the cell forgets: a chaotic one would carry a quantum on and on.
    w = [weights((hidden, features), scale=0.004) for _ in range(4)]
    r = [weights((hidden, size), scale=0.004) for _ in range(4)]
    inputs = [x, *w, *r, None, None, None, *(gate_bias(each) for each in w)]
    inner_grid = out_grid
    if projection:
        inner_grid = {"scale": 1 / 120, "zero": -2}
        p = weights((size, hidden), scale=0.004)
        inputs += [p, stored(RNG.integers(-200, 200, size), "int32", scale=p.scale[0] / 120)]
    else:
        inputs += [None, None]
    inputs += [state((2, size), "int8", **out_grid), state((2, hidden), "int16", scale=2.0**-11)]
    inputs += [None] * 4
    inner = [T(dtype="int16", scale=2.0**-12)] * 4 + [T(dtype="int8", **inner_grid)]
    return OneOperator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [T(dtype="int8", **out_grid)],
        "UnidirectionalSequenceLSTM", 3, inner=inner, fusedActivationFunction=4,
    )  # fmt: skip


def svdf():
    x, features = activation((9, 3), scale=0.02), weights((8, 3))
    times = stored(RNG.integers(-3000, 3000, (8, 5)), "int16", scale=0.0003)
    short = 0.0005
    bias_ = stored(RNG.integers(-9000, 9000, 4), "int32", scale=short * 0.0003)
    memory = state((9, 40), "int16", scale=short)
    # The integer kernel leaves its ReLU to the end of the grid.
    inputs = [x, features, times, bias_, memory]
    return OneOperator("SVDF", inputs, out("int8", 0.005, -128), "SVDF", 3, rank=2,
                       fusedActivationFunction=RELU)  # fmt: skip


# The quanta are those of DESIGN: one, and two where a table or a sum of two grids is involved.
CASES = {
    "conv": (1, conv),
    "conv per tensor": (1, lambda: conv(axis=None)),
    "conv relu": (1, lambda: conv(fusedActivationFunction=RELU)),
    "conv relu6": (1, lambda: conv(fusedActivationFunction=RELU6, scale=0.05)),
    "conv int16": (1, lambda: conv("int16")),
    "depthwise": (1, depthwise),
    "depthwise int16": (1, lambda: depthwise("int16")),
    "dense": (1, dense),
    "dense per channel": (1, lambda: dense(axis=0)),
    "dense int16": (1, lambda: dense("int16")),
    "transpose conv": (1, transposed),
    "matmul": (1, lambda: OneOperator(
        "BATCH_MATMUL", [activation((2, 4, 8)), activation((2, 8, 5))], out("int8", 1.0),
        "BatchMatMul", 2)),
    "add": (2, lambda: elementwise("ADD", "Add")),
    "add relu": (2, lambda: elementwise("ADD", "Add", fusedActivationFunction=RELU)),
    "add uint8": (2, lambda: elementwise("ADD", "Add", "uint8")),
    "add int16": (2, lambda: elementwise("ADD", "Add", "int16")),
    "sub": (2, lambda: elementwise("SUB", "Sub")),
    "mul": (1, lambda: elementwise("MUL", "Mul", scale=0.2)),
    "mul int16": (1, lambda: elementwise("MUL", "Mul", "int16", scale=0.001)),
    "maximum": (0, lambda: OneOperator("MAXIMUM", [activation((2, 9)), activation((9,))], out())),
    "average pool": (1, lambda: pool("AVERAGE_POOL_2D")),
    "max pool": (0, lambda: pool("MAX_POOL_2D")),
    "mean": (1, lambda: reduction("MEAN", 0.02)),
    "sum": (1, lambda: reduction("SUM", 0.9)),
    "reduce max": (0, lambda: reduction("REDUCE_MAX")),
    "relu": (1, lambda: unary("RELU", 0.03, -128, version=2)),
    "relu6": (1, lambda: unary("RELU6", 0.03, -128, version=2)),
    "leaky relu": (1, lambda: unary("LEAKY_RELU", 0.05, -3, "LeakyRelu", version=2, alpha=0.3)),
    "hard swish": (2, lambda: unary("HARD_SWISH", 0.05, -3)),
    "logistic": (2, lambda: unary("LOGISTIC", 1 / 256, -128, version=2)),
    "logistic uint8": (2, lambda: unary("LOGISTIC", 1 / 256, 0, dtype="uint8")),
    "tanh": (2, lambda: unary("TANH", 1 / 128, 0, version=2)),
    "softmax": (2, lambda: unary("SOFTMAX", 1 / 256, -128, "Softmax", version=2, beta=1.0)),
    "log softmax": (2, lambda: unary("LOG_SOFTMAX", 16 / 256, 127, version=2)),
    "abs": (1, lambda: unary("ABS", 0.05, -128, version=2)),
    "rsqrt": (2, lambda: OneOperator(
        "RSQRT", [data(RNG.integers(-100, 127, (4, 8)), "int8", scale=0.05, zero=-128)],
        out("int8", 0.02, -128), None, 2)),
    "squared difference": (2, lambda: elementwise("SQUARED_DIFFERENCE", None, scale=0.5)),
    "bilinear": (1, lambda: OneOperator(
        "RESIZE_BILINEAR", [activation((1, 5, 4, 2)), stored(np.array([8, 7], np.int32))], out(),
        "ResizeBilinear", 2)),
    "quantize int8 to uint8": (1, lambda: requantized("int8", "uint8", 0.05, 125)),
    "quantize int16 to int8": (1, lambda: requantized("int16", "int8", 0.04, 5)),
    "quantize float": (1, lambda: OneOperator(
        "QUANTIZE", [data(RNG.normal(size=(4, 32)) * 2)], out("int8", 0.03, 4), "Quantize")),
    "lstm": (2, lstm),
    "lstm projection": (2, lambda: lstm(4)),
    "svdf": (1, svdf),
    "prelu": (1, lambda: OneOperator(
        "PRELU", [activation((2, 8)), stored(RNG.integers(-127, 128, (1, 8)), "int8", scale=0.01)],
        out())),
}  # fmt: skip

WRONG = {("sum", "reference")}
"""LiteRT's reference kernel reads a negative int8 as if it were uint8."""


@pytest.mark.parametrize("kernels", ["reference", "builtin", "xnnpack"])
@pytest.mark.parametrize("name", CASES)
def test_quantized_operators_agree_within_their_quanta(name, kernels):
    if (name, kernels) in WRONG:
        pytest.skip("the kernel is wrong")
    quanta, make = CASES[name]
    assert_quanta_agree(make(), quanta, kernels)
