"""The bytes of an ONNX file, read as protobuf fields without the onnx package.

Two questions are answered here: could these bytes be a model at all, and, where the parser
refuses them, is that because the file ends too early or because it nests too deeply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# The fields of ModelProto: number → wire type.
_MODEL_FIELDS = {
    1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, 7: BYTES, 8: BYTES,
    14: BYTES, 20: BYTES, 25: BYTES, 26: BYTES,
}  # fmt: skip
_TEXTS = frozenset({2, 3, 4})
_IR_VERSION, _GRAPH = 1, 7

# Which fields lead to the next nested graph: message → field number → message.
_INSIDE = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {6: "graph", 11: "graph"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: its number, its wire type, and where its value lies."""

    number: int
    wire: int
    start: int
    end: int
    value: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """How deeply graphs nest, and the first byte at which the wire format breaks."""

    depth: int
    broken_at: int | None


class BrokenWireError(Exception):
    """The bytes from ``offset`` on are not protobuf."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        super().__init__(f"not protobuf from byte {offset} on")


def fields(data: bytes | memoryview, start: int, end: int) -> Iterator[Field]:
    """The fields between two offsets; the last may claim to end beyond ``end``."""
    at = start
    while at < end:
        key, value_at = _varint(data, at, end)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise BrokenWireError(at)
        if wire == VARINT:
            value, stop = _varint(data, value_at, end)
            yield Field(number=number, wire=wire, start=value_at, end=stop, value=value)
        elif wire == BYTES:
            size, value_at = _varint(data, value_at, end)
            stop = value_at + size
            yield Field(number=number, wire=wire, start=value_at, end=stop)
        elif wire in (FIXED64, FIXED32):
            stop = value_at + (8 if wire == FIXED64 else 4)
            yield Field(number=number, wire=wire, start=value_at, end=stop)
        else:
            raise BrokenWireError(at)
        at = stop


def looks_like_model(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is plausibly an ONNX model.

    Every field that lies in ``head`` must be one of ModelProto's, with its wire type, and text
    must be text; one of the IR version and the graph must be there. A file that was cut short
    still passes: it is a broken model, and not something else.
    """
    seen: set[int] = set()
    try:
        for field in fields(head, 0, len(head)):
            if _MODEL_FIELDS.get(field.number) != field.wire:
                return False
            if field.number in _TEXTS and not _is_text(head[field.start : field.end], field):
                return False
            if field.number == _IR_VERSION and not 0 < field.value < 1 << 31:
                return False
            seen.add(field.number)
    except BrokenWireError as error:
        # A head may end in the middle of a key or a length; anywhere else it is not protobuf.
        if error.offset < len(head) - 10:
            return False
    return bool(seen & {_IR_VERSION, _GRAPH})


def anatomy(data: bytes | memoryview) -> Anatomy:
    """Walk every nested graph, however deep; never recursive, so never out of stack."""
    depth, broken_at = 0, None
    waiting = [("model", 0, len(data), 0)]
    while waiting:
        message, start, end, level = waiting.pop()
        depth = max(depth, level)
        try:
            for field in _whole(fields(data, start, end), end):
                inside = _INSIDE[message].get(field.number) if field.wire == BYTES else None
                if inside is not None:
                    deeper = level + (inside == "graph")
                    waiting.append((inside, field.start, field.end, deeper))
        except BrokenWireError as error:
            broken_at = error.offset if broken_at is None else min(broken_at, error.offset)
    return Anatomy(depth=depth, broken_at=broken_at)


def _whole(found: Iterator[Field], end: int) -> Iterator[Field]:
    for field in found:
        if field.end > end:
            raise BrokenWireError(field.start)
        yield field


def _varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    start = at
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise BrokenWireError(start)


def _is_text(raw: bytes, field: Field) -> bool:
    # Names of producers are short. A SavedModel has a whole graph where ONNX has its producer.
    if field.end - field.start > 4096:
        return False
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(raw) < field.end - field.start and error.start > len(raw) - 4
    return text.isprintable()
