"""Which function computes which operator of TensorFlow in float64, with its noise.

Most are operators of ONNX by another name, and the kernels of those know how they round. The
rest is computed by TensorFlow itself, see ``tf_noise``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from isomorph.kernels.registry import load_all, standard
from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.noise import Array

_TABLE: dict[str, Kernel] = {}
_PARTS = ("layers", "quantized", "random", "recurrent", "resize")


def tf_kernel(*ops: str) -> Callable[[Kernel], Kernel]:
    """Register a function ``f(call, *inputs)`` for these operators."""

    def register(function: Kernel) -> Kernel:
        _TABLE.update(dict.fromkeys(ops, function))
        return function

    return register


@cache
def find(op: str) -> Kernel | None:
    """Our own kernel for an operator, or None where TensorFlow computes it."""
    for part in _PARTS:
        import_module(f"isomorph.frameworks.tensorflow.oracle_ops_{part}")
    load_all()
    return _TABLE.get(op)


_NAMESAKES = {
    "Add": "Add AddV2", "Sub": "Sub", "Mul": "Mul", "Div": "RealDiv Div", "Pow": "Pow",
    "Neg": "Neg", "Abs": "Abs", "Sign": "Sign", "Floor": "Floor", "Ceil": "Ceil",
    "Round": "Round Rint", "Sqrt": "Sqrt", "Reciprocal": "Reciprocal Inv", "Exp": "Exp",
    "Log": "Log", "Sin": "Sin", "Cos": "Cos", "Tan": "Tan", "Asin": "Asin", "Acos": "Acos",
    "Atan": "Atan", "Sinh": "Sinh", "Cosh": "Cosh", "Tanh": "Tanh", "Asinh": "Asinh",
    "Acosh": "Acosh", "Atanh": "Atanh", "Erf": "Erf", "Sigmoid": "Sigmoid",
    "Softplus": "Softplus", "Softsign": "Softsign", "Relu": "Relu", "Max": "Maximum",
    "Min": "Minimum", "Sum": "AddN AccumulateNV2",
}  # fmt: skip
"""Operators that mean the same as ONNX's, without any attribute."""

_WITH: dict[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "Softmax": ("Softmax", lambda _: {"axis": -1}),
    "LogSoftmax": ("LogSoftmax", lambda _: {"axis": -1}),
    "Elu": ("Elu", lambda _: {"alpha": 1.0}),
    "Selu": (
        "Selu",
        lambda _: {"alpha": 1.6732632423543772848170429916717,
                   "gamma": 1.0507009873554804934193349852946},
    ),
    "LeakyRelu": ("LeakyRelu", lambda attributes: {"alpha": attributes["alpha"]}),
}  # fmt: skip
"""The same, with the attributes that ONNX wants."""

OPSET = 18
"""The opset of ONNX whose kernels are meant."""


def _namesake(op: str) -> Kernel:
    def compute(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
        if any(np.asarray(array).dtype.kind == "c" for array in arrays):
            from isomorph.frameworks.tensorflow.op_noise import unknown

            return unknown(call, *arrays)
        return standard(call, op, *arrays, version=OPSET)

    return compute


def _adapted(op: str, adapt: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Kernel:
    def compute(call: Call, *arrays: Array) -> Any:  # noqa: ANN401
        return standard(call, op, *arrays, version=OPSET, **adapt(call.attributes))

    return compute


for _op, _words in _NAMESAKES.items():
    _TABLE.update(dict.fromkeys(_words.split(), _namesake(_op)))
for _op, (_onnx_op, _adapt) in _WITH.items():
    _TABLE[_op] = _adapted(_onnx_op, _adapt)
