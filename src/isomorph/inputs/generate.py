"""Generate seeded, valid inputs from a signature.

Integers that select rows of a table stay inside it (the size is read from the graph), masks
keep some elements, lengths stay within the sequence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.core.system_memory import total_memory
from isomorph.inputs.masks import TRANSPARENT, hidden_by, longest

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_GIB = 1 << 30
_DRAWN_BYTES = 8
"""What an element takes while it is drawn, whatever its type."""
DEFAULT_BATCH = 2
DEFAULT_SIZE = 16
SAMPLES = ("normal", "uniform")
"""The distributions of generated samples: N(0, 1), and 0…1 as of an image."""

DECIDING = ("negative", "wide")
"""Further distributions for models that branch on values: −1…0, and N(0, 10²)."""

_NORMAL = frozenset({"normal", "wide"})
_FACTORS = {"negative": -1.0, "wide": 10.0}


def generate(
    graph: Graph,
    dims: Mapping[str, int],
    *,
    sample: str,
    seed: int,
    other_shapes: Mapping[str, Sequence[int | str | None] | None] | None = None,
) -> dict[str, Array]:
    """Generate one array per input; ``other_shapes`` are those that the other model declares."""
    _refuse_unknown(dims, graph, (other_shapes or {}).values())
    known = dict(dims)
    shapes = []
    for spec in graph.inputs:
        if spec.kind != "tensor" or spec.dtype is None:
            raise UsageError(
                "CANNOT_GENERATE",
                f"input {spec.name!r} is a {spec.kind} of unknown element type",
                fix="give the inputs: --inputs FILE.npz",
            )
        shapes.append(concrete_shape(spec, known, (other_shapes or {}).get(spec.name)))
    _refuse_beyond_memory(graph, shapes)
    # Where an input holds lengths, they are those of the axis after the batch.
    sequence = max((shape[1] for shape in shapes if len(shape) > 1), default=DEFAULT_SIZE)
    feeds = {}
    for position, (spec, shape) in enumerate(zip(graph.inputs, shapes, strict=True)):
        random = np.random.default_rng([seed, (*SAMPLES, *DECIDING).index(sample), position])
        feeds[spec.name] = _draw(graph, spec, shape, sample, random, sequence=sequence)
    return feeds


def _refuse_beyond_memory(graph: Graph, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise an error for sizes that this machine's memory cannot hold once."""
    sizes = [math.prod(shape) * _DRAWN_BYTES for shape in shapes]
    most = total_memory()
    if sum(sizes) <= most:
        return
    place = sizes.index(max(sizes))
    raise RuntimeFailedError(
        "OUT_OF_MEMORY",
        "inputs of these sizes do not fit into memory",
        where=f"{graph.inputs[place].name!r} {list(shapes[place])}",
        why=f"they take {sum(sizes) / _GIB:,.0f} GiB, and this machine has {most / _GIB:,.0f} GiB",
        fix="bind the dynamic axes to smaller sizes with --dim, or give the inputs: --inputs FILE",
    )


def _refuse_unknown(
    dims: Mapping[str, int],
    graph: Graph,
    others: Iterable[Sequence[int | str | None] | None],
) -> None:
    """Raise a ``UsageError`` for a size of an axis that no input has."""
    axes = {axis_name(spec.name, axis, size): None for spec in graph.inputs
            for axis, size in enumerate(spec.shape or ()) if not isinstance(size, int)}  # fmt: skip
    elsewhere = {size for shape in others for size in shape or () if isinstance(size, str)}
    for name in dims:
        if name not in axes and name not in elsewhere:
            raise UsageError(
                "UNBOUND_DIM",
                f"no input has a dynamic axis {name!r}",
                why=f"the dynamic axes are: {', '.join(axes) or 'none'}",
                fix=f"--dim {next(iter(axes))}=SIZE" if axes else "leave out --dim",
            )


def axis_name(tensor: str, axis: int, size: str | None) -> str:
    """Return the name of a dynamic axis: its own, or that of the tensor with its position."""
    return size or f"{tensor}.{axis}"


def concrete_shape(
    spec: TensorSpec, known: dict[str, int], other: Sequence[int | str | None] | None = None
) -> tuple[int, ...]:
    """Choose sizes for dynamic axes: stated, declared by the other model, or a default.

    One name has one size: the first choice is kept in ``known``.
    """
    if spec.shape is None:
        raise UsageError(
            "UNBOUND_DIM",
            f"input {spec.name!r} does not even declare its rank",
            fix="give the inputs: --inputs FILE.npz",
        )
    sizes = []
    for axis, size in enumerate(spec.shape):
        if isinstance(size, int):
            sizes.append(size)
            continue
        name = axis_name(spec.name, axis, size)
        fixed = other[axis] if other is not None and len(other) == len(spec.shape) else None
        default = DEFAULT_BATCH if axis == 0 else DEFAULT_SIZE
        sizes.append(known.setdefault(name, fixed if isinstance(fixed, int) else default))
    return tuple(sizes)


def _draw(
    graph: Graph,
    spec: TensorSpec,
    shape: tuple[int, ...],
    sample: str,
    random: np.random.Generator,
    *,
    sequence: int,
) -> Array:
    dtype = spec.dtype or "float32"
    if dtype == "bool":
        kept = _mask(shape, random)
        return ~kept if hidden_by(graph, spec.name, name=spec.name) else kept
    if dtype == "string":
        words = np.array([f"word{n}" for n in range(max(1, int(np.prod(shape))))], dtype=object)
        return words[: int(np.prod(shape))].reshape(shape)
    if "int" in dtype:
        return _integers(graph, spec, shape, random, sequence).astype(dtype)
    bound = table_size(graph, spec.name)
    if bound is not None:
        # Keras declares token numbers as floats, and casts them before it looks them up.
        return random.integers(0, max(bound, 1), size=shape).astype(_float_type(dtype))
    values = random.standard_normal(shape) if sample in _NORMAL else random.random(shape)
    values *= _FACTORS.get(sample, 1.0)
    if dtype in {"complex64", "complex128"}:
        return (values + 1j * random.standard_normal(shape)).astype(dtype)
    return values.astype(_float_type(dtype))


def _float_type(dtype: str) -> np.dtype[Any]:
    if dtype in {"float16", "float32", "float64"}:
        return np.dtype(dtype)
    import ml_dtypes

    narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
    return narrow


def _mask(shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Return a mask that keeps a prefix of the last axis, at least half of it."""
    if not shape:
        return np.ones(shape, bool)
    length = shape[-1]
    kept = random.integers((length + 1) // 2, length + 1, size=(*shape[:-1], 1))
    return np.asarray(np.arange(length) < kept)


def _integers(
    graph: Graph,
    spec: TensorSpec,
    shape: tuple[int, ...],
    random: np.random.Generator,
    sequence: int,
) -> Array:
    bound = table_size(graph, spec.name)
    if _is_mask(graph, spec.name, bound):
        kept = _mask(shape, random)
        return ~kept if hidden_by(graph, spec.name, name=spec.name) else kept
    if bound is not None:
        return random.integers(0, max(bound, 1), size=shape)
    steps = _steps(graph, spec.name)
    if steps is not None:
        return _lengths(steps or sequence, shape, random)
    return random.integers(0, 10, size=shape)


def counts_freely(graph: Graph, tensor: str) -> bool:
    """Whether an input of integers selects no rows, and is neither a mask nor a length."""
    bound = table_size(graph, tensor)
    return bound is None and not _is_mask(graph, tensor, bound) and _steps(graph, tensor) is None


def holds_mask(graph: Graph, tensor: str) -> bool:
    """Whether an input of integers keeps and hides elements."""
    return _is_mask(graph, tensor, table_size(graph, tensor))


def longest_length(graph: Graph, tensor: str) -> int | None:
    """Return the longest length that an input may hold, 0 where the graph states no number.

    None where the input holds no lengths.
    """
    return _steps(graph, tensor)


def _is_mask(graph: Graph, tensor: str, bound: int | None) -> bool:
    return "mask" in tensor.lower() or (bound is None and hidden_by(graph, tensor) is not None)


def _steps(graph: Graph, tensor: str) -> int | None:
    """Return the longest length that an input may hold; None where it holds no lengths."""
    steps = _sequence_length(graph, tensor)
    return longest(graph, tensor) if steps is None else steps


def _lengths(longest: int, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Return lengths of at least half the sequence; one has full length, as some models expect."""
    found = random.integers(max(1, longest // 2), longest + 1, size=shape)
    if found.size:
        found.reshape(-1)[0] = longest
    return found


def table_size(graph: Graph, tensor: str) -> int | None:
    """Return the number of rows of the smallest table that ``tensor`` selects from, if any."""
    found: list[int] = []
    for node in _readers(graph, tensor):
        rows = _rows(graph, node, tensor)
        if rows is not None:
            found.append(rows)
        elif node.op in TRANSPARENT and node.inputs and node.inputs[0] == tensor:
            found += [rows for out in node.outputs if (rows := table_size(graph, out)) is not None]
    return min(found) if found else None


def _readers(graph: Graph, tensor: str) -> list[Node]:
    return [node for node in graph.nodes if tensor in node.inputs]


def _rows(graph: Graph, node: Node, tensor: str) -> int | None:
    if node.op == "OneHot" and node.inputs[0] == tensor:
        depth = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
        return int(depth.values[0]) if depth is not None and depth.values else None
    if node.op not in {"Gather", "GatherElements", "Embedding"} or tensor not in node.inputs[1:]:
        return None
    table = graph.constants.get(node.inputs[0])
    shape: Sequence[int | str | None] | None = table.shape if table is not None else None
    if shape is None and node.inputs[0] in graph.tensors:
        shape = graph.tensors[node.inputs[0]].shape
    axis = int(node.attributes.get("axis", node.attributes.get("dim", 0)) or 0)
    size = shape[axis] if shape else None
    return size if isinstance(size, int) else None


def _sequence_length(graph: Graph, tensor: str) -> int | None:
    """Return the time steps of the recurrent node whose ``sequence_lens`` this input is."""
    for node in _readers(graph, tensor):
        if node.op in {"LSTM", "GRU", "RNN"} and len(node.inputs) > 4 and node.inputs[4] == tensor:
            spec = graph.tensors.get(node.inputs[0])
            axis = int(node.attributes.get("layout", 0) or 0)
            size = spec.shape[axis] if spec is not None and spec.shape else None
            return size if isinstance(size, int) else None
    return None
