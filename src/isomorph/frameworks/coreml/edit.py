"""Edits of an ML program: numbers of constants, and parameters that the file stores as values.

The specification is rebuilt around the values that change; every other byte stays as it is. A
number in a weight file is written in its place, in a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.patch import Patch, SetAttribute, SetConstant
from isomorph.frameworks.coreml.blobs import BlobFile, sizes_of
from isomorph.frameworks.coreml.lowering import LoweredGraph, LoweredNode, lowered
from isomorph.frameworks.coreml.package import reparsed
from isomorph.frameworks.coreml.program import Array, MilProgram, MilValue
from isomorph.kernels.packed_storage import PACKED, encoded
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.protobuf import fields
from isomorph.store.protobuf_writer import nested, rebuilt, varint

_PAYLOADS = {"float32": (1, "<f4"), "int32": (2, ""), "bool": (3, ""), "float64": (6, "<f8")}
"""Where numbers inside the specification stand by their type; bytes of any other stand in 7."""


@dataclass(slots=True, kw_only=True)
class Edits:
    """What changes: values inside the specification by their place, and numbers in files."""

    messages: dict[tuple[int, int], bytes] = field(default_factory=dict)
    numbers: dict[tuple[str, int], tuple[MilValue, Array]] = field(default_factory=dict)


def edits_of(program: MilProgram, patch: Patch) -> Edits:
    """The changes of a patch; one that the format cannot hold is refused with the reason."""
    graph, edits = lowered(program), Edits()
    for edit in patch.edits:
        if isinstance(edit, SetConstant):
            _set(program, edits, _constant(graph, edit.tensor), np.asarray(edit.value))
        elif isinstance(edit, SetAttribute):
            _set_attribute(program, graph, edits, edit)
        else:
            kind = type(edit).__name__
            raise _impossible(f"an ML program takes no {kind}", "only its values are edited")
    return edits


def patched_data(program: MilProgram, edits: Edits) -> bytes:
    """The specification with its changed values."""
    data = program.data
    return rebuilt(data, 0, len(data), edits.messages) if edits.messages else data


def patched_weights(program: MilProgram, edits: Edits) -> dict[str, bytes]:
    """The weight files with their changed numbers, by the names that values use."""
    files: dict[str, bytearray] = {}
    for (name, _), (value, array) in edits.numbers.items():
        path = program.weights[name]
        raw = files.setdefault(name, bytearray(path.read_bytes()))
        start, size = BlobFile(path, str(path)).place(value)
        raw[start : start + size] = encoded(array, str(value.type.dtype))
    return {name: bytes(raw) for name, raw in files.items()}


def applied(program: MilProgram, patch: Patch) -> tuple[bytes, dict[str, bytes]]:
    """The specification and the changed weight files of a patched model."""
    edits = edits_of(program, patch)
    return patched_data(program, edits), patched_weights(program, edits)


def applied_in_memory(program: MilProgram, patch: Patch) -> MilProgram:
    """The patched program in memory."""
    return patched_program(program, edits_of(program, patch))


def patched_program(program: MilProgram, edits: Edits) -> MilProgram:
    """The program in memory, with its changed values and numbers."""

    def read(value: MilValue) -> Array:
        changed = edits.numbers.get((value.file, value.offset))
        return changed[1] if changed is not None else program.read(value)

    return replace(reparsed(program, patched_data(program, edits)), read=read)


def _constant(graph: LoweredGraph, name: str) -> MilValue:
    value = graph.constants.get(name)
    for node in graph.nodes if value is None else ():
        for key, body in node.bodies.items():
            inside = f"{node.name}/{key}#0/"
            if name.startswith(inside):
                return _constant(body, name.removeprefix(inside))
    if value is None:
        raise UsageError("PATCH_UNKNOWN_NAME", f"the program has no constant {name!r}")
    if not isinstance(value, MilValue):
        raise _impossible(f"constant {name!r} is packed in the file", "its parts are not edited")
    return value


def _set_attribute(
    program: MilProgram, graph: LoweredGraph, edits: Edits, edit: SetAttribute
) -> None:
    node = next((each for each in graph.nodes if each.name == edit.node), None)
    if node is None:
        raise UsageError("PATCH_UNKNOWN_NAME", f"the program has no operation {edit.node!r}")
    stored = {
        parameter: (value, wanted)
        for parameter, wanted in _parameters(node, edit).items()
        if (value := _stored(program, node, parameter)) is not None and wanted is not None
    }
    if not stored:
        raise _impossible(
            f"the file states no {edit.name!r} of {edit.node!r}",
            "it follows from other parameters, or is a default",
        )
    for parameter, (value, number) in stored.items():
        if _readers(program, node, parameter) > 1:
            raise _impossible(f"other operations read {parameter!r} of {edit.node!r} as well", "")
        wanted = np.asarray(number).reshape(-1)
        if parameter == "pad":
            wanted = wanted.reshape(2, -1).T.reshape(-1)  # ends of each axis side by side
        _set(program, edits, value, wanted)


def _parameters(node: LoweredNode, edit: SetAttribute) -> Mapping[str, Any]:
    """The parameters of the file that an attribute comes from, with their new values."""
    spelled = node.meaning.spelled.get(edit.name)
    if spelled is not None:
        return spelled.get(str(edit.value), {})
    parameter = node.meaning.origins.get(edit.name)
    return {} if parameter is None else {parameter: edit.value}


def _stored(program: MilProgram, node: LoweredNode, parameter: str) -> MilValue | None:
    given = node.operation.inputs.get(parameter, ())
    if not given:
        return node.operation.attributes.get(parameter)
    if isinstance(given[0], MilValue):
        return given[0]
    return _constants(program).get(given[0])


def _constants(program: MilProgram) -> Mapping[str, MilValue]:
    return {
        each.outputs[0][0]: each.attributes["val"]
        for each in program.block.operations
        if each.type == "const" and "val" in each.attributes
    }


def _readers(program: MilProgram, node: LoweredNode, parameter: str) -> int:
    given = node.operation.inputs.get(parameter, ())
    return sum(
        given[:1] == other[:1] and isinstance(given[0], str)
        for each in program.block.operations
        for other in each.inputs.values()
        if given
    )


def _set(program: MilProgram, edits: Edits, value: MilValue, wanted: Array) -> None:
    dtype, sizes = str(value.type.dtype), sizes_of(value)
    if dtype == "string" and wanted.dtype.kind == "U" and wanted.size == 1:
        _replace(program, edits, value, 4, str(wanted[0]).encode())
        return
    if (
        dtype == "string"
        or wanted.dtype.kind not in "fiub"
        or wanted.size != int(np.prod(sizes, dtype=object))
    ):
        raise _impossible(f"{wanted.size} numbers do not fit a {dtype} of sizes {sizes}", "")
    kind = (
        np.dtype(np.uint8) if dtype.startswith("uint") and dtype in PACKED else numpy_dtype(dtype)
    )
    array = np.asarray(wanted.reshape(sizes)).astype(kind)
    if value.file:
        edits.numbers[value.file, value.offset] = value, array
        return
    place, layout = _PAYLOADS.get(dtype, (7, "raw"))
    if layout == "raw":
        raw = encoded(array, dtype)
    elif layout:
        raw = array.astype(layout).tobytes()
    else:
        raw = b"".join(varint(int(each)) for each in array.reshape(-1))
    _replace(program, edits, value, place, raw)


def _replace(program: MilProgram, edits: Edits, value: MilValue, place: int, raw: bytes) -> None:
    """Another payload for a value that stands in the specification."""
    start, end = value.span
    kept = b"".join(
        program.data[each.at : each.end]
        for each in fields(program.data, start, end)
        if each.number != 3
    )
    edits.messages[start, end] = kept + nested(3, nested(1, nested(place, nested(1, raw))))


def _impossible(what: str, why: str) -> UsageError:
    return UsageError(
        "PATCH_NOT_POSSIBLE", what, why=why or None, fix="convert the model again with the change"
    )
