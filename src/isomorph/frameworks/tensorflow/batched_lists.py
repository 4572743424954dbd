"""Sets the batch in the element shapes of TensorLists that leave it open.

A recurrent layer collects its steps in such a list, and the shape of its elements is a constant
that was written when the layer was traced. TFLite has lists of one known shape alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from isomorph.frameworks.tensorflow.program import TfProgram

_LISTS = "TensorList"


def with_sized_lists(program: TfProgram, batch: int) -> TfProgram:
    """The same program; an element shape that leaves only its first axis open has the batch there.

    That the open axis is the batch is a guess; the proof of the conversion is made on the result.
    """
    definition = deepcopy(program.graph_def)
    scopes: list[Sequence[Any]] = [definition.node]
    scopes += [function.node_def for function in definition.library.function]
    for scope in scopes:
        for constant in _element_shapes(scope):
            shape = tf.make_ndarray(constant.attr["value"].tensor).copy()
            if shape.ndim == 1 and shape.size and shape[0] < 0 and np.all(shape[1:] >= 0):
                shape[0] = batch
                constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(shape))
    return replace(program, graph_def=definition)


def _element_shapes(scope: Sequence[Any]) -> Iterator[Any]:
    """Constants of one graph or function that lists read and nobody else does."""
    readers: dict[str, set[str]] = {}
    for node in scope:
        for word in node.input:
            readers.setdefault(word.partition(":")[0], set()).add(node.op)
    for node in scope:
        used = readers.get(node.name, set())
        if node.op == "Const" and used and all(op.startswith(_LISTS) for op in used):
            yield node
