"""Sizes of dynamic axes that a model takes, where it refuses the usual ones.

A graph may declare an axis free and still need a multiple of four, or an image that can be halved
five times. Only a run tells. Where the usual sizes fail, others are tried before samples are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from typing import TYPE_CHECKING

from isomorph.core.errors import FATAL, RuntimeFailedError
from isomorph.core.limits import SIZE_COMBINATIONS
from isomorph.inputs.dynamic_sizes import Shapes, free_axes
from isomorph.inputs.generate import DEFAULT_BATCH, DEFAULT_SIZE, SAMPLES, generate

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle

_BATCHES = (DEFAULT_BATCH, 1, 4, 8)
_SIZES = (DEFAULT_SIZE, 32, 64, 128, 1)


def accepted_sizes(
    opened: ModelHandle, others: Shapes, dims: Mapping[str, int], seed: int
) -> dict[str, int]:
    """Sizes of the axes that nobody settled, where the model refuses the usual ones.

    Empty where the usual ones do, or where none does: then the failure is reported as it is.
    """
    graph = opened.model.graph
    free = {name: at for name, at in free_axes(graph, others).items() if name not in dims}
    if not free or _takes(opened, others, dims, seed):
        return {}
    batch = [name for name, place in free.items() if place == 0]
    rest = [name for name in free if name not in batch]
    pairs = product(_BATCHES if batch else (0,), _SIZES if rest else (0,))
    for first, size in islice(SIZE_COMBINATIONS.first(pairs), 1, None):
        sizes = {**dict.fromkeys(batch, first), **dict.fromkeys(rest, size)}
        if _takes(opened, others, {**dims, **sizes}, seed):
            return sizes
    return {}


def sizes_text(sizes: Mapping[str, int]) -> str:
    """The sizes behind the origin of a sample, for people."""
    return "".join(f", {axis}={size}" for axis, size in sizes.items())


def _takes(opened: ModelHandle, others: Shapes, dims: Mapping[str, int], seed: int) -> bool:
    """Whether the model runs at these sizes; what costs a runtime its life is not tried again."""
    graph = opened.model.graph
    feeds: dict[str, Array] = generate(
        graph, dims, sample=SAMPLES[0], seed=seed, other_shapes=dict(others)
    )
    try:
        opened.run().run(opened.real(feeds), [spec.name for spec in graph.outputs[:1]])
    except RuntimeFailedError as error:
        return error.code in FATAL
    return True
