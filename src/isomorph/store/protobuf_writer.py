"""Protobuf messages written without the message types: fields, and copies with other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isomorph.store.protobuf import BYTES, fields


def rebuilt(data: bytes, start: int, end: int, changed: Mapping[tuple[int, int], bytes]) -> bytes:
    """A message with other values inside; the lengths of all messages around them follow."""

    def parts() -> Iterator[bytes]:
        for each in fields(data, start, end):
            inside = [span for span in changed if each.start <= span[0] and span[1] <= each.end]
            if each.wire != BYTES or not inside:
                yield data[each.at : each.end]
            elif (each.start, each.end) in changed:
                yield nested(each.number, changed[each.start, each.end])
            else:
                inner = {span: changed[span] for span in inside}
                yield nested(each.number, rebuilt(data, each.start, each.end, inner))

    return b"".join(parts())


def nested(number: int, content: bytes) -> bytes:
    """A field that holds a message, a text or packed numbers."""
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """An integer, seven bits to a byte; a negative one in two's complement of 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
