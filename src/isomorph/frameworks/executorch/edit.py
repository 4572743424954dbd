"""A patch of an ExecuTorch program: other numbers and words in the places of those in the file.

Nothing moves in the file, so a patch changes the values of constants, of attributes and of grids,
and adds nothing.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core import patch as edits
from isomorph.core.editing import named, not_possible
from isomorph.frameworks.executorch.program import PteNode, PteProgram, PteTensor
from isomorph.kernels.packed_storage import encoded
from isomorph.kernels.quantized import limits
from isomorph.kernels.tflite.quantized import quanta
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.oracle.noise import Array


def patched_in_memory(program: PteProgram, patch: Patch) -> PteProgram:
    """The patched program; its file's bytes stay those of the original."""
    tensors, nodes = dict(program.tensors), {node.name: node for node in program.nodes}
    for edit in patch.edits:
        match edit:
            case edits.SetConstant(tensor=name):
                tensors[name] = _with_values(_stored(program, name), edit.value)
            case edits.SetAttribute(node=name):
                node = named(nodes, "node", name)
                nodes[name] = _with_attribute(node, edit.name, edit.value)
            case edits.SetQuantization(tensor=name):
                tensors[name] = _with_grid(named(tensors, "tensor", name), edit)
            case _:
                raise not_possible(f"an ExecuTorch program takes no edit {type(edit).__name__}")
    return replace(program, tensors=tensors, nodes=tuple(nodes.values()))


def patched(program: PteProgram, patch: Patch) -> bytes:
    """The bytes of a copy with the patch applied."""
    after = patched_in_memory(program, patch)
    data = bytearray(program.data)
    for edit in patch.edits:
        match edit:
            case edits.SetConstant(tensor=name):
                _write_constant(data, program, after.tensors[name])
            case edits.SetAttribute(node=name):
                value = next(each for each in after.nodes if each.name == name).attributes[
                    edit.name
                ]
                _write_numbers(data, program, (name, edit.name), value)
            case edits.SetQuantization(tensor=name, scale=scale, zero_point=zero):
                _write_numbers(data, program, (name, "scale"), scale)
                if (name, "zero_point") in program.places or any(zero):
                    _write_numbers(data, program, (name, "zero_point"), zero)
    return bytes(data)


def _stored(program: PteProgram, name: str) -> PteTensor:
    tensor = named(program.tensors, "tensor", name)
    if tensor.data is None:
        raise not_possible(f"{name!r} is computed, and no constant")
    return tensor


def _with_values(tensor: PteTensor, value: Any) -> PteTensor:  # noqa: ANN401
    array, sizes = np.asarray(value), tuple(size or 0 for size in tensor.shape)
    if array.size != int(np.prod(sizes)):
        raise not_possible(f"{array.size} values do not fit in the place of {list(sizes)}")
    array = array.reshape(sizes)
    if tensor.grid is not None and array.dtype.kind == "f":
        low, high = limits(tensor.grid.dtype) or (0, 0)
        array = np.clip(np.rint(quanta(array, tensor.grid)), low, high)
    return replace(tensor, data=memoryview(_bytes(tensor, array)))


def _bytes(tensor: PteTensor, array: Array) -> bytes:
    """The inverse of ``PteTensor.array``."""
    if tensor.bits == 4:
        wide = np.asarray(array).astype(np.int8) + 8
        padded = np.pad(wide, [(0, 0)] * (wide.ndim - 1) + [(0, wide.shape[-1] % 2)])
        return encoded(padded, "uint4")
    laid = np.transpose(array, tensor.order) if tensor.order else array
    return np.ascontiguousarray(laid.astype(numpy_dtype(tensor.dtype))).tobytes()


def _with_attribute(node: PteNode, word: str, value: Any) -> PteNode:  # noqa: ANN401
    if word not in node.attributes:
        raise not_possible(f"{node.name!r} states no {word!r}")
    fitted = _fitted(node.attributes[word], value)
    return replace(node, attributes={**node.attributes, word: fitted})


def _fitted(now: Any, value: Any) -> Any:  # noqa: ANN401
    """The value as what the attribute is."""
    if isinstance(now, tuple) and isinstance(value, (tuple, list)) and len(now) == len(value):
        return tuple(_fitted(old, new) for old, new in zip(now, value, strict=True))
    if isinstance(now, bool) and isinstance(value, (bool, int)):
        return bool(value)
    if isinstance(now, float) and isinstance(value, (int, float)):
        return float(value)
    if isinstance(now, int) and isinstance(value, (int, float)) and float(value).is_integer():
        return int(value)
    if isinstance(now, str) and isinstance(value, str) and len(now) == len(value.encode()):
        return value
    raise not_possible(f"the value {value!r} does not fit in the place of {now!r}")


def _with_grid(tensor: PteTensor, edit: edits.SetQuantization) -> PteTensor:
    grid = tensor.grid
    if grid is None or grid.block or edit.axis != grid.axis:
        raise not_possible(f"{tensor.name!r} has no grid of this kind")
    scale = np.asarray(edit.scale, np.float32).astype(np.float64).reshape(grid.scale.shape)
    zero = np.asarray(edit.zero_point, np.float64).reshape(grid.zero_point.shape)
    return replace(tensor, grid=replace(grid, scale=scale, zero_point=zero))


def _write_constant(data: bytearray, program: PteProgram, tensor: PteTensor) -> None:
    assert tensor.offset is not None, "a constant lies in the file"
    assert tensor.data is not None, "a constant has bytes"
    start, end = tensor.offset, tensor.offset + len(tensor.data)
    for name, other in program.tensors.items():
        if other.offset is None or other.data is None or name == tensor.name:
            continue
        if other.offset < end and start < other.offset + len(other.data):
            raise not_possible(f"the file stores {tensor.name!r} and {name!r} once")
    data[start:end] = tensor.data


def _write_numbers(
    data: bytearray,
    program: PteProgram,
    key: tuple[str, str],
    value: Any,  # noqa: ANN401
) -> None:
    places = program.places.get(key)
    numbers = value if isinstance(value, tuple) else (value,)
    if places is None or len(places) != len(numbers):
        raise not_possible(f"the file has no place for {key[1]!r} of {key[0]!r}: it is the default")
    for (form, place), number in zip(places, numbers, strict=True):
        stored = number.encode() if isinstance(number, str) else number
        struct.pack_into("<" + form, data, place, stored)
