"""One operator of TensorFlow, computed by TensorFlow itself, as declared or in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager import execute as eager
from tensorflow.python.framework import kernels, op_def_registry
from tensorflow.python.framework.errors_impl import OpError

from isomorph.core.errors import RuntimeFailedError, message_lines
from isomorph.oracle.noise import Array

WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64",
         "complex64": "complex128"}  # fmt: skip
"""What the oracle computes in instead of a declared type."""


def execute(
    op: str,
    attributes: Mapping[str, Any],
    arrays: Sequence[Any],
    outputs: int,
    *,
    wide: bool,
) -> tuple[Any, ...]:
    """The operator's outputs; ``wide`` rewrites the float types among its attributes."""
    with tf.device("/CPU:0"):
        tensors = [_tensor(array) for array in arrays]
        attrs = _native_attributes(op, attributes, wide=wide)
        ctx = context.context()
        ctx.ensure_initialized()
        results = eager.execute(op.encode(), outputs, tensors, attrs, ctx) if outputs else []
    return tuple(_array(result) for result in results)


def failed(node: str, op: str, error: Exception) -> RuntimeFailedError:
    """The error for a node that could not be computed."""
    message = error.message if isinstance(error, OpError) else str(error)
    lines = message_lines(message)
    return RuntimeFailedError(
        "NODE_FAILED",
        "the oracle could not compute a node",
        where=f"{node} ({op})",
        why=lines[0][:300] if lines else type(error).__name__,
        fix="check the shapes and attributes of this node's inputs",
        node=node,
    )


def _tensor(array: Any) -> Any:  # noqa: ANN401
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return tf.constant(array, dtype=tf.string)
    return tf.constant(array)


def _array(tensor: Any) -> Array:  # noqa: ANN401
    # A tensor without axes comes out as a bare number or word.
    value = tensor.numpy()
    return np.asarray(value, object) if tensor.dtype == tf.string else np.asarray(value)


def _native_attributes(op: str, attributes: Mapping[str, Any], *, wide: bool) -> tuple[Any, ...]:
    """Names and values in turn, as TensorFlow's own wrappers hand them over."""
    flat: list[Any] = []
    for name, kind in _attribute_kinds(op):
        value = attributes.get(name)
        if kind == "type":
            flat += [name, _number(value, wide=wide)]
        elif kind == "list(type)":
            flat += [name, [_number(item, wide=wide) for item in value or ()]]
        elif kind in {"list(int)", "list(float)", "list(string)", "list(bool)", "list(shape)"}:
            flat += [name, list(value or ())]
        elif kind not in {"func", "list(func)", "tensor", "list(tensor)"}:
            flat += [name, value]
    return tuple(flat)


@cache
def _attribute_kinds(op: str) -> tuple[tuple[str, str], ...]:
    declared = op_def_registry.get(op)
    return () if declared is None else tuple((attr.name, attr.type) for attr in declared.attr)


def _number(dtype: Any, *, wide: bool) -> int:  # noqa: ANN401
    name = WIDER.get(dtype, dtype) if wide else dtype
    return int(tf.dtypes.as_dtype(name).as_datatype_enum)


def has_wide_kernel(op: str, attributes: Mapping[str, Any]) -> bool:
    """Whether TensorFlow computes this operator in float64 on the CPU.

    An operator with an input or output that is float32 whatever its attributes does not.
    """
    types = {name: attributes.get(name) for name, kind in _attribute_kinds(op) if "type" in kind}
    return _has_wide_kernel(op, tuple(types.items()))


@cache
def _has_wide_kernel(op: str, types: tuple[tuple[str, Any], ...]) -> bool:
    declared = op_def_registry.get(op)
    if declared is None:
        return False
    arguments = (*declared.input_arg, *declared.output_arg)
    narrow = {tf.float32.as_datatype_enum, tf.float16.as_datatype_enum}
    if any(argument.type in narrow for argument in arguments):
        return False
    return any(
        kernel.device_type in {"CPU", "DEFAULT"}
        and all(_allows(constraint, dict(types)) for constraint in kernel.constraint)
        for kernel in kernels.get_registered_kernels_for_op(op).kernel
    )


def _allows(constraint: Any, types: Mapping[str, Any]) -> bool:  # noqa: ANN401
    allowed = set(constraint.allowed_values.list.type)
    value = types.get(constraint.name)
    if not allowed or value is None:
        return True
    given = value if isinstance(value, tuple) else (value,)
    return {_number(each, wide=True) for each in given} <= allowed


def absolute(array: Any) -> Any:  # noqa: ANN401
    """Sizes of real or complex numbers; integers are indices and sizes, and stay."""
    if isinstance(array, np.ndarray) and array.dtype.kind in "fc":
        return np.abs(array).astype(array.dtype)
    return array
