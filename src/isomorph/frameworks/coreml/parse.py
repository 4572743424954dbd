"""From the bytes of a specification to an ML program, without the classes of protobuf."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.coreml.program import (
    Array,
    MilBlock,
    MilOperation,
    MilType,
    MilValue,
)
from isomorph.kernels.packed_storage import decoded, stored_bytes
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.protobuf import BYTES, VARINT, BrokenWireError, Field, fields

ML_PROGRAM = 502
OLD_FORMATS = {
    300: "a linear model", 301: "a support vector machine", 302: "a tree ensemble",
    303: "a neural network of the old format", 400: "a linear model",
    401: "a support vector machine", 402: "a tree ensemble",
    403: "a neural network of the old format", 404: "a nearest-neighbor classifier",
    200: "a pipeline", 201: "a pipeline", 202: "a pipeline",
    500: "a neural network of the old format",
}  # fmt: skip
"""The kinds of model that a specification may hold instead of a program, by field."""
_DTYPES = {
    1: "bool", 2: "string", 10: "float16", 11: "float32", 12: "float64", 13: "bfloat16",
    21: "int8", 22: "int16", 23: "int32", 24: "int64", 25: "int4", 31: "uint8", 32: "uint16",
    33: "uint32", 34: "uint64", 35: "uint4", 36: "uint2", 37: "uint1", 38: "uint6", 39: "uint3",
    40: "float8_e4m3fn", 41: "float8_e5m2",
}  # fmt: skip
_KINDS = {2: "sequence", 3: "tuple", 4: "map", 5: "state"}
_DEEPEST = 32
"""Blocks inside blocks; MIL nests one for each loop or branch."""


@dataclass(slots=True, kw_only=True)
class Specification:
    """What a model file holds: the kind of model, its interface, and the program."""

    version: int = 0
    kinds: tuple[int, ...] = ()
    functions: dict[str, Function] = field(default_factory=dict)
    default_function: str = ""
    outputs: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function: its inputs and the block of the newest operator set."""

    opset: str
    inputs: tuple[tuple[str, MilType], ...]
    block: MilBlock


def parse(data: bytes, *, file: str) -> Specification:
    """Read a whole specification; what is cut off or contradicts itself is an error."""
    reader = _Reader(data)
    try:
        return reader.specification()
    except (BrokenWireError, _CutOffError) as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED", "the Core ML specification is cut off or damaged",
            file=file, where=f"byte {error.offset} of {len(data)}",
            fix="convert or copy the model again",
        ) from error  # fmt: skip
    except (ValueError, OverflowError, TypeError) as error:
        raise UnreadableModelError(
            "INVALID_GRAPH", "the Core ML specification contradicts itself:", file=file,
            why=str(error),
        ) from error  # fmt: skip


def top_fields(head: bytes) -> Iterator[Field]:
    """The fields of a specification as far as its first bytes show them."""
    try:
        yield from fields(head, 0, len(head))
    except BrokenWireError:
        return


class _CutOffError(Exception):
    def __init__(self, offset: int) -> None:
        self.offset = offset
        super().__init__(f"cut off at byte {offset}")


class _Reader:
    """One method for each message, named after it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def specification(self) -> Specification:
        found = Specification()
        kinds = []
        for each in self._fields(0, len(self._data)):
            if each.number == 1 and each.wire == VARINT:
                found.version = each.value
            elif each.number == 2:
                self._description(each, found)
            elif each.number >= 200:
                kinds.append(each.number)
                if each.number == ML_PROGRAM:
                    self._program(each, found)
        found.kinds = tuple(kinds)
        return found

    def _description(self, span: Field, found: Specification) -> None:
        outputs, images = [], []
        for each in self._inside(span):
            if each.number == 10:
                outputs.append(self._named(each))
            elif each.number == 1 and any(f.number == 4 for f in self._feature_type(each)):
                images.append(self._named(each))
            elif each.number == 20:
                pass  # of several functions each describes itself; the default one is read
            elif each.number == 21:
                found.default_function = self._text(each)
            elif each.number == 100:
                self._metadata(each, found)
        found.outputs, found.images = tuple(outputs), tuple(images)

    def _metadata(self, span: Field, found: Specification) -> None:
        words = {1: "description", 2: "version", 3: "author", 4: "license"}
        for each in self._inside(span):
            if each.number in words and each.wire == BYTES:
                found.metadata[words[each.number]] = self._text(each)
            elif each.number == 100:
                key, value = self._entry(each)
                if value is not None:
                    found.metadata[key] = self._text(value)

    def _program(self, span: Field, found: Specification) -> None:
        for each in self._inside(span):
            if each.number == 2:
                name, value = self._entry(each)
                if value is not None:
                    found.functions[name] = self._function(value)

    def _function(self, span: Field) -> Function:
        inputs, opset, blocks = [], "", {}
        for each in self._inside(span):
            if each.number == 1:
                inputs.append(self._named_type(each))
            elif each.number == 2:
                opset = self._text(each)
            elif each.number == 3:
                name, value = self._entry(each)
                if value is not None:
                    blocks[name] = value
        if opset not in blocks:
            raise ValueError(f"the function has no block for its operator set {opset!r}")
        return Function(opset=opset, inputs=tuple(inputs), block=self._block(blocks[opset], 0))

    def _block(self, span: Field, depth: int) -> MilBlock:
        if depth > _DEEPEST:
            raise ValueError(f"blocks are nested more than {_DEEPEST} levels deep")
        inputs, outputs, operations = [], [], []
        for each in self._inside(span):
            if each.number == 1:
                inputs.append(self._named_type(each))
            elif each.number == 2:
                outputs.append(self._text(each))
            elif each.number == 3:
                operations.append(self._operation(each, depth))
        return MilBlock(inputs=tuple(inputs), outputs=tuple(outputs), operations=tuple(operations))

    def _operation(self, span: Field, depth: int) -> MilOperation:
        kind, inputs, outputs, blocks, attributes = "", {}, [], [], {}
        for each in self._inside(span):
            if each.number == 1:
                kind = self._text(each)
            elif each.number == 2:
                name, value = self._entry(each)
                inputs[name] = self._argument(value) if value is not None else ()
            elif each.number == 3:
                outputs.append(self._named_type(each))
            elif each.number == 4:
                blocks.append(self._block(each, depth + 1))
            elif each.number == 5:
                name, value = self._entry(each)
                if value is not None:
                    attributes[name] = self._value(value)
        stated = attributes.get("name")
        name = stated.data if stated is not None and isinstance(stated.data, str) else ""
        return MilOperation(
            type=kind,
            name=name or (outputs[0][0] if outputs else kind),
            inputs=inputs,
            outputs=tuple(outputs),
            attributes=attributes,
            blocks=tuple(blocks),
        )

    def _argument(self, span: Field) -> tuple[str | MilValue, ...]:
        found: list[str | MilValue] = []
        for each in self._inside(span):
            for part in self._inside(each):
                if part.number == 1:
                    found.append(self._text(part))
                elif part.number == 2:
                    found.append(self._value(part))
        return tuple(found)

    def _value(self, span: Field) -> MilValue:
        kind, data, file, offset = None, None, "", 0
        immediate = None
        for each in self._inside(span):
            if each.number == 2:
                kind = self._type(each)
            elif each.number == 3:
                immediate = each
            elif each.number == 5:
                for part in self._inside(each):
                    if part.number == 1:
                        file = self._text(part)
                    elif part.number == 2:
                        offset = part.value
        if kind is None:
            raise ValueError("a value has no type")
        if immediate is not None:
            data = self._immediate(immediate, kind)
        elif not file:
            raise ValueError("a value is neither stored nor found in a file")
        return MilValue(type=kind, data=data, file=file, offset=offset, span=(span.start, span.end))

    def _immediate(self, span: Field, kind: MilType) -> Array | str | None:
        if kind.kind != "tensor" or kind.dtype is None:
            return ""  # a list or a dictionary, which no operator that is read here has
        shape = kind.shape or ()
        if any(size is None for size in shape):
            raise ValueError("a stored value has no size")
        sizes = tuple(size or 0 for size in shape)
        count = math.prod(sizes)
        for tensor in self._inside(span):
            for each in self._inside(tensor) if tensor.number == 1 else ():
                return self._tensor(each, kind.dtype, sizes, count)
        return _filled((), kind.dtype, sizes, count)

    def _tensor(self, span: Field, dtype: str, sizes: tuple[int, ...], count: int) -> Array | str:
        parts = [each for each in self._inside(span) if each.number == 1]
        if span.number == 4:
            words = [self._text(each) for each in parts]
            if not sizes:
                return words[0] if words else ""
            return _filled(words, "string", sizes, count)
        if span.number == 7:
            raw = b"".join(self._data[each.start : each.end] for each in parts)
            if len(raw) != stored_bytes(dtype, sizes):
                raise ValueError(f"{len(raw)} bytes for {count} numbers of {dtype}")
            return decoded(np.frombuffer(raw, np.uint8), dtype, sizes)
        if span.number in (1, 6):
            wide = "<f4" if span.number == 1 else "<f8"
            raw = b"".join(self._data[each.start : each.end] for each in parts)
            if len(raw) % np.dtype(wide).itemsize:
                raise _CutOffError(span.end)
            return _filled(np.frombuffer(raw, wide), dtype, sizes, count)
        numbers: list[int] = []
        for each in parts:
            numbers += [each.value] if each.wire == VARINT else self._varints(each)
        return _filled([_signed(each) for each in numbers], dtype, sizes, count)

    def _varints(self, span: Field) -> list[int]:
        found, at = [], span.start
        while at < span.end:
            value = shift = 0
            while True:
                if at >= span.end or shift > 63:
                    raise _CutOffError(at)
                byte = self._data[at]
                value |= (byte & 0x7F) << shift
                at, shift = at + 1, shift + 7
                if byte < 0x80:
                    break
            found.append(value)
        return found

    def _type(self, span: Field) -> MilType:
        for each in self._inside(span):
            if each.number == 1:
                return self._tensor_type(each)
            if each.number in _KINDS:
                return MilType(dtype=None, shape=None, kind=_KINDS[each.number])
        return MilType(dtype=None, shape=None, kind="nothing")

    def _tensor_type(self, span: Field) -> MilType:
        dtype: str | None = None
        shape: list[int | None] = []
        variadic = False
        for each in self._inside(span):
            if each.number == 1:
                if each.value not in _DTYPES:
                    raise ValueError(f"element type {each.value} is unknown")
                dtype = _DTYPES[each.value]
            elif each.number == 3:
                for part in self._inside(each):
                    inner = list(self._inside(part))
                    if part.number == 1:
                        shape.append(inner[0].value if inner else 0)
                    else:
                        shape.append(None)
                        variadic = variadic or any(f.value for f in inner)
        return MilType(dtype=dtype, shape=None if variadic else tuple(shape))

    def _named_type(self, span: Field) -> tuple[str, MilType]:
        name, kind = "", MilType(dtype=None, shape=None, kind="nothing")
        for each in self._inside(span):
            if each.number == 1:
                name = self._text(each)
            elif each.number == 2:
                kind = self._type(each)
        return name, kind

    def _named(self, span: Field) -> str:
        return next((self._text(each) for each in self._inside(span) if each.number == 1), "")

    def _feature_type(self, span: Field) -> list[Field]:
        for each in self._inside(span):
            if each.number == 3:
                return list(self._inside(each))
        return []

    def _entry(self, span: Field) -> tuple[str, Field | None]:
        key, value = "", None
        for each in self._inside(span):
            if each.number == 1:
                key = self._text(each)
            elif each.number == 2:
                value = each
        return key, value

    def _text(self, span: Field) -> str:
        if span.wire != BYTES:
            raise ValueError("a number stands where text is expected")
        return self._data[span.start : span.end].decode("utf-8", "replace")

    def _inside(self, span: Field) -> Iterator[Field]:
        if span.wire != BYTES:
            raise ValueError("a number stands where a message is expected")
        return self._fields(span.start, span.end)

    def _fields(self, start: int, end: int) -> Iterator[Field]:
        for each in fields(self._data, start, end):
            if each.end > end:
                raise _CutOffError(each.at)
            yield each


def _filled(numbers: Any, dtype: str, sizes: tuple[int, ...], count: int) -> Array:  # noqa: ANN401
    """The numbers in their type and shape."""
    held = np.asarray(numbers)
    if held.size != count:
        raise ValueError(f"{held.size} numbers for a tensor of {count}")
    kind = np.dtype(object) if dtype == "string" else numpy_dtype(dtype)
    return held.astype(kind).reshape(sizes)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
