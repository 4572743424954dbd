"""A TFLite model read into plain nouns: sub-graphs, tensors, operators, signatures.

Everything here is an index into the file, as TFLite itself thinks, next to the unique names
that the rest of isomorph uses. Stored values are decoded when asked for, as views where possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.frameworks.tflite.buffers import decoded

if TYPE_CHECKING:
    from isomorph.core.trace import Array

ABSENT = -1
"""The index of an optional input that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteQuantization:
    """real = scale · (integer − zero point), along ``axis``, or for the whole tensor where None."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteBlocks:
    """One scale for each ``size`` neighbors along the last axis; ``tensor`` is that of the scales.

    ``scales`` has the shape of the weight, its last axis counted in blocks. Zero points are zero.
    """

    size: int
    tensor: int
    scales: Array = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteTensor:
    """What one tensor declares.

    ``name`` is unique in its sub-graph; ``own_name`` is that of the file. ``dtype`` is a NumPy
    or ml_dtypes name, ``string``, ``resource`` or ``variant``. ``shape`` is what the file
    allocates; ``signature`` has -1 where an axis is dynamic, and is None where the rank is
    unknown. A ``variable`` begins every run at zero and keeps its value inside it.
    """

    index: int
    name: str
    own_name: str
    dtype: str
    shape: tuple[int, ...]
    signature: tuple[int, ...] | None
    buffer: int
    constant: bool
    variable: bool
    quantization: TfliteQuantization | None = None
    blocks: TfliteBlocks | None = None
    sparse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteOperator:
    """One operator: ``op`` is the builtin's name (``CONV_2D``) or the custom operator's.

    ``inputs`` may hold ``ABSENT``. ``options`` are the builtin options in snake case, enums
    spelled (``padding`` "SAME", ``out_data_type`` "float32"), vectors as tuples.
    """

    index: int
    op: str
    version: int
    custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    custom_options: bytes = b""

    @property
    def name(self) -> str:
        """``CONV_2D:3``."""
        return f"{self.op}:{self.index}"

    @property
    def bodies(self) -> Mapping[str, int]:
        """The sub-graphs it runs: ``{"cond": 1, "body": 2}``."""
        return _bodies(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteGraph:
    """One sub-graph, operators in the order in which they run."""

    index: int
    name: str
    tensors: tuple[TfliteTensor, ...]
    operators: tuple[TfliteOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteSignature:
    """The names under which a caller knows inputs and outputs of one sub-graph."""

    key: str
    graph: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class TfliteProgram:
    """What ``Model.native`` holds for TFLite.

    ``data`` is the flatbuffer, and the truth; ``model`` is the same as schema objects (ModelT),
    to be copied before it is edited. Sub-graph 0 is the model, the others are bodies, or
    belong to other signatures.
    """

    data: Any
    model: Any
    graphs: tuple[TfliteGraph, ...]
    signatures: tuple[TfliteSignature, ...]
    description: str = ""
    version: int = 3
    metadata: Mapping[str, bytes] = field(default_factory=dict)
    path: Path | None = None

    @property
    def main(self) -> TfliteGraph:
        """The sub-graph that an interpreter runs."""
        return self.graphs[0]

    @cached_property
    def signature(self) -> TfliteSignature | None:
        """The signature of the main sub-graph, if the file has one."""
        return main_signature(self.signatures)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Tensor indices of the main sub-graph by name, second names of outputs included."""
        found = dict(self.aliases)
        found.update({tensor.name: tensor.index for tensor in self.main.tensors})
        return found

    @cached_property
    def aliases(self) -> Mapping[str, int]:
        """Further names of tensors: an output that is also an input, or another output."""
        own = {tensor.name: tensor.index for tensor in self.main.tensors}
        named = self.signature.outputs if self.signature is not None else {}
        # Where an input has the same name, the name stays the input's.
        return {name: index for name, index in named.items() if name not in own}

    def array(self, tensor: TfliteTensor) -> Array | None:
        """The stored value, dense and unpacked (int4 too); None for what is computed."""
        if not tensor.constant:
            return None
        return decoded(tensor, self.raw(tensor.buffer), self._sparsity(tensor))

    def raw(self, buffer: int) -> memoryview:
        """The bytes of one buffer, wherever in the file they lie."""
        return raw_buffer(self.model, self.data, buffer)

    def _sparsity(self, tensor: TfliteTensor) -> Any:  # noqa: ANN401
        if not tensor.sparse:
            return None
        for graph, described in zip(self.model.subgraphs, self.graphs, strict=True):
            if tensor.index < len(described.tensors) and described.tensors[tensor.index] is tensor:
                return graph.tensors[tensor.index].sparsity
        raise LookupError(f"{tensor.name} is no tensor of this program")


def raw_buffer(model: Any, data: Any, buffer: int) -> memoryview:  # noqa: ANN401
    """The bytes of one buffer; above 2 GB a file keeps them behind the flatbuffer, by offset."""
    stored = model.buffers[buffer]
    if stored.offset > 1 and stored.size > 0:
        return memoryview(data)[stored.offset : stored.offset + stored.size]
    if stored.data is None or isinstance(stored.data, int):
        return memoryview(b"")
    return memoryview(stored.data)


def main_signature(signatures: tuple[TfliteSignature, ...]) -> TfliteSignature | None:
    """``serving_default`` where the main sub-graph has several."""
    own = [signature for signature in signatures if signature.graph == 0]
    usual = [signature for signature in own if signature.key == "serving_default"]
    return next(iter(usual or own), None)


def _bodies(options: Mapping[str, Any]) -> Mapping[str, int]:
    found = {
        key.removesuffix("_subgraph_index"): int(value)
        for key, value in options.items()
        if key.endswith("_subgraph_index")
    }
    if "subgraph" in options:
        found["body"] = int(options["subgraph"])
    for place, branch in enumerate(options.get("branch_subgraph_indices", ())):
        found[f"branch{place}"] = int(branch)
    return found
