"""Find sizes of dynamic axes that a model accepts, where it rejects the usual ones.

A graph may declare an axis free and still need a multiple of four, or an image that can be halved
five times. Only a run shows this. Where the usual sizes fail, others are tried before samples are
generated.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from typing import TYPE_CHECKING

from isomorph.core.errors import FATAL, RuntimeFailedError
from isomorph.core.limits import SIZE_COMBINATIONS
from isomorph.inputs.dynamic_sizes import Shapes, free_axes, over_caches, usual_sizes
from isomorph.inputs.generate import DEFAULT_BATCH, DEFAULT_SIZE, SAMPLES, generate

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle

_BATCHES = (DEFAULT_BATCH, 1, 4, 8)
_SIZES = (DEFAULT_SIZE, 32, 64, 128, 1)


def accepted_sizes(
    handle: ModelHandle, others: Shapes, dims: Mapping[str, int], seed: int
) -> dict[str, int]:
    """Return sizes of the free axes, if the usual ones do not suit the model.

    Empty where the usual sizes work, or where none do: then the failure is reported as it is.
    """
    graph = handle.model.graph
    free = {name: at for name, at in free_axes(graph, others).items() if name not in dims}
    if not free:
        return {}
    usual = usual_sizes(free)
    longer = over_caches(graph, usual)
    # First, because a mask of another size than caches and tokens ends the work of a GPU.
    if longer != usual and _accepts(handle, others, {**dims, **longer}, seed):
        return longer
    if _accepts(handle, others, dims, seed):
        return {}
    batch = [name for name, place in free.items() if place == 0]
    further = [name for name in free if name not in batch]
    pairs = product(_BATCHES if batch else (0,), _SIZES if further else (0,))
    for first, size in islice(SIZE_COMBINATIONS.first(pairs), 1, None):
        sizes = {**dict.fromkeys(batch, first), **dict.fromkeys(further, size)}
        if _accepts(handle, others, {**dims, **sizes}, seed):
            return sizes
    return {}


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return the sizes as text for the origin of a sample."""
    return "".join(f", {axis}={size}" for axis, size in sizes.items())


def _accepts(handle: ModelHandle, others: Shapes, dims: Mapping[str, int], seed: int) -> bool:
    """Whether the model runs at these sizes; after a crash no other sizes are tried."""
    graph = handle.model.graph
    feeds: dict[str, Array] = generate(
        graph, dims, sample=SAMPLES[0], seed=seed, other_shapes=dict(others)
    )
    try:
        handle.run().run(handle.real(feeds), [spec.name for spec in graph.outputs[:1]])
    except RuntimeFailedError as error:
        return error.code in FATAL
    return True
