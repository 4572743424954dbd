"""The weights of a graph: constants that an output depends on, their readers and values.

The operators between a constant and the data (a cast, a dequantization, a transposition) are
recorded: they decide whether each stored element acts by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.model import Quantization
from isomorph.core.ops import KEEPS_NUMBERS
from isomorph.match.constant_values import ConstantValues
from isomorph.match.dequantized_graph import GRID_OF_RESULT, GRIDS_READ, implicit_grids
from isomorph.match.mask_constants import may_exponentiate
from isomorph.match.quantizers import changed_parameters, quantization_by_tensor
from isomorph.match.topology import Topology
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.noise import unit_roundoff
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle
    from isomorph.store.file_stamp import Stamp

_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Neg", "Sqrt", "Rsqrt", "Reciprocal"})
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})
SUMS = frozenset({"int32", "int64"})
"""Types in which products of integers are added up."""
_SCALED_BY: Mapping[str, tuple[tuple[int, tuple[int, ...]], ...]] = {
    "QLinearConv": ((8, (1, 4)),),
    "QGemm": ((6, (1, 4)),),
    "DynamicQuantizeLSTM": ((1, (8,)), (2, (10,))),
}
"""Quantized constants, and the inputs whose product is their scale; their zero point is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightReader:
    """A data-dependent node, the input that a weight reaches, and the operators between."""

    node: Node
    slot: int
    between: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWeight:
    """A constant of real values, stored as floats or as quantized integers.

    ``order`` is its position among the weights of its graph, by their first readers.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    value_digest: str
    readers: tuple[WeightReader, ...]
    grid: Quantization | None = None
    order: int = 0
    turned_digest: str = ""
    """The digest with the axes exchanged, of a large matrix."""
    may_mask: bool = True
    """Whether its result may be exponentiated, so that very negative numbers vanish."""

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def direct(self) -> bool:
        """Whether every reader gets the stored elements themselves."""
        return all(KEEPS_NUMBERS.issuperset(each.between) for each in self.readers)


def one_grid(weight: StoredWeight, source: StoredWeight) -> bool:
    """Whether both have the same quantization, or none."""
    if weight.grid is None or source.grid is None:
        return weight.grid is source.grid
    return not changed_parameters(source.grid, weight.grid)


def same_integers(weight: StoredWeight, source: StoredWeight) -> bool:
    """Whether both hold the same integers, so that nothing was rounded between the two."""
    quantized = weight.grid is not None and source.grid is not None
    return quantized and (weight.dtype, weight.digest) == (source.dtype, source.digest)


class Weights:
    """The weights of one graph; their values are read on demand."""

    def __init__(
        self,
        graph: Graph,
        session: Session,
        file: Path | None = None,
        stamp: Stamp | None = None,
    ) -> None:
        """``file`` is the model's, from which large constants can be read without the session.

        While it has this ``stamp`` it is the file that was described.
        """
        self.graph = graph
        self.topology = Topology(graph)
        self._values = ConstantValues(graph, session, file, stamp)

    @classmethod
    def of(cls, handle: ModelHandle) -> Weights:
        """Return the weights of an opened model."""
        model = handle.model
        return cls(model.graph, handle.oracle(), Path(model.location), model.file_stamp)

    @cached_property
    def useful(self) -> frozenset[str]:
        """The names of the nodes that an output depends on."""
        found: set[str] = set()
        open_ends = [spec.name for spec in self.graph.outputs]
        seen = set(open_ends)
        while open_ends:
            maker = self.topology.maker.get(open_ends.pop())
            if maker is None or maker.name in found:
                continue
            found.add(maker.name)
            for name in self.topology.reads(maker):
                if name not in seen:
                    seen.add(name)
                    open_ends.append(name)
        return frozenset(found)

    @cached_property
    def stored(self) -> Mapping[str, StoredWeight]:
        """Every weight of more than one element that an output depends on, by name."""
        return {name: each for name, each in self._all.items() if each.size > 1}

    @cached_property
    def scalars(self) -> Mapping[str, StoredWeight]:
        """Every constant of one real number that an output depends on, by name."""
        return {name: each for name, each in self._all.items() if each.size == 1}

    @cached_property
    def _all(self) -> Mapping[str, StoredWeight]:
        grids = {
            **self._further_grids(), **quantization_by_tensor(self.graph), **self._bias_grids()
        }  # fmt: skip
        places = {node.name: place for place, node in enumerate(self.graph.nodes)}
        found: list[tuple[int, StoredWeight]] = []
        for name, constant in self.graph.constants.items():
            grid = grids.get(name)
            real = "float" in constant.dtype or (grid is not None and "int" in constant.dtype)
            readers = self._readers(name) if real and math.prod(constant.shape) > 0 else ()
            if readers:
                weight = StoredWeight(
                    name=name,
                    dtype=constant.dtype,
                    shape=constant.shape,
                    digest=constant.digest,
                    value_digest=constant.value_digest,
                    turned_digest=constant.turned_digest,
                    readers=readers,
                    grid=None if "float" in constant.dtype else grid,
                    may_mask=any(may_exponentiate(self, each) for each in readers),
                )
                found.append((places[readers[0].node.name], weight))
        found.sort(key=lambda each: (each[0], each[1].readers[0].slot))
        return {weight.name: _placed(weight, order) for order, (_, weight) in enumerate(found)}

    def _further_grids(self) -> dict[str, Quantization]:
        """Return the quantization of constants whose scales are inputs of the operator itself."""
        found: dict[str, Quantization] = {}
        for node in self.graph.nodes:
            for place, scales in _SCALED_BY.get(node.op, ()):
                name = node.input(place)
                values = [self._number(node, each) for each in scales]
                known = [np.ravel(each) for each in values if each is not None]
                constant = self.graph.constants.get(name)
                if constant is None or len(known) != len(scales) or not constant.shape:
                    continue
                scale = np.prod(np.broadcast_arrays(*known), axis=0)
                found[name] = Quantization(
                    tensor=name,
                    dtype=constant.dtype,
                    scale=tuple(map(float, scale)),
                    zero_point=(0,) * scale.size,
                    axis=_channels(constant.shape, scale.size),
                )
        return found

    def _bias_grids(self) -> dict[str, Quantization]:
        """Return the quantization of biases that a node adds to the products of integers.

        They count in products of the two scales, whatever they declare of their own.
        """
        found, grids = {}, implicit_grids(self.graph)
        for node in self.graph.nodes:
            x, w, bias = (grids.get(node.input(place)) for place in range(3))
            if x is None or w is None or bias is None or len(bias.scale) != len(w.scale):
                continue
            if bias.dtype in SUMS and bias.tensor in self.graph.constants and len(x.scale) == 1:
                scale = tuple(x.scale[0] * each for each in w.scale)
                found[bias.tensor] = replace(bias, scale=scale, zero_point=(0,) * len(scale))
        return found

    def grid_constants(self, name: str) -> frozenset[str]:
        """Return the constants that hold the scale and the zero point of a quantized constant."""
        return frozenset(
            each
            for node in self.topology.readers.get(name, ())
            for each in node.inputs
            if each in self.graph.constants and each != name and _only_a_grid(node, each)
        )

    def _number(self, node: Node, place: int) -> Array | None:
        name = node.input(place)
        value = self.value(name) if name in self.graph.constants else None
        return None if value is None or value.dtype.kind != "f" else value

    @cached_property
    def computed(self) -> tuple[str, ...]:
        """Inputs of data-dependent nodes that are computed from constants alone."""
        live = self.topology.live
        names: dict[str, None] = {}
        for node in self.graph.nodes:
            if node.name in self.useful and any(n in live for n in self.topology.reads(node)):
                names.update(
                    dict.fromkeys(
                        n for n in node.inputs if n and n not in live and n in self.topology.maker
                    )
                )
        return tuple(names)

    def plainly_computed(self, name: str) -> bool:
        """Whether a tensor is computed from constants by arithmetic of few roundings."""
        return self._made_by(name, _ARITHMETIC | KEEPS_NUMBERS)

    def only_moved(self, name: str) -> bool:
        """Whether a tensor holds the numbers of constants as they are, in other places."""
        return self._made_by(name, (KEEPS_NUMBERS | {"Concat"}) - {"DequantizeLinear"})

    def is_dequantized(self, name: str) -> bool:
        """Whether a tensor is computed from integers that stand for real numbers."""
        return any(node.op == "DequantizeLinear" for node in self._makers(name))

    def narrowest_float(self, name: str) -> str:
        """Return the narrowest type of the float constants that a tensor is computed from."""
        read = [each for node in self._makers(name) for each in node.inputs]
        found = [self.graph.constants[each].dtype for each in read if each in self.graph.constants]
        return max((each for each in found if is_float(each)), key=unit_roundoff, default="float32")

    def _makers(self, name: str) -> list[Node]:
        """Return the nodes that a tensor is computed by."""
        open_ends, seen, found = [name], {name}, []
        while open_ends:
            maker = self.topology.maker.get(open_ends.pop())
            if maker is not None:
                found.append(maker)
                fresh = [each for each in maker.inputs if each and each not in seen]
                seen.update(fresh)
                open_ends += fresh
        return found

    def _made_by(self, name: str, operators: frozenset[str]) -> bool:
        """Whether no other operators stand between a tensor and constants."""
        open_ends, seen = [name], {name}
        while open_ends:
            maker = self.topology.maker.get(open_ends.pop())
            if maker is None:
                continue
            if maker.op not in operators:
                return False
            new = [each for each in maker.inputs if each and each not in seen]
            seen.update(new)
            open_ends += new
        return True

    def constant(self, name: str) -> StoredWeight | None:
        """Return any constant that an output depends on: scales, integers and strings too."""
        known = self._all.get(name)
        if known is not None:
            return known
        stored, readers = self.graph.constants[name], self._readers(name, grids=True)
        if not readers or not math.prod(stored.shape):
            return None
        return StoredWeight(
            name=name, dtype=stored.dtype, shape=stored.shape, digest=stored.digest,
            value_digest=stored.value_digest, readers=readers,
        )  # fmt: skip

    def stored_array(self, name: str) -> Array | None:
        """Return the value of a constant, including strings and integers of any width."""
        return self._values.stored_array(name)

    def _readers(self, name: str, *, grids: bool = False) -> tuple[WeightReader, ...]:
        found: list[WeightReader] = []
        open_ends: list[tuple[str, tuple[str, ...]]] = [(name, ())]
        seen = {name}
        while open_ends:
            tensor, between = open_ends.pop()
            for node in self.topology.readers.get(tensor, ()):
                if node.name not in self.useful or (not grids and _only_a_grid(node, tensor)):
                    continue
                if any(each in self.topology.live for each in self.topology.reads(node)):
                    slots = [i for i, each in enumerate(node.inputs) if each == tensor] or [-1]
                    found += [WeightReader(node=node, slot=i, between=between) for i in slots]
                    continue
                for output in node.outputs:
                    if output and output not in seen:
                        seen.add(output)
                        open_ends.append((output, (*between, node.op)))
        return tuple(found)

    def value(self, name: str) -> Array | None:
        """Return a constant, or what is computed from constants alone, as the oracle returns it."""
        return self._values.value(name)

    def stored_value(self, name: str) -> Array | None:
        """Return the same numbers, maybe in the narrower type that they are stored in."""
        return self._values.stored_value(name)

    def numbers(self, weight: StoredWeight) -> Array | None:
        """Return the real values of a weight; floats are in the type that they are stored in."""
        value = self.stored_value(weight.name)
        if value is None or value.shape != weight.shape:
            return None
        if weight.grid is not None:
            return real_values(value, weight.grid) if value.dtype.kind in "iu" else None
        return value

    def real(self, weight: StoredWeight) -> Array | None:
        """Return the real values of a weight in float64."""
        value = self.numbers(weight)
        return None if value is None else np.asarray(value, np.float64)


def reads_grids(node: Node) -> bool:
    """Whether a node reads the scale or the zero point of something."""
    return any(each and _only_a_grid(node, each) for each in node.inputs)


def _only_a_grid(node: Node, tensor: str) -> bool:
    """Whether a node reads a tensor as the scale or the zero point of something else."""
    places = {place for place, name in enumerate(node.inputs) if name == tensor}
    if node.op in _QUANTIZERS:
        return bool(places) and 0 not in places
    parameters = {place for _, *others in GRIDS_READ.get(node.op, ()) for place in others}
    parameters.update(GRID_OF_RESULT.get(node.op, ()))
    return bool(places) and places <= parameters


def _channels(shape: tuple[int, ...], count: int) -> int | None:
    """Return the axis of per-channel scales: the first that has ``count`` elements."""
    return None if count == 1 else next((a for a, size in enumerate(shape) if size == count), None)


def _placed(weight: StoredWeight, order: int) -> StoredWeight:
    return StoredWeight(
        name=weight.name, dtype=weight.dtype, shape=weight.shape, digest=weight.digest,
        value_digest=weight.value_digest, readers=weight.readers, grid=weight.grid, order=order,
        may_mask=weight.may_mask,
    )  # fmt: skip
