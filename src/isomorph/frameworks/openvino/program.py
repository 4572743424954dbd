"""An OpenVINO model in memory: layers with ports, tensors by name, and stored weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.model import Dimension

if TYPE_CHECKING:
    from isomorph.core.untrusted_xml import Element

DTYPES: Mapping[str, str] = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8",
    "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "boolean": "bool", "i4": "int4", "u4": "uint4",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn", "string": "string",
}  # fmt: skip
"""The element types of constants and parameters by OpenVINO's names."""
NATIVE = {name: native for native, name in DTYPES.items()}
"""The same, the other way."""
PRECISIONS = {
    **{native.upper(): name for native, name in DTYPES.items() if native[0] in "iuf"},
    "FP32": "float32", "FP16": "float16", "BF16": "bfloat16", "FP64": "float64",
    "BOOL": "bool", "BOOLEAN": "bool", "STRING": "string",
}  # fmt: skip
"""The element types of ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One output of a layer; ``name`` is that of its tensor, unique in its graph."""

    id: int
    name: str
    dtype: str | None
    shape: tuple[Dimension, ...] | None
    called: tuple[str, ...] = ()
    """The names that the file gives the tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Where a constant lies in the .bin file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer; ``inputs`` are names of tensors, ``ports`` the ids of the ports that read them."""

    id: int
    name: str
    type: str
    version: str
    data: Mapping[str, str]
    inputs: tuple[str, ...]
    ports: tuple[int, ...]
    outputs: tuple[Port, ...]
    element: Element = field(repr=False, compare=False)
    stored: Stored | None = None
    bodies: Mapping[str, Body] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyPort:
    """How a tensor of a body is connected: to which input or output of the layer.

    With an ``axis``, each round takes a part of the input, or adds a part to the output.
    """

    place: int
    tensor: str
    axis: int | None = None
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A graph inside a layer, and how it is connected; ``back`` leads results to parameters."""

    graph: IrGraph
    takes: tuple[BodyPort, ...]
    gives: tuple[BodyPort, ...]
    back: tuple[tuple[str, str], ...] = ()
    condition: str = ""
    """The result that states whether a loop goes on."""
    counter: str = ""
    """The parameter that counts the rounds of a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IrGraph:
    """Layers after those that they read.

    ``inputs`` are the tensors of its parameters and ``results`` the tensors that it returns, both
    in the order of the file. ``tensor_of`` has the tensor of a parameter or a result by its id.
    """

    name: str
    layers: tuple[Layer, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    tensor_of: Mapping[int, str] = field(default_factory=dict)

    @property
    def stored(self) -> Mapping[str, Layer]:
        """The layers that hold weights, by the names of their tensors."""
        return {each.outputs[0].name: each for each in self.layers if each.stored is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class IrModel:
    """A model that was read; ``weights`` are the bytes of its .bin file."""

    graph: IrGraph
    root: Element = field(repr=False)
    weights: Any = field(repr=False)
    path: Path | None = None
    version: int = 11
