"""Weights and biases of a linear node with factors and offsets folded in.

A batch normalization, a scale, a separate bias: whatever multiplies or shifts each channel by a
constant can be part of the weight and the bias, and converters fold it into them. A factor of what
the node reads can be part of its weight as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import FOLDED_STEPS
from isomorph.core.ops import RESHAPES
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.match.quantizers import float_operator
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights

LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
_PASSED_ON = RESHAPES | {"Transpose", "Cast"}
_ADDS = frozenset({"Add", "Sub"})
_ROUNDINGS = 3 * OPERATION_ROUNDINGS * unit_roundoff("float32")
"""A square root, a quotient and a product, each with its operands, relative to its terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What is multiplied and added after a linear node, up to one of the following nodes.

    ``size`` is the sum of the absolute terms of ``shift``: rounding is relative to it.
    """

    linear: str
    names: tuple[str, ...]
    scale: Array = field(repr=False)
    shift: Array = field(repr=False)
    size: Array = field(repr=False)

    @property
    def scales(self) -> bool:
        """Whether folding changes the kernel."""
        return bool(np.any(self.scale != 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaledKernel:
    """A stored kernel and the factors that broadcast to it, not yet multiplied.

    ``relative_bound`` is how far the rounding of the factors moves the product, relative to it.
    """

    kernel: Array = field(repr=False)
    scale: Array = field(repr=False)
    relative_bound: float


class FoldedWeights:
    """The linear nodes of one graph and what follows each of them."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._chains: dict[str, tuple[Folded, ...]] = {}
        self.limited = False
        """Whether the nodes after some linear node were not all followed."""

    @cached_property
    def linear(self) -> dict[str, tuple[str, str]]:
        """The kernel and the bias of each linear node; an empty name where there is none."""
        found: dict[str, tuple[str, str]] = {}
        live = self._weights.topology.live
        for node in self._weights.graph.nodes:
            if node.op not in LINEAR or node.name not in self._weights.useful:
                continue
            fixed = [name for name in node.inputs if name and name not in live]
            kernels = [name for name in fixed if self._rank(name) > 1]
            biases = [name for name in fixed if self._rank(name) == 1]
            if len(kernels) == 1 and len(biases) <= 1 and node.outputs:
                found[node.name] = kernels[0], (biases[0] if biases else "")
        return found

    def _rank(self, name: str) -> int:
        constant = self._weights.graph.constants.get(name)
        if constant is not None:
            return len(constant.shape) if "float" in constant.dtype else 0
        value = self._weights.value(name)
        return value.ndim if value is not None and value.dtype.kind == "f" else 0

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {node.name: node for node in self._weights.graph.nodes}

    def chain(self, linear: str) -> Sequence[Folded]:
        """Return the linear node alone, then with each further node that can be folded."""
        if linear not in self._chains:
            self._chains[linear] = tuple(self._followed(linear))
        return self._chains[linear]

    def _followed(self, linear: str) -> Iterator[Folded]:
        kernel, bias = self.linear[linear]
        shift = np.zeros(1) if not bias else self._vector(bias)
        if shift is None:
            return
        scale, size = np.ones(1), np.abs(shift)
        names: tuple[str, ...] = (kernel, *((bias,) if bias else ()))
        yield Folded(linear=linear, names=names, scale=scale, shift=shift, size=size)
        tensor = self._nodes[linear].outputs[0]
        for _ in range(FOLDED_STEPS.most):
            readers = self._weights.topology.readers.get(tensor, ())
            if len(readers) != 1 or not readers[0].outputs:
                return  # what is read twice cannot be folded for one reader alone
            node = readers[0]
            tensor = node.outputs[0]
            step = self._step(node)
            if step is None:
                if node.op in _PASSED_ON:
                    continue
                return
            factor, offset, used = step
            if not _fit(scale, shift, factor, offset):
                return
            scale, shift = scale * factor, shift * factor + offset
            size = size * np.abs(factor) + np.abs(offset)
            if node.op == "BatchNormalization":
                size = size + np.abs(offset - self._center(node))
            names = (*names, *used)
            yield Folded(linear=linear, names=names, scale=scale, shift=shift, size=size)
        self.limited = True

    def kernels(self, folded: Folded) -> Iterator[ScaledKernel]:
        """Yield the kernel with the scale along each axis that fits."""
        value = self._weights.stored_value(self.linear[folded.linear][0])
        if value is None:
            return
        value = _by_channel(value, folded.scale.size)
        for axis, count in enumerate(value.shape):
            if folded.scale.size in (1, count):
                shape = [-1 if each == axis else 1 for each in range(value.ndim)]
                yield ScaledKernel(
                    kernel=value, scale=folded.scale.reshape(shape), relative_bound=_ROUNDINGS
                )
            if folded.scale.size == 1:
                return

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        """The linear nodes that read each kernel."""
        found: dict[str, list[str]] = {}
        for linear, (kernel, _) in self.linear.items():
            found.setdefault(kernel, []).append(linear)
        return found

    def kernels_of_size(self, size: int) -> list[str]:
        """Return the kernels of ``size`` elements."""
        return [kernel for kernel in self._readers if self._size(kernel) == size]

    def kernels_from(self, kernels: Iterable[str]) -> Iterator[tuple[Folded, ScaledKernel]]:
        """Yield these kernels as folding changes them."""
        for linear in (each for kernel in kernels for each in self._readers.get(kernel, ())):
            for folded in self.chain(linear):
                for scaled in self.kernels(folded) if folded.scales else ():
                    yield folded, scaled
            for folded in self._scaled_data(linear):
                for scaled in self.kernels(folded) if folded.scales else ():
                    yield folded, scaled

    def _scaled_data(self, linear: str) -> Iterator[Folded]:
        """Yield the factors of what a linear node reads, which converters move into its kernel.

        Its bias changes by a sum over the kernel, which is not computed here.
        """
        topology, node = self._weights.topology, self._nodes[linear]
        scale, nothing = np.ones(1), np.zeros(1)
        names: tuple[str, ...] = (self.linear[linear][0],)
        for _ in range(FOLDED_STEPS.most):
            sources = topology.sources(node)
            maker = topology.maker.get(sources[0]) if len(sources) == 1 else None
            if maker is None:
                return
            node, step = maker, self._step(maker)
            if step is None:
                if node.op in _PASSED_ON:
                    continue
                return
            factor, _, used = step
            if not _fit(scale, factor):
                return
            scale, names = scale * factor, (*names, *used)
            yield Folded(linear=linear, names=names, scale=scale, shift=nothing, size=nothing)
        self.limited = True

    def _size(self, name: str) -> int:
        constant = self._weights.graph.constants.get(name)
        if constant is not None:
            return math.prod(constant.shape)
        value = self._weights.value(name)
        return 0 if value is None else value.size

    @staticmethod
    def bias(folded: Folded) -> tuple[Array, Array]:
        """Return the folded bias and its error bound."""
        return folded.shift, _ROUNDINGS * folded.size

    def _center(self, norm: Node) -> Array:
        offset = self._vector(norm.inputs[2])
        return np.zeros(1) if offset is None else offset

    def _step(self, node: Node) -> tuple[Array, Array, tuple[str, ...]] | None:
        """Return the factor and the offset of a node, and the constants they come from."""
        if node.op == "BatchNormalization" and len(node.inputs) >= 5:
            epsilon = node.attributes.get("epsilon", node.attributes.get("eps"))
            parameters = [self._vector(name) for name in node.inputs[1:5]]
            if epsilon is None or any(each is None for each in parameters):
                return None
            gamma, beta, mean, variance = (np.asarray(each) for each in parameters)
            with np.errstate(all="ignore"):
                factor = gamma / np.sqrt(variance + float(epsilon))
            return factor, beta - mean * factor, tuple(node.inputs[1:5])
        if node.op not in {"Add", "Sub", "Mul", "Div"} or len(node.inputs) != 2:
            return None
        live = self._weights.topology.live
        fixed = [place for place, name in enumerate(node.inputs) if name not in live]
        number = self._vector(node.inputs[fixed[0]]) if len(fixed) == 1 else None
        if number is None or (fixed[0] == 0 and node.op in {"Sub", "Div"}):
            return None
        used = (node.inputs[fixed[0]],)
        if node.op in {"Add", "Sub"}:
            return np.ones(1), (number if node.op == "Add" else -number), used
        with np.errstate(all="ignore"):
            factor = number if node.op == "Mul" else 1.0 / number
        return factor, np.zeros(1), used

    def _vector(self, name: str) -> Array | None:
        """Return one number for each channel, without axes of size one."""
        if not name or name in self._weights.topology.live:
            return None
        value = self._weights.value(name)
        if value is None or value.dtype.kind != "f" or value.size != max(value.shape, default=1):
            return None
        return np.ravel(np.asarray(value, np.float64))


class Biases:
    """The reference's bias for a bias of the candidate, found by matching their kernels."""

    def __init__(self, candidate: Weights, folds: FoldedWeights) -> None:
        self._candidate, self._folds = candidate, folds
        self._linear: dict[str, list[Folded]] = {}
        """By the candidate's linear node: the reference's, at a step with the same kernel."""

    def kernel_is(self, weight: StoredWeight, source: StoredWeight | Folded) -> None:
        """Record that a kernel of the candidate equals ``source``."""
        if effective_rank(weight.shape) < 2 and not isinstance(source, Folded):
            return
        nodes = [each.node.name for each in weight.readers if _is_linear(each.node)]
        for node in nodes:
            self._linear.setdefault(node, []).extend(self._steps(source))

    def _steps(self, source: StoredWeight | Folded) -> Iterator[Folded]:
        if isinstance(source, Folded):
            for each in self._folds.chain(source.linear):
                if np.array_equal(each.scale, source.scale):
                    yield each
            return
        for reader in source.readers:
            if reader.node.name in self._folds.linear:
                for each in self._folds.chain(reader.node.name):
                    if not each.scales:
                        yield each

    def of(self, weight: StoredWeight) -> Iterator[tuple[Folded, Array, Array]]:
        """Yield possible origins of a bias: that of its own kernel first, then any of its size."""
        if effective_rank(weight.shape) > 1:
            return
        own = self._own(weight)
        steps = [each for linear in self._folds.linear for each in self._folds.chain(linear)]
        for folded in (*own, *steps):
            value, error_bound = self._folds.bias(folded)
            if value.size == weight.size or (folded in own and value.size == 1):
                size = (weight.size,)
                yield folded, np.broadcast_to(value, size), np.broadcast_to(error_bound, size)

    def belongs_to(self, weight: StoredWeight, source: object) -> bool:
        """Whether ``source`` is the bias of the kernel that ``weight`` belongs to."""
        return any(each is source for each in self._own(weight))

    def _own(self, weight: StoredWeight) -> list[Folded]:
        found: list[Folded] = []
        for reader in weight.readers:
            found += self._linear.get(self._before(reader.node), ())
        return found

    def _before(self, node: Node) -> str:
        """Return the linear node that a bias is added to: this one, or one before it."""
        topology = self._candidate.topology
        for _ in range(FOLDED_STEPS.most):
            if _is_linear(node):
                break
            sources = topology.sources(node)
            maker = topology.maker.get(sources[0]) if len(sources) == 1 else None
            if maker is None or node.op not in _ADDS | _PASSED_ON:
                break
            node = maker
        return node.name


def effective_rank(shape: tuple[int, ...]) -> int:
    """Count the axes with more than one element."""
    return sum(size > 1 for size in shape)


def _is_linear(node: Node) -> bool:
    return node.op in LINEAR or float_operator(node.op) in LINEAR


def _fit(*vectors: Array) -> bool:
    return len({each.size for each in vectors if each.size > 1}) <= 1


def _by_channel(kernel: Array, channels: int) -> Array:
    """Merge the last two axes of a depthwise kernel (input, multiplier) into channels."""
    if kernel.ndim < 2 or channels in (1, *kernel.shape):
        return kernel
    joined = kernel.shape[-2] * kernel.shape[-1]
    return kernel.reshape(*kernel.shape[:-2], joined) if joined == channels else kernel
