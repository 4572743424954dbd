"""The least memory that a run will take, from declared shapes, before anything has run."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.errors import RuntimeFailedError
from isomorph.store.dtypes import STRING, dtype_of

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model, TensorSpec
    from isomorph.core.trace import Arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The largest tensor whose size is known, and the node that makes it."""

    tensor: str
    node: str | None
    bytes: int


def largest(graph: Graph, feeds: Arrays) -> Largest | None:
    """None where no shape is known; then nothing can be foretold."""
    makers = {name: node.name for node in graph.nodes for name in node.outputs}
    axes = _axes(graph, feeds)
    sizes = {name: _bytes(spec, axes) for name, spec in graph.tensors.items() if name in makers}
    if not sizes:
        return None
    tensor = max(sizes, key=lambda name: sizes[name])
    return Largest(tensor=tensor, node=makers.get(tensor), bytes=sizes[tensor])


def in_float64(graph: Graph, feeds: Arrays) -> dict[str, int]:
    """The bytes that an oracle's value of each tensor takes at the least."""
    axes = _axes(graph, feeds)
    wide = {name: replace(spec, dtype="float64") for name, spec in graph.tensors.items()}
    return {name: _bytes(spec, axes) for name, spec in wide.items()}


def refuse_without_space(model: Model, feeds: Arrays, fetch: Sequence[str]) -> int:
    """The bytes that fetching takes at the least; an error where the disk lacks the space."""
    axes = _axes(model.graph, feeds)
    specs = [model.graph.tensors[name] for name in fetch if name in model.graph.tensors]
    needed = sum(_bytes(spec, axes) for spec in specs)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise RuntimeFailedError(
            "DISK_FULL",
            f"{len(fetch)} tensors take at least {readable(needed)} on disk, "
            f"and {readable(free)} are free",
            file=model.location,
            why=f"they are handed over in {folder}; nothing was run",
            fix="set TMPDIR to a larger disk, name fewer tensors with --fetch, "
            "or bind the dynamic axes to smaller sizes with --dim",
        )
    return needed


def readable(count: int) -> str:
    """A number of bytes as people read it."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _axes(graph: Graph, feeds: Arrays) -> dict[str, int]:
    """The sizes of the named axes by the fed arrays."""
    found: dict[str, int] = {}
    for spec in graph.inputs:
        shape = getattr(feeds.get(spec.name), "shape", ())
        if spec.shape is not None and len(shape) == len(spec.shape):
            named = zip(spec.shape, shape, strict=True)
            found.update({axis: size for axis, size in named if isinstance(axis, str)})
    return found


def _bytes(spec: TensorSpec, axes: dict[str, int]) -> int:
    """At the least: an axis that nobody knows is counted as one."""
    if spec.shape is None or spec.dtype is None or spec.dtype == STRING:
        return 0
    known = [size if isinstance(size, int) else axes.get(size or "", 1) for size in spec.shape]
    # Python integers: a product that overflows must not look small.
    return math.prod(known) * dtype_of(spec.dtype).itemsize
