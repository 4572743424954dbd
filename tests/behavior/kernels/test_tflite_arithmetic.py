"""TFLite's elementwise operators, reductions and normalizations against LiteRT."""

import numpy as np
import pytest

from tflite_one_operator import OneOperator, T, assert_floats_agree, data, stored

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)
Y = RNG.normal(size=(4,)).astype(np.float32) + 0.1
POSITIVE = np.abs(X) + 0.1
WHOLE = RNG.integers(-20, 20, (2, 3, 4))
OTHER = np.where(WHOLE[0, 0] == 0, 3, WHOLE[0, 0])
TRUTH = X > 0
RELU6 = 3
IMAGE = RNG.normal(size=(2, 5, 5, 8)).astype(np.float32)


def unary(op, x=X, options=None, out="float32", **settings):
    return OneOperator(op, [data(x)], [T(dtype=out)], options, **settings)


def binary(op, a=X, b=Y, dtype="float32", options=None, out=None, **settings):
    made = [T(dtype=out or dtype)]
    return OneOperator(op, [data(a, dtype), data(b, dtype)], made, options, **settings)


def reduction(op, x=X, axes=(1,), dtype="float32", *, keep=False):
    inputs = [data(x, dtype), stored(np.array(axes, np.int32), "int32")]
    return OneOperator(op, inputs, [T(dtype=dtype)], "Reducer", keepDims=keep)


CASES = {
    "add": lambda: binary("ADD", options="Add"),
    "add relu6": lambda: binary("ADD", 5 * X, options="Add", fusedActivationFunction=RELU6),
    "add int32": lambda: binary("ADD", WHOLE, OTHER, "int32", "Add"),
    "sub": lambda: binary("SUB", options="Sub"),
    "mul": lambda: binary("MUL", options="Mul"),
    "mul relu": lambda: binary("MUL", options="Mul", fusedActivationFunction=1),
    "mul n1 to 1": lambda: binary("MUL", 3 * X, options="Mul", fusedActivationFunction=2),
    "div": lambda: binary("DIV", options="Div"),
    "div int32": lambda: binary("DIV", WHOLE, OTHER, "int32", "Div", version=2),
    "maximum": lambda: binary("MAXIMUM"),
    "minimum int32": lambda: binary("MINIMUM", WHOLE, OTHER, "int32"),
    "pow": lambda: binary("POW", POSITIVE),
    "pow int32": lambda: binary("POW", WHOLE, np.array([0, 1, 2, 3]), "int32"),
    "squared difference": lambda: binary("SQUARED_DIFFERENCE"),
    "floor div": lambda: binary("FLOOR_DIV", 5 * X, version=2),
    "floor div int32": lambda: binary("FLOOR_DIV", WHOLE, OTHER, "int32"),
    "floor mod": lambda: binary("FLOOR_MOD", 5 * X),
    "floor mod int32": lambda: binary("FLOOR_MOD", WHOLE, OTHER, "int32"),
    "atan2": lambda: binary("ATAN2", X, X[::-1]),
    "add n": lambda: OneOperator("ADD_N", [data(X), data(X[::-1]), data(POSITIVE)]),
    "equal": lambda: binary("EQUAL", WHOLE // 10, OTHER // 10, "int32", out="bool"),
    "not equal": lambda: binary("NOT_EQUAL", WHOLE // 10, OTHER // 10, "int32", out="bool"),
    "less": lambda: binary("LESS", out="bool"),
    "less equal": lambda: binary("LESS_EQUAL", WHOLE, OTHER, "int32", out="bool"),
    "greater": lambda: binary("GREATER", out="bool"),
    "greater equal": lambda: binary("GREATER_EQUAL", WHOLE, OTHER, "int32", out="bool"),
    "logical and": lambda: binary("LOGICAL_AND", TRUTH, TRUTH[::-1], "bool"),
    "logical or": lambda: binary("LOGICAL_OR", TRUTH, TRUTH[::-1], "bool"),
    "logical not": lambda: OneOperator("LOGICAL_NOT", [data(TRUTH, "bool")], [T(dtype="bool")]),
    "abs": lambda: unary("ABS"),
    "neg": lambda: unary("NEG"),
    "exp": lambda: unary("EXP"),
    "log": lambda: unary("LOG", POSITIVE),
    "sqrt": lambda: unary("SQRT", POSITIVE),
    "rsqrt": lambda: unary("RSQRT", POSITIVE),
    "square": lambda: unary("SQUARE"),
    "sin": lambda: unary("SIN"),
    "cos": lambda: unary("COS"),
    "floor": lambda: unary("FLOOR", 3 * X),
    "ceil": lambda: unary("CEIL", 3 * X),
    "round": lambda: unary("ROUND", np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49, 2.51])),
    "sign": lambda: unary("SIGN"),
    "tanh": lambda: unary("TANH", 3 * X),
    "logistic": lambda: unary("LOGISTIC", 5 * X),
    "relu": lambda: unary("RELU"),
    "relu6": lambda: unary("RELU6", 6 * X),
    "relu n1 to 1": lambda: unary("RELU_N1_TO_1", 2 * X),
    "relu 0 to 1": lambda: unary("RELU_0_TO_1", 2 * X),
    "leaky relu": lambda: unary("LEAKY_RELU", options="LeakyRelu", alpha=0.3),
    "elu": lambda: unary("ELU"),
    "hard swish": lambda: unary("HARD_SWISH", 3 * X),
    "gelu": lambda: unary("GELU", 2 * X, "Gelu"),
    "gelu tanh": lambda: unary("GELU", 2 * X, "Gelu", approximate=True),
    "prelu": lambda: OneOperator("PRELU", [data(X), stored(Y[None, None])]),
    "select": lambda: OneOperator("SELECT", [data([True, False], "bool"), data(X), data(X[::-1])]),
    "select v2": lambda: OneOperator("SELECT_V2", [data(TRUTH, "bool"), data(X), data(Y)]),
    "where": lambda: OneOperator("WHERE", [data(TRUTH, "bool")], [T(dtype="int64")]),
    "cast to int": lambda: OneOperator("CAST", [data(5 * X)], [T(dtype="int32")], "Cast"),
    "cast to float": lambda: OneOperator("CAST", [data(WHOLE, "int32")], [T()], "Cast"),
    "cast to bool": lambda: OneOperator("CAST", [data(WHOLE // 9, "int32")], [T(dtype="bool")]),
    "cast of a quantized tensor": lambda: OneOperator(
        "CAST", [data(WHOLE, "int8", scale=0.5, zero=3)], [T()], "Cast"
    ),
    "bitcast": lambda: OneOperator("BITCAST", [data(X)], [T(dtype="int32")]),
    "right shift": lambda: binary("RIGHT_SHIFT", WHOLE, np.array([0, 1, 2, 3]), "int32"),
    "bitwise xor": lambda: binary("BITWISE_XOR", WHOLE, OTHER, "int32"),
    "fake quant": lambda: unary("FAKE_QUANT", X, "FakeQuant", min=-1.3, max=2.1, numBits=8),
    "mean": lambda: reduction("MEAN"),
    "mean of an image": lambda: reduction("MEAN", IMAGE, (1, 2), keep=True),
    "mean int32": lambda: reduction("MEAN", WHOLE, (-1,), "int32"),
    "sum": lambda: reduction("SUM", axes=(0, -1)),
    "sum keeping axes": lambda: reduction("SUM", axes=(0, 2), keep=True),
    "reduce prod": lambda: reduction("REDUCE_PROD"),
    "reduce max": lambda: reduction("REDUCE_MAX"),
    "reduce min int32": lambda: reduction("REDUCE_MIN", WHOLE, (1,), "int32"),
    "reduce any": lambda: reduction("REDUCE_ANY", X > 1, (2,), "bool"),
    "reduce all": lambda: reduction("REDUCE_ALL", X > -1, (2,), "bool"),
    "softmax": lambda: unary("SOFTMAX", 4 * X, "Softmax", beta=1.0),
    "softmax beta": lambda: unary("SOFTMAX", 4 * X, "Softmax", beta=0.7),
    "log softmax": lambda: unary("LOG_SOFTMAX", 4 * X),
    "l2 normalization": lambda: unary("L2_NORMALIZATION", IMAGE, "L2Norm"),
    "local response": lambda: unary(
        "LOCAL_RESPONSE_NORMALIZATION", IMAGE, "LocalResponseNormalization",
        radius=2, bias=1.0, alpha=0.2, beta=0.75,
    ),
    "cumsum": lambda: OneOperator("CUMSUM", [data(X), stored(np.int32(1))], options="Cumsum"),
    "cumsum reverse": lambda: OneOperator(
        "CUMSUM", [data(X), stored(np.int32(2))], options="Cumsum", exclusive=True, reverse=True
    ),
    "arg max": lambda: OneOperator(
        "ARG_MAX", [data(X), stored(np.int32(-1))], [T(dtype="int32")], "ArgMax", outputType=2
    ),
    "arg min": lambda: OneOperator(
        "ARG_MIN", [data(X), stored(np.int32(1))], [T(dtype="int64")], "ArgMin", outputType=4
    ),
    "top k": lambda: OneOperator(
        "TOPK_V2", [data(np.round(X)), stored(np.int32(3))], [T(), T(dtype="int32")]
    ),
    "segment sum": lambda: OneOperator(
        "SEGMENT_SUM", [data(X.reshape(6, 4)), stored(np.array([0, 0, 1, 2, 2, 2], np.int32))]
    ),
    "bucketize": lambda: OneOperator(
        "BUCKETIZE", [data(X)], [T(dtype="int32")], "Bucketize", boundaries=[-1.0, 0.0, 0.5]
    ),
}  # fmt: skip

ONLY_OPTIMIZED = {"elu", "ceil", "round", "segment sum", "local response"}
"""The reference resolver has no kernel, or leaves the last neighbor out of its sum."""


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_means_what_litert_computes(name):
    kernels = "builtin" if name in ONLY_OPTIMIZED else "reference"
    assert_floats_agree(CASES[name](), kernels)
