"""The feeds of one step: tokens, a mask over all positions, their positions, and the caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.model import TensorSpec
from isomorph.decoding.signature import DecoderSignature, Role
from isomorph.inputs.masks import hidden_by
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_PLAIN_MASK_RANK = 2
"""A mask of more axes has one for the tokens of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A decoder between two steps.

    ``tokens`` are those of the next step, in rows. ``mask`` covers all positions, cached ones and
    those of the step.
    """

    tokens: Array
    mask: Array
    cached: int
    caches: Mapping[str, Array]
    constants: Mapping[str, Array]

    @property
    def length(self) -> int:
        """How many tokens the next step takes."""
        return int(self.tokens.shape[1])

    @property
    def positions(self) -> Array:
        """The positions of the tokens of the step; hidden ones before them do not count."""
        counted = np.cumsum(self.mask, axis=1) - 1
        return np.asarray(np.maximum(counted[:, -self.length :], 0))


def step_feeds(signature: DecoderSignature, state: State) -> dict[str, Array]:
    """One array for every input of the decoder."""
    return {
        spec.name: _value(signature, spec, state)
        for spec in signature.graph.inputs
        if spec.name in signature.roles
    }


def _value(signature: DecoderSignature, spec: TensorSpec, state: State) -> Array:
    match signature.roles[spec.name]:
        case Role.TOKENS:
            return _shaped(spec, state.tokens)
        case Role.POSITIONS:
            return _shaped(spec, state.positions)
        case Role.MASK:
            return _mask(signature, spec, state)
        case Role.PAST_LENGTH:
            return _number(spec, state, state.cached)
        case Role.TOTAL_LENGTH:
            return _number(spec, state, state.cached + state.length)
        case Role.LAST_POSITION:
            return _number(spec, state, state.cached + state.length - 1)
        case Role.SWITCH:
            return np.full(_sizes(spec, state, 1), bool(state.cached))
        case Role.CACHE:
            return state.caches[spec.name]
        case Role.CONSTANT:
            return state.constants[spec.name]


def _shaped(spec: TensorSpec, rows: Array) -> Array:
    """Rows of integers in the rank and type of an input."""
    rank = 2 if spec.shape is None else len(spec.shape)
    values = rows.astype(_dtype(spec))
    if rank < values.ndim:
        return np.ascontiguousarray(values[0] if rank == 1 else values[0, 0])
    lead = (spec.shape or ())[: rank - values.ndim]
    sizes = tuple(size if isinstance(size, int) else 1 for size in lead)
    return np.ascontiguousarray(np.broadcast_to(values, (*sizes, *values.shape)))


def _number(spec: TensorSpec, state: State, value: int) -> Array:
    return np.full(_sizes(spec, state, state.tokens.shape[0]), value, _dtype(spec))


def _sizes(spec: TensorSpec, state: State, batch: int) -> tuple[int, ...]:
    sizes = spec.shape or ()
    return tuple(
        size if isinstance(size, int) else batch if at == 0 else 1 for at, size in enumerate(sizes)
    )


def _mask(signature: DecoderSignature, spec: TensorSpec, state: State) -> Array:
    """What each token may attend to, as the input holds it: rows, or a square for each token."""
    rank = len(spec.shape or (None, None))
    last = spec.shape[-1] if spec.shape else None
    kept = state.mask.astype(bool)
    total = kept.shape[1]
    if isinstance(last, int) and last > total:  # a buffer has positions that nothing was written to
        kept = np.pad(kept, ((0, 0), (0, last - total)))
    if rank > _PLAIN_MASK_RANK:
        kept = _causal(kept, state)
        kept = kept[:, None] if rank > _PLAIN_MASK_RANK + 1 else kept
    elif rank < _PLAIN_MASK_RANK:
        kept = kept[0]
    dtype = _dtype(spec)
    floats = "float" in (spec.dtype or "")
    if floats and rank > _PLAIN_MASK_RANK:  # added to scores
        return np.where(kept, 0.0, _lowest(dtype)).astype(dtype)
    hides = hidden_by(signature.graph, spec.name, name=spec.name)
    return np.ascontiguousarray((~kept if hides else kept).astype(dtype))


def _causal(kept: Array, state: State) -> Array:
    """For each token of the step, the positions up to its own."""
    own = state.cached + np.arange(state.length)
    before = np.arange(kept.shape[1])[None, :] <= own[:, None]
    return np.asarray(kept[:, None, :] & before[None])


def _lowest(dtype: np.dtype[Any]) -> float:
    if dtype.kind == "f":
        return float(np.finfo(dtype).min)
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).min)


def _dtype(spec: TensorSpec) -> np.dtype[Any]:
    return np.dtype(numpy_dtype(spec.dtype or "int64"))
