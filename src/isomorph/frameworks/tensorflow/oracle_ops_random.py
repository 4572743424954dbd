"""Random numbers. They belong to the node: every run draws the same ones."""

from __future__ import annotations

import numpy as np

from isomorph.frameworks.tensorflow.eval_native import execute
from isomorph.frameworks.tensorflow.oracle_ops import tf_kernel
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array, generator

RANDOM = frozenset({"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"})
"""Operators that draw from a state of their own."""

DECLARED = frozenset(
    f"Stateless{word}{version}"
    for word in ("RandomUniform", "RandomUniformInt", "RandomUniformFullInt", "RandomNormal",
                 "TruncatedNormal", "Multinomial")
    for version in ("", "V2")
)  # fmt: skip
"""Operators whose numbers follow from a seed, and differ with the type they are drawn in."""


@tf_kernel(*sorted(DECLARED))
def drawn_as_declared(call: Call, *arrays: Array) -> Array:
    """What TensorFlow draws in the declared type."""
    return np.asarray(execute(call.op, call.attributes, arrays, 1, wide=False)[0])


@tf_kernel("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
def drawn(call: Call, shape: Array) -> Array:
    """Real numbers of the shape that is asked for, in the declared type."""
    source = generator(0, call.site)
    size = tuple(int(extent) for extent in np.asarray(shape))
    if call.op == "RandomUniform":
        y = source.random(size)
    else:
        y = source.standard_normal(size)
        while call.op == "TruncatedNormal" and np.any(far := np.abs(y) > 2.0):
            y[far] = source.standard_normal(int(far.sum()))
    return np.asarray(y).astype(numpy_dtype(call.attributes["dtype"]))


@tf_kernel("RandomUniformInt")
def drawn_integers(call: Call, shape: Array, low: Array, high: Array) -> Array:
    """Integers from ``low`` up to, but not including, ``high``."""
    size = tuple(int(extent) for extent in np.asarray(shape))
    return np.asarray(generator(0, call.site).integers(int(low), int(high), size), dtype=low.dtype)
