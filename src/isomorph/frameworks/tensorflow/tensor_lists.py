"""TensorLists as lists of arrays: TensorFlow's loops collect and read their steps in them.

An element that was never set has no value. It is shown as an empty array of one axis, unless
the list fixes the shape of its elements: then it reads as zeros, as it does inside the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

_ANY_SHAPE = -1


def read_list(handle: Any, dtype: str) -> list[np.ndarray[Any, Any]]:  # noqa: ANN401
    """The elements of a TensorList."""
    kind = tf.dtypes.as_dtype(dtype)
    count = int(tf.raw_ops.TensorListLength(input_handle=handle))
    return [_element(handle, place, kind) for place in range(count)]


def _element(handle: Any, place: int, kind: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    try:
        item = tf.raw_ops.TensorListGetItem(
            input_handle=handle, index=place, element_shape=_ANY_SHAPE, element_dtype=kind
        )
    except tf.errors.InvalidArgumentError:
        return np.zeros((0,), kind.as_numpy_dtype)
    array: np.ndarray[Any, Any] = item.numpy()
    return np.asarray(array)


def make_list(elements: Sequence[Any], dtype: str) -> Any:  # noqa: ANN401
    """A TensorList with these elements, as a variant tensor."""
    kind = tf.dtypes.as_dtype(dtype)
    handle = tf.raw_ops.TensorListReserve(
        element_shape=_ANY_SHAPE, num_elements=len(elements), element_dtype=kind
    )
    for place, element in enumerate(elements):
        if np.shape(element) == (0,):
            continue
        handle = tf.raw_ops.TensorListSetItem(
            input_handle=handle, index=place, item=tf.constant(element, kind)
        )
    return handle
