"""One TFLite operator, run by LiteRT as declared and by our kernel in float64."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from isomorph.core.trace import Noise
from isomorph.frameworks.tflite.evaluator import Evaluator
from isomorph.frameworks.tflite.parse import parse
from tflite_building import Building

RESOLVERS = {
    "reference": OpResolverType.BUILTIN_REF,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "xnnpack": OpResolverType.AUTO,
}


@dataclass(frozen=True)
class T:
    """A tensor of the operator: its value where it is an input, its grid where it has one."""

    value: object = None
    dtype: str = "float32"
    scale: object = None
    zero: object = 0
    axis: int = 0
    constant: bool = False
    variable: bool = False

    @property
    def array(self):
        return np.asarray(self.value, np.dtype(getattr(ml_dtypes, self.dtype, self.dtype)))

    @property
    def more(self):
        if self.scale is None:
            return {}
        scales = np.atleast_1d(np.asarray(self.scale, np.float32)).tolist()
        zeros = np.broadcast_to(np.asarray(self.zero), len(scales)).tolist()
        return {"scale": scales, "zero": zeros, "axis": self.axis}


def data(value, dtype="float32", **more):
    """An input that is fed."""
    return T(np.asarray(value), dtype, **more)


def stored(value, dtype=None, **more):
    """A constant of the file."""
    array = np.asarray(value)
    name = dtype or {"float64": "float32", "int64": "int32"}.get(array.dtype.name, array.dtype.name)
    return T(array, name, constant=True, **more)


def state(shape, dtype="float32", **more):
    """A variable tensor, which begins at zero."""
    return T(np.zeros(shape), dtype, variable=True, **more)


class OneOperator:
    """``inputs`` hold None where absent; ``outputs`` and ``inner`` are tensors without a value."""

    def __init__(self, op, inputs, outputs=None, options=None, version=1, inner=(), **settings):
        self.op, self.inputs, self.outputs = op, list(inputs), list(outputs or [T()])
        self.options, self.version, self.settings = options, version, settings
        self.inner = inner
        # The shapes of the results are declared, so the file is written again when they are known.
        self.bytes = self._written([()] * len(self.outputs))
        shapes = [np.shape(result) for result in self.in_oracle()]
        self.bytes = self._written(shapes)

    def _written(self, shapes):
        building = Building()
        graph = building.graph()
        places = []
        for index, each in enumerate(self.inputs):
            if each is None:
                places.append(-1)
                continue
            value = each.array if each.constant else None
            places.append(
                graph.tensor(
                    f"i{index}", each.array.shape, each.dtype, value, variable=each.variable,
                    **each.more,
                )
            )  # fmt: skip
        made = [
            graph.tensor(f"o{index}", shape, each.dtype, **each.more)
            for index, (each, shape) in enumerate(zip(self.outputs, shapes, strict=True))
        ]
        inside = [graph.tensor(f"m{k}", (), t.dtype, **t.more) for k, t in enumerate(self.inner)]
        operator = graph.op(
            self.op, places, made, self.options, version=self.version, **self.settings
        )
        operator.intermediates = inside or None
        given = [
            place
            for place, each in zip(places, self.inputs, strict=True)
            if each is not None and not each.constant and not each.variable
        ]
        graph.ends(given, made)
        return building.data()

    @property
    def feeds(self):
        return {
            f"i{index}": each.array
            for index, each in enumerate(self.inputs)
            if each is not None and not each.constant and not each.variable
        }

    def in_litert(self, kernels="reference"):
        interpreter = Interpreter(
            model_content=self.bytes, experimental_op_resolver_type=RESOLVERS[kernels]
        )
        interpreter.allocate_tensors()
        names = {each["name"]: each["index"] for each in interpreter.get_input_details()}
        for name, array in self.feeds.items():
            interpreter.set_tensor(names[name], array)
        interpreter.invoke()
        return [interpreter.get_tensor(each["index"]) for each in interpreter.get_output_details()]

    def in_oracle(self, noise=None):
        evaluator = Evaluator(parse(self.bytes, file="one operator"))
        names = [f"o{index}" for index in range(len(self.outputs))]
        results = evaluator.run(self.feeds, names, noise)
        return [results[name] for name in names]

    def spread(self, draws=10):
        """How far rounding moves each result: the deviation pooled with that of the tensor."""
        calm = self.in_oracle()
        noisy = [self.in_oracle(Noise(seed=k, rounding=True)) for k in range(draws)]
        return [
            np.sqrt(np.mean([(run[place] - y) ** 2 for run in noisy]))
            for place, y in enumerate(calm)
        ]


def assert_floats_agree(case, kernels="reference", sigmas=8.0):
    """Floats within their own rounding noise, everything else exactly."""
    actual, wanted = case.in_litert(kernels), case.in_oracle()
    allowed = case.spread() if any(a.dtype.kind == "f" for a in actual) else [0.0] * len(actual)
    for a, w, s in zip(actual, wanted, allowed, strict=True):
        assert a.shape == w.shape
        if a.dtype.kind != "f":
            assert a.dtype == w.dtype
            np.testing.assert_array_equal(a, w)
            continue
        assert w.dtype == np.float64
        # One rounding into float32 is left even where the arithmetic is exact.
        largest = np.max(np.abs(w), initial=0.0, where=np.isfinite(w))
        tolerance = sigmas * s + 2.0**-23 * largest
        assert tolerance <= 1e-4 * max(largest, 1.0), "the noise excuses everything"
        np.testing.assert_allclose(a, w, rtol=0, atol=tolerance)


def assert_quanta_agree(case, quanta=1, kernels="reference"):
    """Integers within so many steps, and not all at the ends of the grid."""
    for a, w in zip(case.in_litert(kernels), case.in_oracle(), strict=True):
        assert a.dtype == w.dtype
        assert a.shape == w.shape
        gap = np.abs(a.astype(np.int64) - w.astype(np.int64))
        assert gap.max(initial=0) <= quanta, f"{gap.max()} quanta apart"
        assert np.unique(w).size > min(w.size, 8) // 2, "the case shows nothing"
