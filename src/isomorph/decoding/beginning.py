"""How decoding begins: the prompt, the caches before it, and inputs that stay the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.decoding import Start
from isomorph.core.decoding_limits import GENERATED_POSITIONS, PROMPT_TOKENS
from isomorph.core.errors import UsageError, listed
from isomorph.decoding.caches import fixed_length
from isomorph.decoding.signature import DecoderSignature, Role
from isomorph.decoding.step_feeds import State
from isomorph.inputs.feeds import fitted, named
from isomorph.inputs.generate import SAMPLES, axis_name, generate
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.decoding import CachePair
    from isomorph.core.model import Dimension, TensorSpec
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the user gave and stated: arrays by input, sizes of axes, and the seed."""

    arrays: Mapping[str, Array]
    dims: Mapping[str, int]
    seed: int


def given_arrays(signature: DecoderSignature, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The user's arrays by input; a single one is the prompt."""
    names = [spec.name for spec in signature.graph.inputs]
    if len(arrays) == 1 and not set(arrays) & set(names):
        arrays = {signature.tokens.name: next(iter(arrays.values()))}
    arrays = named(signature.graph.inputs, arrays)
    unknown = [name for name in arrays if name not in names]
    if unknown:
        raise UsageError(
            "UNKNOWN_INPUT",
            f"the model has no input {unknown[0]!r}",
            why=f"it takes: {listed(names)}",
            fix=f"the prompt alone is enough: an array for {signature.tokens.name!r}",
        )
    return {name: fitted(signature.spec(name), np.asarray(array)) for name, array in arrays.items()}


def first_state(signature: DecoderSignature, given: Given, start: Start) -> State:
    """The state before the first step."""
    tokens = _prompt(signature, given)
    batch = tokens.shape[0]
    shapes = {
        pair.input: _cache_shape(signature, pair, batch, start, given) for pair in signature.caches
    }
    caches = {
        name: given.arrays[name]
        if name in given.arrays
        else _cache(signature.spec(name), shape, start, given.seed, place)
        for place, (name, shape) in enumerate(shapes.items())
    }
    cached = _cached(signature, caches, start)
    masks = [
        np.asarray(given.arrays[spec.name]).astype(np.int64)
        for spec in signature.of_role(Role.MASK)
        if spec.name in given.arrays and np.ndim(given.arrays[spec.name]) == 2
    ]
    total = cached + tokens.shape[1]
    mask = masks[0] if masks else np.ones((batch, total), np.int64)
    if mask.shape != (batch, total):
        raise UsageError(
            "INPUT_SHAPE",
            f"the mask has shape {'×'.join(map(str, mask.shape))}",
            why=f"the prompt needs {batch}×{total}: rows, and cached positions with the tokens",
        )
    return State(
        tokens=tokens,
        mask=mask,
        cached=cached,
        caches=caches,
        constants=_constants(signature, given, batch),
    )


def usual_start(signature: DecoderSignature, given: Given) -> Start:
    """What the caches hold before the first step, if the model accepts it."""
    if not signature.caches:
        return Start.NONE
    if any(pair.input in given.arrays for pair in signature.caches):
        return Start.GIVEN
    buffers = [_is_buffer(signature, pair) for pair in signature.caches]
    return Start.BUFFER if all(buffers) else Start.EMPTY


def _prompt(signature: DecoderSignature, given: Given) -> Array:
    """The given prompt, or tokens below the size of the vocabulary."""
    array = given.arrays.get(signature.tokens.name)
    if array is not None:
        rows = np.atleast_2d(array).astype(np.int64)
        if rows.ndim != 2 or not rows.size:
            raise UsageError(
                "INPUT_SHAPE",
                f"the prompt has shape {'×'.join(map(str, rows.shape))}",
                why="it has one row of tokens for each text",
            )
        return rows
    batch, length = (_stated(signature, given, axis) for axis in (0, -1))
    random = np.random.default_rng([given.seed, 0])
    # A table of positions may end early: the tokens are far fewer.
    return random.integers(0, signature.vocabulary, (batch or 1, length or PROMPT_TOKENS))


def _stated(signature: DecoderSignature, given: Given, axis: int) -> int | None:
    """The size of an axis of the tokens, as declared or stated."""
    shape = signature.tokens.shape or ()
    if not shape or (axis == 0 and len(shape) == 1):
        return None
    size = shape[axis]
    if isinstance(size, int):
        return size if axis == 0 else None
    return given.dims.get(axis_name(signature.tokens.name, axis % len(shape), size))


def _is_buffer(signature: DecoderSignature, pair: CachePair) -> bool:
    before, after = _length_sizes(signature, pair)
    return fixed_length(before, after)


def _length_sizes(signature: DecoderSignature, pair: CachePair) -> tuple[Dimension, Dimension]:
    before = signature.spec(pair.input).shape or ()
    after = next(spec for spec in signature.graph.outputs if spec.name == pair.output).shape or ()
    return (
        before[pair.axis] if pair.axis < len(before) else None,
        after[pair.axis] if pair.axis < len(after) else None,
    )


def _cache_shape(
    signature: DecoderSignature, pair: CachePair, batch: int, start: Start, given: Given
) -> tuple[int, ...]:
    """The sizes of a cache before the first step."""
    spec = signature.spec(pair.input)
    sizes: list[int] = []
    for axis, size in enumerate(spec.shape or ()):
        if isinstance(size, int):
            sizes.append(size)
            continue
        name = axis_name(spec.name, axis, size)
        if axis == pair.axis:
            sizes.append(GENERATED_POSITIONS if start is Start.GENERATED else 0)
        elif name in given.dims:
            sizes.append(given.dims[name])
        elif size == signature.batch_axis or axis == _usual_batch_axis(spec):
            sizes.append(batch)
        else:
            raise UsageError(
                "UNBOUND_DIM",
                f"the size of axis {axis} of cache {spec.name!r} is not declared",
                fix=f"bind it: --dim {name}=SIZE",
            )
    before, after = _length_sizes(signature, pair)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise UsageError(
            "CACHE_FIXED",
            f"cache {spec.name!r} takes exactly {before} positions, and {after} are returned",
            why="what a step returns does not fit the next step",
            fix="export the model with a dynamic axis of cached positions",
        )
    return tuple(sizes)


def _usual_batch_axis(spec: TensorSpec) -> int:
    """The second axis where keys and values are one tensor, and else the first."""
    shape = spec.shape or ()
    return 1 if len(shape) == 5 and shape[0] == 2 else 0


def _cache(spec: TensorSpec, shape: tuple[int, ...], start: Start, seed: int, place: int) -> Array:
    dtype = np.dtype(numpy_dtype(spec.dtype or "float32"))
    if start is not Start.GENERATED:
        return np.zeros(shape, dtype)
    drawn = np.random.default_rng([seed, 1, place]).standard_normal(shape)
    return drawn.astype(dtype) if dtype.kind != "i" else np.zeros(shape, dtype)


def _cached(signature: DecoderSignature, caches: Mapping[str, Array], start: Start) -> int:
    """How many positions the caches hold; nothing was written to a buffer yet."""
    lengths = [
        int(np.shape(caches[pair.input])[pair.axis])
        for pair in signature.caches
        if not _is_buffer(signature, pair) and "encoder" not in pair.part
    ]
    return max(lengths, default=0)


def _constants(signature: DecoderSignature, given: Given, batch: int) -> dict[str, Array]:
    """Inputs that are the same at every step, given or generated."""
    specs = signature.of_role(Role.CONSTANT)
    found = {spec.name: given.arrays[spec.name] for spec in specs if spec.name in given.arrays}
    missing = [spec for spec in specs if spec.name not in found]
    if not missing:
        return found
    dims = dict(given.dims)
    for spec in missing:
        size = (spec.shape or (1,))[0]
        if not isinstance(size, int):
            dims[axis_name(spec.name, 0, size)] = batch
    made = generate(signature.graph, dims, sample=SAMPLES[0], seed=given.seed)
    return {**found, **{spec.name: made[spec.name] for spec in missing}}
