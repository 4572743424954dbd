"""TensorLists as Python lists: what TensorFlow's loops collect their steps in.

An element that was never set is None, unless the list fixes the shape of its elements: then it
is zero from the start, as it reads inside the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array

Elements = list[Any]


def _shape(element_shape: Array) -> tuple[int, ...] | None:
    """The shape of every element, where all of it is known."""
    given = np.asarray(element_shape)
    if given.ndim == 0 or np.any(given < 0):
        return None
    return tuple(int(extent) for extent in given)


def _dtype(call: Call) -> np.dtype[Any]:
    return numpy_dtype(str(call.attributes["element_dtype"]))


def _unset(call: Call, element_shape: Array) -> Array | None:
    shape = _shape(element_shape)
    return None if shape is None else np.zeros(shape, _dtype(call))


def _set(call: Call, elements: Elements, place: int, element_shape: Array) -> Array:
    """The element at ``place``; one that was never set takes its shape from its neighbors."""
    if elements[place] is not None:
        return np.asarray(elements[place])
    known = next((each for each in elements if each is not None), None)
    shape = _shape(element_shape) or (None if known is None else np.shape(known))
    if shape is None:
        raise ValueError(f"element {place} of the list was never set, and its shape is unknown")
    return np.zeros(shape, _dtype(call) if known is None else known.dtype)


def _empty(call: Call, element_shape: Array, most: Array) -> Elements:
    return []


def _reserve(call: Call, element_shape: Array, count: Array) -> Elements:
    return [_unset(call, element_shape)] * int(count)


def _from_tensor(call: Call, tensor: Array, element_shape: Array) -> Elements:
    return list(tensor)


def _set_item(call: Call, elements: Elements, index: Array, item: Array) -> Elements:
    changed, place = list(elements), int(index)
    if place >= len(changed) and call.attributes.get("resize_if_index_out_of_bounds"):
        changed += [None] * (place + 1 - len(changed))
    changed[place] = item
    return changed


def _get_item(call: Call, elements: Elements, index: Array, element_shape: Array) -> Array:
    return _set(call, elements, int(index), element_shape)


def _stack(call: Call, elements: Elements, element_shape: Array) -> Array:
    return _gather(call, elements, np.arange(len(elements)), element_shape)


def _gather(call: Call, elements: Elements, indices: Array, element_shape: Array) -> Array:
    items = [_set(call, elements, int(place), element_shape) for place in np.asarray(indices)]
    return np.stack(items) if items else np.zeros((0, *(_shape(element_shape) or ())), _dtype(call))


def _push_back(call: Call, elements: Elements, item: Array) -> Elements:
    return [*elements, item]


def _pop_back(call: Call, elements: Elements, element_shape: Array) -> tuple[Elements, Array]:
    return elements[:-1], _set(call, elements, len(elements) - 1, element_shape)


def _length(call: Call, elements: Elements) -> Array:
    return np.array(len(elements), np.int32)


def _resize(call: Call, elements: Elements, count: Array) -> Elements:
    size = int(count)
    return [*elements[:size], *[None] * (size - len(elements))]


def _scatter(call: Call, tensor: Array, indices: Array, *rest: Array) -> Elements:
    places = np.asarray(indices).tolist()
    count = int(rest[1]) if len(rest) > 1 and int(rest[1]) >= 0 else max(places, default=-1) + 1
    elements: Elements = [_unset(call, rest[0])] * count
    for place, item in zip(places, tensor, strict=True):
        elements[place] = item
    return elements


def _scatter_into(call: Call, elements: Elements, tensor: Array, indices: Array) -> Elements:
    changed = list(elements)
    for place, item in zip(np.asarray(indices).tolist(), tensor, strict=True):
        changed += [None] * (place + 1 - len(changed))
        changed[place] = item
    return changed


def _concat(call: Call, elements: Elements, *rest: Array) -> tuple[Array, Array]:
    items: Sequence[Any] = [np.asarray(item) for item in elements]
    lengths = np.array([len(item) for item in items], np.int64)
    if items:
        return np.concatenate(items), lengths
    shape = _shape(np.asarray(rest[0])[1:]) if rest and np.ndim(rest[0]) else None
    return np.zeros((0, *(shape or ())), _dtype(call)), lengths


def _split(call: Call, tensor: Array, element_shape: Array, lengths: Array) -> Elements:
    return list(np.split(tensor, np.cumsum(lengths)[:-1])) if np.size(lengths) else []


def _join(call: Call, one: Elements, other: Elements) -> Elements:
    return [*one, *other]


LISTS: dict[str, Callable[..., Any]] = {
    "EmptyTensorList": _empty,
    "TensorListReserve": _reserve,
    "TensorListFromTensor": _from_tensor,
    "TensorListSetItem": _set_item,
    "TensorListGetItem": _get_item,
    "TensorListStack": _stack,
    "TensorListGather": _gather,
    "TensorListPushBack": _push_back,
    "TensorListPopBack": _pop_back,
    "TensorListLength": _length,
    "TensorListResize": _resize,
    "TensorListScatter": _scatter,
    "TensorListScatterV2": _scatter,
    "TensorListScatterIntoExistingList": _scatter_into,
    "TensorListConcat": _concat,
    "TensorListConcatV2": _concat,
    "TensorListSplit": _split,
    "TensorListConcatLists": _join,
}
"""Every operator on lists that loops are made of."""


def computed_list(call: Call, *values: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """An operator on lists; it moves values, whatever their width."""
    results = LISTS[call.op](call, *values)
    return results if isinstance(results, tuple) else (results,)


def from_feed(value: Sequence[Any]) -> Elements:
    """A fed list; an element of shape (0,) stands for one that was never set."""
    arrays = [np.asarray(item) for item in value]
    return [None if array.shape == (0,) else array for array in arrays]


def to_fetch(elements: Elements, dtype: str | None) -> list[Array]:
    """A list as it is shown to whoever fetched it."""
    kind = numpy_dtype(dtype or "float64")
    return [np.zeros(0, kind) if item is None else np.asarray(item) for item in elements]
