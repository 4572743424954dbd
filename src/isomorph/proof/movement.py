"""Data movement on arrays of any arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels.windows import every_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.core.trace import Array
    from isomorph.proof.term import Term


def moved(term: Term, arrays: Sequence[Array]) -> Array:
    """The result of a primitive that moves elements; ``arrays`` are those of its inputs."""
    x, attrs = arrays[0], term.attrs
    match term.op:
        case "transpose":
            return np.transpose(x, attrs[0])
        case "reshape":
            return np.reshape(x, term.shape)
        case "slice":
            axis, start, count, step = attrs
            stop: int | None = start + count * step
            stop = None if stop is not None and stop < 0 else stop
            kept: Array = x[(slice(None),) * axis + (slice(start, stop, step),)]
            return kept
        case "concat":
            return np.concatenate(list(arrays), attrs[0])
        case "pad":
            return np.pad(x, attrs[0], constant_values=arrays[1].reshape(()))
        case "expand":
            return np.broadcast_to(x, term.shape)
        case "take":
            return np.asarray(np.take(x, term.data, attrs[0]))
        case "windows":
            return every_window(x, *attrs)
        case "spread":
            return _spread(term, x)
        case "retype":
            return x
        case "select":
            return np.asarray(np.where(term.data, x, arrays[1]))
        case _:
            raise AssertionError(term.op)


def _spread(term: Term, x: Array) -> Array:
    factors = term.attrs[0]
    result = np.zeros(term.shape, x.dtype)
    lead = (slice(None),) * (x.ndim - len(factors))
    result[lead + tuple(slice(None, None, factor) for factor in factors)] = x
    return result
