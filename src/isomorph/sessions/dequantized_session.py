"""Quantized inputs and outputs as the real numbers that their integers stand for.

A fully quantized model takes integers and gives integers; the model it was made from takes and
gives real numbers. Whoever deploys it quantizes what goes in and dequantizes what comes out,
with the scale and zero point that the file states. So does a session seen through here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.quantized import dequantize, limits, requantize
from isomorph.oracle.call import Call
from isomorph.sessions.fetched_feeds import converted

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization, TensorSpec
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise
    from isomorph.sessions.fetched_feeds import Conversion

_QUIET = Call(op="QuantizeLinear")


def grids(graph: Graph) -> dict[str, Quantization]:
    """The declared grids of the inputs and outputs, by name."""
    whole = {spec.name: spec for spec in (*graph.inputs, *graph.outputs) if _whole(spec)}
    return {
        entry.tensor: entry
        # Of several entries the first is the writer's, or the first reader's.
        for entry in reversed(graph.quantization)
        if entry.scale
        and entry.tensor in whole
        and entry.dtype == whole[entry.tensor].dtype
        and _fits(entry, whole[entry.tensor])
    }


def calibrated(graph: Graph) -> dict[str, tuple[float, float]]:
    """The range that each input was quantized for, by its own grid or by the one it is put onto."""
    known = {entry.tensor: entry for entry in reversed(graph.quantization) if entry.scale}
    floats = {spec.name for spec in graph.inputs if "float" in (spec.dtype or "")}
    onto = {
        node.inputs[0]: known[node.outputs[0]]
        for node in graph.nodes
        if node.op == "QuantizeLinear" and node.inputs[0] in floats and node.outputs[0] in known
    }
    own = {name: entry for name, entry in grids(graph).items() if name not in floats}
    return {
        name: reach(entry)
        for name, entry in {**onto, **own}.items()
        if limits(entry.dtype) is not None
    }


def integers(real: Array, entry: Quantization) -> Array:
    """Real numbers on the grid: to the nearest step, ties to the even one, clipped at its ends."""
    wide = np.asarray(real, np.float64)
    scale, zero = _parameters(entry)
    return requantize(wide, scale, zero, entry.dtype, entry.axis, _QUIET)


def real_values(stored: Array, entry: Quantization) -> Array | None:
    """The float64 numbers behind the integers, or behind the steps of a disturbed oracle.

    None where the scales do not fit the shape.
    """
    if not _meets(entry, stored):
        return None
    scale, zero = _parameters(entry)
    return dequantize(stored, scale, zero, entry.axis)


def dequantized_value(value: Any, entry: Quantization | None) -> Any:  # noqa: ANN401
    """``real_values`` of a fetched value; the value itself where it has none."""
    if entry is None or not isinstance(value, np.ndarray):
        return value
    number = value.dtype.kind in "fiu" or limits(str(value.dtype)) is not None
    real = real_values(value, entry) if number else None
    return value if real is None else real


def quantized_feeds(feeds: Arrays, grids: Mapping[str, Quantization]) -> dict[str, Any]:
    """The feeds with real numbers for a quantized tensor as integers on its grid."""
    return converted(feeds, {name: _if_kind("f", integers, grids[name]) for name in grids})


def real_feeds(feeds: Mapping[str, Array], grids: Mapping[str, Quantization]) -> dict[str, Array]:
    """The feeds with integers for a quantized tensor as the float32 numbers they stand for."""
    return converted(feeds, {name: _if_kind("iu", _float32, grids[name]) for name in grids})


def clipped(real: Array, entry: Quantization) -> float:
    """The share of the numbers that lie beyond the last step of the grid."""
    if not np.size(real):
        return 0.0
    step = np.max(entry.scale)
    kept = real_values(integers(real, entry), entry)
    assert kept is not None
    return float(np.mean(np.abs(np.asarray(real, np.float64) - kept) > step))


def reach(entry: Quantization) -> tuple[float, float]:
    """The smallest and the largest real number of the grid."""
    bounds = limits(entry.dtype)
    assert bounds is not None
    scale, zero = _parameters(entry)
    ends = [(bound - zero) * scale for bound in bounds]
    return float(np.min(ends[0])), float(np.max(ends[1]))


class RealPrecision(Enum):
    """How exactly a session returns the real numbers behind integers."""

    FLOAT32 = "float32"
    """As a float32 program reads them: inputs and outputs, which are then declared float32. An
    oracle's are rounded alike: equal integers are equal numbers, whoever computed them."""
    EXACT = "exact"
    """In float64: tensors inside, which are compared with those of another oracle."""


class DequantizedSession:
    """A session that is given real numbers for some quantized tensors, and returns them so."""

    def __init__(
        self, stored: Session, grids: Mapping[str, Quantization], precision: RealPrecision
    ) -> None:
        self.stored, self.grids, self._precision = stored, grids, precision
        self.capabilities, self.environment = stored.capabilities, stored.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; integers that are fed are taken as they are."""
        # Where the noise disturbs the quantizers, the one before an input is disturbed as well:
        # an oracle puts real numbers onto the grid itself.
        own = noise is not None and noise.quantizers
        given = feeds if own else quantized_feeds(feeds, self.grids)
        result = (
            self.stored.run(given, fetch)
            if noise is None
            else self.stored.run(given, fetch, noise=noise)
        )
        return {name: self._real(name, value) for name, value in result.items()}

    def close(self) -> None:
        """Let go of what the session holds."""
        self.stored.close()

    def _real(self, name: str, value: Any) -> Any:  # noqa: ANN401
        real = dequantized_value(value, self.grids.get(name))
        if real is value or self._precision is RealPrecision.EXACT:
            return real
        narrow = real.astype(np.float32)
        return narrow.astype(np.float64) if self.capabilities.noise else narrow


def _float32(stored: Array, entry: Quantization) -> Array:
    real = real_values(stored, entry)
    return stored if real is None else real.astype(np.float32)


def _if_kind(
    kinds: str, convert: Callable[[Array, Quantization], Array], entry: Quantization
) -> Conversion:
    """The conversion of arrays of these kinds of types that the scales fit; others stay."""

    def conversion(value: Array) -> Array:
        array = np.asarray(value)
        fits = array.dtype.kind in kinds and _meets(entry, array)
        return convert(array, entry) if fits else value

    return conversion


def along_axis(shape: tuple[int, ...], axis: int | None, count: int) -> bool:
    """Whether the tensor has the axis, and ``count`` slices along it."""
    return axis is not None and -len(shape) <= axis < len(shape) and shape[axis] == count


def _meets(entry: Quantization, array: Array) -> bool:
    """Whether there is one scale, or one for each slice of an axis that the array has."""
    count = len(entry.scale)
    return count <= 1 or along_axis(array.shape, entry.axis, count)


def _whole(spec: TensorSpec) -> bool:
    return spec.kind == "tensor" and spec.dtype is not None and limits(spec.dtype) is not None


def _fits(entry: Quantization, spec: TensorSpec) -> bool:
    """Whether there is one scale, or one for each slice of an axis that the tensor has."""
    if len(entry.scale) == 1:
        return True
    axis, shape = entry.axis, spec.shape
    return axis is not None and shape is not None and shape[axis] == len(entry.scale)


def _parameters(entry: Quantization) -> tuple[Array, Array]:
    zero = np.asarray(entry.zero_point or (0,), np.int64)
    return np.asarray(entry.scale, np.float64), zero
