"""The bytes of an ONNX file, read as protobuf fields without the onnx package.

Two questions are answered here: could these bytes be a model at all, and, where the parser
refuses them, is that because the file ends too early or because it nests too deeply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isomorph.store.protobuf import BYTES, VARINT, BrokenWireError, Field, fields

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
class Anatomy:
    """How deeply graphs nest, and the first byte at which the wire format breaks."""

    depth: int
    broken_at: int | None


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


def _is_text(raw: bytes, field: Field) -> bool:
    # Names of producers are short. A SavedModel has a whole graph where ONNX has its producer.
    if field.end - field.start > 4096:
        return False
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(raw) < field.end - field.start and error.start > len(raw) - 4
    return text.isprintable()
