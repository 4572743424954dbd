"""A model, and a framework-neutral description of its graph; the description is not executable.

The framework's own object is what runs. The description is what every stage reads, so it
holds names, types and attributes, and of a constant only what identifies it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from isomorph.core.presentation import short

Dimension = int | str | None
"""A size, the name of a dynamic axis, or None where nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """What is declared of one tensor.

    ``dtype`` is a NumPy or ml_dtypes name, or ``string``. ``shape`` is None where even the
    rank is unknown. ``kind`` is ``tensor``, ``sequence``, ``optional``, ``map``, or a framework's
    word for what holds no numbers (``resource``).
    """

    name: str
    dtype: str | None
    shape: tuple[Dimension, ...] | None
    kind: str = "tensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A weight or other stored value. Equal digests mean equal dtype, shape and bytes.

    ``value_digest`` is of the sorted values alone, so it survives a transposition or reshape.
    ``turned_digest`` is what ``digest`` would be with its axes exchanged; empty unless it is a
    large matrix. ``values`` holds the numbers themselves, and only for small constants (at most
    16 elements). ``file_offset`` is where its bytes begin in the model's file, if they lie there
    in C order and as NumPy reads them. Whoever reads them compares the digest. Constants are
    equal wherever their bytes lie.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    value_digest: str
    values: tuple[float | int | bool | str, ...] | None = None
    turned_digest: str = ""
    file_offset: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """How the integers of a tensor stand for real numbers.

    Where ``block`` neighbors along ``axis`` have one scale, ``scale`` is empty and ``scales`` is
    the constant that holds one number for each block; the zero points are zero.
    """

    tensor: str
    dtype: str
    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None
    block: int = 0
    scales: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where in the user's program a node came from, as far as the exporter left it."""

    module: str | None = None
    file: str | None = None
    line: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operation.

    ``op`` is the neutral name (see ``core.ops``), ``native_op`` the framework's own, with its
    domain. ``attributes`` include the defaults of the node's opset. An absent optional input
    is an empty string. ``bodies`` maps an attribute name to the sub-graph it holds.
    """

    name: str
    op: str
    native_op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bodies: Mapping[str, Graph] = field(default_factory=dict)
    source: Source | None = None

    def input(self, place: int) -> str:
        """The input at a place; an empty string where it is absent."""
        return self.inputs[place] if place < len(self.inputs) else ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Every tensor that it reads, without those that its bodies take from around it."""
        return tuple(name for name in self.inputs if name)

    @property
    def gives(self) -> tuple[str, ...]:
        """Every tensor that it defines."""
        return tuple(name for name in self.outputs if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Nodes in topological order, and everything declared about their tensors."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    nodes: tuple[Node, ...]
    tensors: Mapping[str, TensorSpec]
    constants: Mapping[str, Constant]
    quantization: tuple[Quantization, ...] = ()
    functions: Mapping[str, Graph] = field(default_factory=dict)
    """Functions that the file defines, by the ``native_op`` of the nodes that call them."""
    framework: str = ""
    """The framework whose operators the nodes are, in bodies and functions as well."""

    def declared_dtype(self, tensor: str) -> str | None:
        """The type that the file declares for a tensor; None where it declares none."""
        spec = self.tensors.get(tensor)
        return None if spec is None else spec.dtype

    @property
    def weight_count(self) -> int:
        """The number of elements of all constants."""
        return sum(math.prod(each.shape) for each in self.constants.values())


class OutputOrder(StrEnum):
    """How a caller identifies the outputs of a model; the framework's loader sets it.

    It follows from the kind of the file or object alone, never from what a user wrote into it.
    """

    POSITIONAL = "positional"
    """Outputs have names and an order, and callers rely on both."""
    UNNAMED = "unnamed"
    """Outputs have an order; their names are those of nodes, and no caller knows them."""
    NAMED = "named"
    """Outputs are a dict with an order that follows from the names, which no caller uses."""
    UNORDERED = "unordered"
    """Outputs are a dict without any order."""


class LoadFact(StrEnum):
    """What a loader found out about a file or object besides its graph."""

    TRAINING_MODE = "training mode"
    KEEPS_STATE = "keeps state"
    """It changes a tensor of its own, or one that it was given: its next call may differ."""
    EXPORT_REFUSED = "export refused"
    EXTERNAL_WEIGHTS = "external weights"
    EXTERNAL_WEIGHTS_UNREADABLE = "external weights unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of one framework.

    ``digest`` identifies the file's bytes (or the live object's export). ``native`` is the
    framework's own object in the process that runs it, and None in the process that only judges.
    ``notes`` are facts about the file that a user should see (a lying suffix, a renamed node).
    ``load_facts`` are those that rules depend on, each with its details for people.
    ``metadata`` is text from the file, to be shown; no decision reads it. ``runs_python`` states
    that the nodes are those of one run of a Python program, which may decide on values.
    ``channels_last`` is the framework's convention for images: a converter from one convention
    to the other moves the channel axis of inputs and outputs. ``file_stamp`` is that of the file
    (``store.file_stamp``), where it is known that nothing wrote to it while it was read.
    """

    framework: str
    location: str
    digest: str
    graph: Graph
    producer: str = ""
    opset: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    output_order: OutputOrder = OutputOrder.POSITIONAL
    runs_python: bool = False
    channels_last: bool = False
    load_facts: Mapping[LoadFact, str] = field(default_factory=dict)
    native: Any = None
    file_stamp: tuple[int, ...] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """What it is and how large."""
        nodes, constants = len(self.graph.nodes), len(self.graph.constants)
        return short(
            "Model", f"{self.framework} {self.location}: {nodes} nodes, {constants} constants"
        )
