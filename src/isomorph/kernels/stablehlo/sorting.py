"""StableHLO's sorts: by one key or several, and the largest elements."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.kernels.stablehlo.elementwise import STABLEHLO
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array


@kernel("sort", domain=STABLEHLO)
def sort(call: Call, *inputs: Array) -> tuple[Array, ...]:
    """All tensors in the order of some of them; ``keys`` are their places and directions."""
    axis = int(call.attributes.get("dimension", -1)) % max(inputs[0].ndim, 1)
    order: Array | None = None
    for place, descending in reversed(call.attributes["keys"]):
        x = inputs[place] if order is None else np.take_along_axis(inputs[place], order, axis)
        step = stable_order(x, axis, descending=bool(descending))
        order = step if order is None else np.take_along_axis(order, step, axis)
    if order is None:
        return tuple(inputs)
    return tuple(np.take_along_axis(x, order, axis) for x in inputs)


def stable_order(x: Array, axis: int, *, descending: bool) -> Array:
    """The order of the elements, equal ones as they stood; NaN is larger than every number."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - turned, axis)


@kernel("chlo.top_k", "mhlo.topk", domain=STABLEHLO)
def top_k(call: Call, x: Array) -> tuple[Array, Array]:
    """The k largest along the last axis, the largest first, with their places."""
    stated = call.attributes.get("composite_attributes") or call.attributes["mhlo.attributes"]
    order = stable_order(x, x.ndim - 1, descending=True)[..., : int(stated["k"])]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)
