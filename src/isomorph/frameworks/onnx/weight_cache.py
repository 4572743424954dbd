"""Stored tensors: read when first needed, lifted once, within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from isomorph.core.ops import RANDOM
from isomorph.frameworks.onnx.eval_attributes import Read, dense
from isomorph.frameworks.onnx.eval_program import Program, Step
from isomorph.oracle.dtypes import ONNX_DTYPES
from isomorph.oracle.value import EvalValue

KEPT_BYTES = 16 << 20
"""Lifted weights kept between runs; beyond it they are read again each time, which costs little
beside using them."""

_FIXED_BYTES = 512 << 20
"""What is computed from weights alone may cost much to compute again."""


class Weights:
    """The initializers of a graph, by name."""

    def __init__(self, graph: onnx.GraphProto, read: Read) -> None:
        self._protos = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {sparse.values.name: sparse for sparse in graph.sparse_initializer}
        self._read = read
        self._kept: dict[str, EvalValue] = {}
        self._room = KEPT_BYTES

    def __contains__(self, name: object) -> bool:
        """Whether a value is stored under this name."""
        return name in self._protos or name in self._sparse

    def __iter__(self) -> Iterator[str]:
        """The names."""
        yield from self._protos
        yield from self._sparse

    @property
    def types(self) -> dict[str, str | None]:
        """The declared type of each."""
        found = {name: ONNX_DTYPES.get(proto.data_type) for name, proto in self._protos.items()}
        sparse = {n: ONNX_DTYPES.get(s.values.data_type) for n, s in self._sparse.items()}
        return {**found, **sparse}

    def held(self, name: str) -> EvalValue:
        """The stored value as a constant."""
        if name in self._kept:
            return self._kept[name]
        held = EvalValue(self._array(name), constant=True)
        # The declared array and its float64 copy both stay.
        cost = held.data.nbytes + 8 * held.data.size
        if cost <= self._room:
            self._room -= cost
            self._kept[name] = held
        return held

    def _array(self, name: str) -> NDArray[Any]:
        if name in self._sparse:
            return dense(self._sparse[name], self._read)
        return np.asarray(self._read(self._protos[name]))


class Fixed:
    """What follows from stored tensors alone (unpacked weights, tables): computed once."""

    def __init__(self, program: Program, stored: Iterable[str]) -> None:
        names = set(stored)
        for step in program.steps:
            if step.op not in RANDOM and all(name in names for name in step.needs):
                names.update(step.outputs)
        self.names = frozenset(names)
        self._kept: dict[int, list[EvalValue]] = {}
        self._room = _FIXED_BYTES

    def outputs(self, step: Step) -> list[EvalValue] | None:
        """The outputs of this node, if they are fixed and were kept."""
        return self._kept.get(step.index)

    def keep(self, step: Step, outputs: list[EvalValue]) -> None:
        """Keep them, if they are fixed and there is room."""
        if not step.outputs or any(name not in self.names for name in step.outputs if name):
            return
        if any(isinstance(held.data, list) for held in outputs):
            return
        # Declared and lifted, as for the weights themselves.
        cost = sum(2 * 8 * np.size(held.data) for held in outputs)
        if cost <= self._room:
            self._room -= cost
            self._kept[step.index] = outputs
