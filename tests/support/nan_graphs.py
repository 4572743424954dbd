"""Random small ONNX graphs that may compute infinities and NaN, of every operator with bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto, numpy_helper

from bounded_graphs import COLUMNS, ROWS, GraphMaker

PARTLY_DEFINED = [
    "Sqrt",
    "Log",
    "Reciprocal",
    "Exp",
    "Tanh",
    "Sigmoid",
    "Softsign",
    "Asinh",
    "Cosh",
]
SCALES = [1.0, 1.0, 0.0, 1e-6, 1e3, 1e5, 1e25]


class NanGraphMaker(GraphMaker):
    """Adds roots of negative numbers, quotients by zero, masks of minus infinity, large factors."""

    opset = 23

    def _add(self) -> None:
        makers = (
            self._unary, self._binary, self._binary, self._with_constant, self._matrix,
            self._normalized, self._moved, self._reduced, self._attention, self._power,
            self._decomposed, self._partly_defined, self._partly_defined, self._quotient,
            self._scaled, self._masked, self._square, self._image, self._reduction, self._several,
            self._whole, self._recurrent, self._unit, self._resized, self._selected, self._clipped,
            self._fractional_power, self._batch_normalized, self._grouped, self._einsum,
            self._summed_up, self._quantized, self._rearranged, self._gathered, self._whole_pool,
            self._attended, self._root_mean_square,
        )  # fmt: skip
        self.tensors.append(makers[int(self.random.integers(len(makers)))]())

    def _floats(self, *values: float) -> str:
        name = f"c{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.array(values, np.float32), name))
        return name

    def _shaped(self, source: str, *shape: int) -> str:
        return self._node("Reshape", [source, self._integers(*shape)])

    def _flat(self, source: str) -> str:
        return self._shaped(source, ROWS, COLUMNS)

    def _partly_defined(self) -> str:
        return self._node(str(self.random.choice(PARTLY_DEFINED)), [self._any()])

    def _quotient(self) -> str:
        return self._node("Div", [self._any(), self._any()])

    def _scaled(self) -> str:
        factor = self._floats(float(self.random.choice(SCALES)))
        return self._node(str(self.random.choice(["Mul", "Div", "Add"])), [self._any(), factor])

    def _masked(self) -> str:
        hidden = self.random.random((ROWS, COLUMNS)) < 0.3
        hidden[int(self.random.integers(ROWS))] = self.random.random() < 0.5
        low = float(self.random.choice([-np.inf, np.finfo(np.float32).min, -1e9]))
        mask = np.where(hidden, np.float32(low), np.float32(0.0))
        name = f"c{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(mask, name))
        scores = self._node("Add", [self._any(), name])
        op = str(self.random.choice(["Softmax", "LogSoftmax", "ReduceMax"]))
        if op == "ReduceMax":
            return self._node("Sub", [scores, self._node(op, [scores, self._integers(1)])])
        return self._node(op, [scores], axis=int(self.random.integers(2)))

    def _square(self) -> str:
        source = self._any()
        return self._node("Mul", [source, source])

    def _image(self) -> str:
        image = self._shaped(self._any(), 1, 1, ROWS, COLUMNS)
        op = str(self.random.choice(["Conv", "ConvTranspose", "AveragePool", "MaxPool"]))
        if op in {"Conv", "ConvTranspose"}:
            weight = self._constant(1, 1, 3, 3, scale=float(self.random.choice([1.0, 1e4, 1e38])))
            return self._flat(self._node(op, [image, weight], pads=[1, 1, 1, 1]))
        return self._flat(self._node(op, [image], kernel_shape=[3, 3], pads=[1, 1, 1, 1]))

    def _reduction(self) -> str:
        op = str(self.random.choice(
            ["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceMean",
             "ReduceSum", "ReduceMin"]
        ))  # fmt: skip
        axes = self._integers(int(self.random.integers(2)))
        small = self._node(op, [self._any(), axes], keepdims=1)
        return self._node("Expand", [small, self._integers(ROWS, COLUMNS)])

    def _several(self) -> str:
        op = str(self.random.choice(["Sum", "Mean", "Max", "Min"]))
        return self._node(op, [self._any(), self._any(), self._any()])

    def _whole(self) -> str:
        """Through an integer type, or another float type."""
        kind = [TensorProto.INT32, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.BFLOAT16]
        to = int(self.random.choice(kind))
        return self._node("Cast", [self._node("Cast", [self._any()], to=to)], to=TensorProto.FLOAT)

    def _recurrent(self) -> str:
        source = self._shaped(self._any(), ROWS, 1, COLUMNS)
        gates, op = (4, "LSTM") if self.random.random() < 0.5 else (3, "GRU")
        scale = float(self.random.choice([1.0, 1e36]))
        weights = [self._constant(1, gates * COLUMNS, COLUMNS, scale=scale) for _ in range(2)]
        return self._flat(self._node(op, [source, *weights], hidden_size=COLUMNS))

    def _unit(self) -> str:
        return self._node(
            "LpNormalization", [self._any()], axis=1, p=int(self.random.integers(1, 3))
        )

    def _resized(self) -> str:
        image = self._shaped(self._any(), 1, 1, ROWS, COLUMNS)
        sizes = self._integers(1, 1, 2 * ROWS, COLUMNS)
        large = self._node("Resize", [image, "", "", sizes], mode="linear")
        return self._flat(self._node("AveragePool", [large], kernel_shape=[2, 1], strides=[2, 1]))

    def _selected(self) -> str:
        condition = self._node("Less", [self._any(), self._any()])
        return self._node("Where", [condition, self._any(), self._any()])

    def _clipped(self) -> str:
        return self._node("Clip", [self._any(), self._one(-5.0), self._one(7.0)])

    def _one(self, value: float) -> str:
        name = f"c{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.float32(value), name))
        return name

    def _fractional_power(self) -> str:
        exponent = self._one(float(self.random.choice([0.5, 1.5, -1.0, -2.0, 0.0, 2.0])))
        return self._node("Pow", [self._any(), exponent])

    def _batch_normalized(self) -> str:
        image = self._shaped(self._any(), ROWS, COLUMNS, 1)
        variance = np.abs(self.random.standard_normal(COLUMNS)) * self.random.choice(
            [1.0, 1e-9, 0.0]
        )
        name = f"c{len(self.stored)}"
        parameters = [self._constant(COLUMNS) for _ in range(3)]
        name = f"c{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(variance.astype(np.float32), name))
        return self._flat(
            self._node("BatchNormalization", [image, *parameters, name],
                       epsilon=float(self.random.choice([1e-5, 1e-12])))
        )  # fmt: skip

    def _grouped(self) -> str:
        image = self._shaped(self._any(), 1, COLUMNS, ROWS)
        parameters = [self._constant(COLUMNS) for _ in range(2)]
        node = self._node("InstanceNormalization", [image, *parameters])
        return self._flat(node)

    def _einsum(self) -> str:
        return self._node(
            "Einsum", [self._any(), self._constant(COLUMNS, COLUMNS)], equation="ij,jk->ik"
        )

    def _summed_up(self) -> str:
        return self._node("CumSum", [self._any(), self._integers(1)], exclusive=1)

    def _quantized(self) -> str:
        zero = f"c{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.array(3, np.int8), zero))
        scale = self._one(float(self.random.choice([0.1, 1e-6, 1e4])))
        code = self._node("QuantizeLinear", [self._any(), scale, zero])
        return self._node("DequantizeLinear", [code, scale, zero])

    def _rearranged(self) -> str:
        source = self._any()
        if self.random.random() < 0.5:
            return self._node("Trilu", [source], upper=int(self.random.integers(2)))
        wide = self._node("Pad", [source, self._integers(1, 0, 0, 1), self._one(2.0)])
        return self._node(
            "Slice", [wide, self._integers(1, 1), self._integers(1 + ROWS, 1 + COLUMNS)]
        )

    def _gathered(self) -> str:
        places = f"c{len(self.stored)}"
        chosen = self.random.integers(0, ROWS, (ROWS, COLUMNS))
        self.stored.append(numpy_helper.from_array(chosen.astype(np.int64), places))
        return self._node("GatherElements", [self._any(), places], axis=0)

    def _whole_pool(self) -> str:
        image = self._shaped(self._any(), 1, ROWS, 2, COLUMNS // 2)
        op = str(self.random.choice(["GlobalAveragePool", "GlobalMaxPool"]))
        small = self._shaped(self._node(op, [image]), ROWS, 1)
        return self._node("Expand", [small, self._integers(ROWS, COLUMNS)])

    def _attended(self) -> str:
        read = [self._shaped(self._any(), 1, 1, ROWS, COLUMNS) for _ in range(3)]
        return self._flat(self._node("Attention", read))

    def _root_mean_square(self) -> str:
        source = self._any()
        if self.random.random() < 0.5:
            return self._node("RMSNormalization", [source, self._constant(COLUMNS)])
        square = self._node("Mul", [source, source])
        mean = self._node("ReduceMean", [square, self._integers(1)], keepdims=1)
        epsilon = self._one(float(self.random.choice([1e-6, 1e-3])))
        root = self._node("Sqrt", [self._node("Add", [mean, epsilon])])
        return self._node("Div", [source, root])


TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def stored_run(handle: Any, feeds: dict[str, Any], target: str | None) -> dict[str, Any]:
    """A run in which each constant and each result is stored in its type, or in a narrower one."""
    graph, session = handle.model.graph, handle.oracle()

    def stored(name: str, value: Any) -> Any:
        constant = graph.constants.get(name)
        declared = constant.dtype if constant is not None else graph.declared_dtype(name)
        if value.dtype.kind != "f":
            return value
        types = [TYPES[each] for each in (declared, target) if each in TYPES]
        with np.errstate(all="ignore"):
            for each in types[:1] if declared in {"float16", "bfloat16"} else types:
                value = value.astype(each).astype(np.float64)
        return value

    values = {name: stored(name, value) for name, value in feeds.items()}
    for node in graph.nodes:
        read = {}
        for name in node.inputs:
            if name in values or name in graph.constants:
                if name not in values:
                    values[name] = stored(name, session.run({}, [name])[name])
                read[name] = values[name]
        with np.errstate(all="ignore"):
            found = session.run(read, [name for name in node.outputs if name])
        values.update({name: stored(name, np.asarray(value)) for name, value in found.items()})
    return values


def draws(random: np.random.Generator, low: float, high: float, count: int) -> Iterator[Any]:
    """Inputs within the range: at random, at its ends, and with zeros."""
    shape = (ROWS, COLUMNS)
    for place in range(count):
        x = random.uniform(low, high, shape)
        if place % 3 == 0:
            x = np.where(random.random(shape) < 0.5, low, high)
        if place % 3 == 1 and low <= 0.0 <= high:
            x = np.where(random.random(shape) < 0.5, 0.0, x)
        if place % 4 == 2:
            x = np.full(shape, x.flat[0])
        yield np.clip(x.astype(np.float32), np.float32(low), np.float32(high))
