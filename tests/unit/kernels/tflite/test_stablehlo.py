"""StableHLO operators of TFLite files, by their definitions."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from isomorph.frameworks.tflite.evaluator import Evaluator
from isomorph.frameworks.tflite.parse import parse
from isomorph.kernels import registry
from isomorph.kernels.registry import find
from isomorph.oracle.call import Call
from tflite_building import Building

registry.load_all()
X = np.random.default_rng(19).normal(size=(2, 3))
Y = np.abs(X[::-1]) + 0.5
BITS = np.array([3, 5, 12]), np.array([1, 6, 10])


def call(word, *inputs, dtype="float32", shape=None, source="float32", **options):
    op = f"STABLEHLO_{word}"
    options |= {"output_dtypes": (dtype,), "output_shapes": (shape,)}
    return find("tflite", op, 1)(
        Call(op=op, domain="tflite", attributes=options, input_dtypes=(source,) * len(inputs)),
        *inputs,
    )


DEFINED = {
    "ADD": (lambda: call("ADD", X, Y), X + Y),
    "SUBTRACT": (lambda: call("SUBTRACT", X, Y), X - Y),
    "MULTIPLY": (lambda: call("MULTIPLY", X, Y), X * Y),
    "DIVIDE": (lambda: call("DIVIDE", X, Y), X / Y),
    "MAXIMUM": (lambda: call("MAXIMUM", X, Y), np.maximum(X, Y)),
    "MINIMUM": (lambda: call("MINIMUM", X, Y), np.minimum(X, Y)),
    "POWER": (lambda: call("POWER", Y, X), Y**X),
    "ABS": (lambda: call("ABS", X), np.abs(X)),
    "NEGATE": (lambda: call("NEGATE", X), -X),
    "EXPONENTIAL": (lambda: call("EXPONENTIAL", X), np.exp(X)),
    "LOG": (lambda: call("LOG", Y), np.log(Y)),
    "TANH": (lambda: call("TANH", X), np.tanh(X)),
    "LOGISTIC": (lambda: call("LOGISTIC", X), 1 / (1 + np.exp(-X))),
    "FLOOR": (lambda: call("FLOOR", 3 * X), np.floor(3 * X)),
    "COSINE": (lambda: call("COSINE", X), np.cos(X)),
    "RSQRT": (lambda: call("RSQRT", Y), 1 / np.sqrt(Y)),
    "SELECT": (lambda: call("SELECT", X > 0, X, Y), np.where(X > 0, X, Y)),
    "AND": (lambda: call("AND", *BITS), BITS[0] & BITS[1]),
    "OR": (lambda: call("OR", *BITS), BITS[0] | BITS[1]),
    "REMAINDER": (lambda: call("REMAINDER", -BITS[0], BITS[1]), np.array([0, -5, -2])),
    "CLAMP": (lambda: call("CLAMP", -0.5, X, 0.5), np.clip(X, -0.5, 0.5)),
    "COMPARE": (
        lambda: call("COMPARE", X, Y, comparison_direction="STABLEHLO_COMPARISON_DIRECTION_GE"),
        X >= Y,
    ),
    "CONVERT": (lambda: call("CONVERT", 3 * X, dtype="int32"), np.trunc(3 * X)),
    "RESHAPE": (lambda: call("RESHAPE", X, shape=(3, 2)), X.reshape(3, 2)),
    "TRANSPOSE": (lambda: call("TRANSPOSE", X, permutation=(1, 0)), X.T),
    "CONCATENATE": (lambda: call("CONCATENATE", X, Y, dimension=1), np.hstack([X, Y])),
    "SLICE": (
        lambda: call("SLICE", X, start_indices=(0, 1), limit_indices=(2, 3), strides=(1, 2)),
        X[:, 1:3:2],
    ),
    "BROADCAST_IN_DIM": (
        lambda: call("BROADCAST_IN_DIM", X[0], shape=(3, 2), broadcast_dimensions=(0,)),
        np.stack([X[0], X[0]], axis=1),
    ),
    "IOTA": (
        lambda: call("IOTA", shape=(2, 3), iota_dimension=1),
        np.array([[0, 1, 2], [0, 1, 2]]),
    ),
}


@pytest.mark.parametrize("word", DEFINED)
def test_an_operator_is_what_its_definition_states(word):
    make, wanted = DEFINED[word]
    np.testing.assert_allclose(make(), wanted, rtol=1e-14)


def test_a_composite_is_its_decomposition():
    model = Building()
    graph, body = model.graph(), model.graph("inner")
    x, y = graph.tensor("x", (3,)), graph.tensor("y", (3,))
    operator = graph.op("STABLEHLO_COMPOSITE", [x], [y])
    operator.builtinOptions2Type = schema.BuiltinOptions2.StableHLOCompositeOptions
    operator.builtinOptions2 = schema.StableHLOCompositeOptionsT()
    operator.builtinOptions2.name = "twice"
    operator.builtinOptions2.decompositionSubgraphIndex = 1
    graph.ends([x], [y])
    a, b = body.tensor("a", (3,)), body.tensor("b", (3,))
    body.op("ADD", [a, a], [b], "Add")
    body.ends([a], [b])
    evaluator = Evaluator(parse(model.data(), file="composite"))
    result = evaluator.run({"x": np.arange(3.0)}, ["y"])["y"]
    np.testing.assert_array_equal(result, [0.0, 2.0, 4.0])
