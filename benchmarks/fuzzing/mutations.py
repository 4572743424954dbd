"""Changes of files: of their bytes, and of the structure that a reader follows.

A specimen is a model as its files by name, a single file or a folder. Every change draws from a
seeded generator alone, so the number of an input and the seed give it again.
"""

from __future__ import annotations

import io
import json
import random
import re
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Specimen = dict[str, bytes]

MOST_BYTES = 1 << 20
"""Of one file; changes that double a part do not let it grow further."""
ODD_NUMBERS = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 31,
    1 << 63,
    10**400,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "x",
    "\0",
    "\ud800",
    "../../canary",
    "/etc/passwd",
    "a" * 5000,
    [],
    {},
    [[]],
    [None],
    {"": None},
    [-1],
    [1 << 40, 1 << 40],
)
ODD_WORDS = (
    b"",
    b"\0",
    b"\xff",
    b"-1",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"9" * 5000,
    b"../../canary",
    b"/etc/passwd",
    b"%s%n",
    b"[" * 3000,
    b"{" * 3000,
    b"<a>" * 3000,
    b"\xed\xa0\x80",
)


def changed(specimen: Specimen, other: Specimen, draw: random.Random) -> Specimen:
    """The specimen with one to three changes; ``other`` lends bytes to it."""
    made = dict(specimen)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        names = sorted(made)
        # The first files decide; weights are only numbers.
        weights = [4 if _is_structure(name) else 1 for name in names]
        name = draw.choices(names, weights)[0]
        if len(names) > 1 and draw.random() < 0.05:
            made.pop(name)
            if not made:
                made[name] = b""
            continue
        donor = other[draw.choice(sorted(other))]
        made[name] = member_changed(name, made[name], donor, draw)[:MOST_BYTES]
    return made


def member_changed(name: str, data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """One file with one change; of its structure where its kind is known."""
    structural = STRUCTURAL.get(kind_of(name, data))
    if structural is not None and draw.random() < 0.6:
        try:
            return structural(data, donor, draw)
        except Exception:
            pass  # an earlier change has broken the structure
    return bytes_changed(data, donor, draw)


def kind_of(name: str, data: bytes) -> str:
    """What structure a file has, by its beginning and its name."""
    suffix = name.rpartition(".")[2].lower()
    if data.startswith(b"PK\x03\x04"):
        return "zip"
    if data.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if data.startswith(b"\x93NUMPY"):
        return "npy"
    if suffix in {"onnx", "pb", "mlmodel"}:
        return "protobuf"
    if suffix in {"tflite", "pte", "jax"}:
        return "flatbuffer"
    if suffix in {"json", "toml", "xml", "safetensors"}:
        return suffix
    return "bytes"


def _is_structure(name: str) -> bool:
    return name.rpartition(".")[2] not in {"bin", "data-00000-of-00001", "index"}


# Bytes


def bytes_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """Cut, lost, doubled, moved, borrowed, overwritten, or with numbers put into it."""
    made = bytearray(data)
    if not made:
        return donor[: draw.randrange(1, 64)]
    place = draw.randrange(len(made))
    if draw.random() < 0.4:
        place = draw.randrange(min(len(made), 128))
    count = min(len(made) - place, draw.choice((1, 2, 4, 8, 16, 64)))
    match draw.randrange(9):
        case 0:
            del made[place:]
        case 1:
            del made[place : place + count]
        case 2:
            made[place:place] = made[place : place + count] * draw.choice((1, 1, 2, 200))
        case 3:
            made[place : place + count] = draw.choice((b"\0", b"\xff", b"\x80")) * count
        case 4:
            start = draw.randrange(len(donor) or 1)
            made[place : place + count] = donor[
                start : start + draw.choice((count, 4 * count, 500))
            ]
        case 5:
            made[place:place] = draw.choice(ODD_WORDS)
        case 6:
            form = draw.choice(("<H", "<I", "<Q", ">H", ">I", ">Q"))
            size = struct.calcsize(form)
            number = draw.choice((*ODD_NUMBERS, len(made), place, len(made) - 1))
            made[place : place + size] = struct.pack(form, number & (1 << 8 * size) - 1)
        case _:
            for _ in range(draw.randint(1, 6)):
                made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
    return bytes(made)


# Trees: JSON, and what is written as JSON


def json_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """A value, a key or a branch of the tree changed."""
    tree = json.loads(data)
    if isinstance(tree, dict) and "digest" in tree and "schema" in tree and draw.random() < 0.8:
        return _sealed(tree, draw)
    return json.dumps(tree_changed(tree, draw)).encode("utf-8", "surrogatepass")


def tree_changed(tree: Any, draw: random.Random) -> Any:
    """The tree with one value replaced, lost, doubled, renamed, nested or moved."""
    places = [place for place in _places(tree) if place]
    if not places:
        return draw.choice(ODD_VALUES)
    *way, last = draw.choice(places)
    holder = tree
    for step in way:
        holder = holder[step]
    action = draw.random()
    if action < 0.6:
        holder[last] = _odd_like(holder[last], draw)
    elif action < 0.7:
        del holder[last]
    elif action < 0.8 and isinstance(holder, dict):
        holder[draw.choice((f"{last}s", "", "\0", "../../canary", "__class__"))] = holder.pop(last)
    elif action < 0.87:
        nested: Any = holder[last]
        for _ in range(draw.choice((1, 50, 3000))):
            nested = [nested] if draw.random() < 0.5 else {"a": nested}
        holder[last] = nested
    elif isinstance(holder, list):
        holder[last:last] = [holder[last]] * draw.choice((1, 2, 500))
    else:
        *other, key = draw.choice(places)
        source = tree
        for step in other:
            source = source[step]
        holder[last] = json.loads(json.dumps(source[key]))
    return tree


def _odd_like(value: Any, draw: random.Random) -> Any:
    """A number near, or one that means something; a word from elsewhere."""
    if isinstance(value, bool) or draw.random() < 0.5:
        return draw.choice(ODD_VALUES)
    if isinstance(value, int):
        return draw.choice((value + 1, -value, value * 1000, 1 << 62, -1, value / 2, str(value)))
    if isinstance(value, str):
        return draw.choice(
            (
                value + "\0",
                value[::-1],
                value * 50,
                value[:1],
                f"../{value}",
                draw.choice(ODD_WORDS).decode("latin-1"),
            )
        )
    return draw.choice(ODD_VALUES)


def _places(tree: Any, place: tuple[Any, ...] = (), depth: int = 0) -> list[tuple[Any, ...]]:
    found = [place]
    if depth < 40 and isinstance(tree, (dict, list)):
        for key, child in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found += _places(child, (*place, key), depth + 1)
    return found


def _sealed(tree: dict[str, Any], draw: random.Random) -> bytes:
    """An index of a trace with other content and the digest of that content."""
    from isomorph.store.trace_index import write_index

    schema = tree.pop("schema")
    tree.pop("digest")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "index.json"
        write_index(path, schema, tree_changed(tree, draw))
        return path.read_bytes()


def safetensors_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """The header changed and its length with it, or the length alone."""
    (length,) = struct.unpack_from("<Q", data)
    header, rest = data[8 : 8 + length], data[8 + length :]
    if draw.random() < 0.3:
        return struct.pack("<Q", draw.choice((*ODD_NUMBERS, length + 1, len(data)))) + data[8:]
    made = json_changed(header, donor, draw)
    return struct.pack("<Q", len(made)) + made + rest


def npy_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """The literal in the header with another value, and its length corrected."""
    (length,) = struct.unpack_from("<H", data, 8)
    made = _token_changed(data[10 : 10 + length], draw)
    return data[:8] + struct.pack("<H", len(made) & 0xFFFF) + made + data[10 + length :]


# Text


def toml_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """A line lost, doubled or moved, or a value replaced."""
    lines = data.split(b"\n")
    place = draw.randrange(len(lines))
    match draw.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines[place:place] = [lines[place]] * draw.choice((1, 300))
        case 2:
            lines.insert(draw.randrange(len(lines)), draw.choice(donor.split(b"\n")))
        case 3:
            key, sign, _ = lines[place].partition(b"= ")
            lines[place] = key + (sign or b" = ") + draw.choice(_TOML_VALUES)
        case _:
            lines[place] = _token_changed(lines[place], draw)
    return b"\n".join(lines)


_TOML_VALUES = (
    b'""',
    b'"\\u0000"',
    b'"*"',
    b'"**/*"',
    b'"/etc/*"',
    b'"../../canary"',
    b"-1",
    b"9" * 5000,
    b"1e400",
    b"nan",
    b"true",
    b"[]",
    b"{}",
    b"[[]]",
    b"[" * 3000,
    b"{a=" * 2000,
    b"1979-05-27T07:32:00Z",
    b'"a:b"',
    b'"[!"',
    b'"' + b"a" * 5000 + b'"',
    b'"{stem}"',
    b'"{stem.__class__}"',
    b"0x7fffffffffffffffffff",
    b"9999-12-31",
    b"00:00:00",
)


def xml_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """An attribute, an element or a run of them changed."""
    if draw.random() < 0.6:
        found = list(re.finditer(rb'="([^"]*)"', data))
        one = draw.choice(found)
        borrowed = draw.choice(found)[1]
        word = draw.choice(
            (borrowed, draw.choice(ODD_WORDS[:10]), b"%d" % draw.choice(ODD_NUMBERS))
        )
        return data[: one.start(1)] + word.replace(b"\0", b"") + data[one.end(1) :]
    found = list(re.finditer(rb"<[^>]*>", data))
    one, other = draw.choice(found), draw.choice(found)
    start, end = sorted((one.start(), other.end()))
    match draw.randrange(4):
        case 0:
            return data[: one.start()] + data[one.end() :]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:end] + data[start:end] + data[end:]
        case _:
            return data[: one.start()] + other[0] + data[one.end() :]


def _token_changed(text: bytes, draw: random.Random) -> bytes:
    found = list(re.finditer(rb"[\w.]+|[^\w\s]", text))
    if not found:
        return draw.choice(ODD_WORDS)
    one = draw.choice(found)
    word = draw.choice(
        (draw.choice(found)[0], draw.choice(ODD_WORDS), b"%d" % draw.choice(ODD_NUMBERS))
    )
    return text[: one.start()] + word + text[one.end() :]


# Protobuf


def protobuf_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """One field at any depth changed, lost, doubled or moved; all lengths around it are right."""
    fields = _message(data)
    if not fields:
        raise ValueError("no message")
    _field_changed(fields, draw, 0)
    return _encoded(fields)


def _field_changed(fields: list[list[Any]], draw: random.Random, depth: int) -> None:
    place = draw.randrange(len(fields))
    number, wire, value = fields[place]
    inner = _message(value) if wire == 2 and depth < 30 else None
    if inner and draw.random() < 0.8:
        _field_changed(inner, draw, depth + 1)
        fields[place][2] = _encoded(inner)
        return
    action = draw.random()
    if action < 0.15:
        del fields[place]
    elif action < 0.25:
        fields[place:place] = [list(fields[place]) for _ in range(draw.choice((1, 2, 300)))]
    elif action < 0.35:
        fields[place][0] = draw.choice((number + 1, max(1, number - 1), 1, 20, 1 << 20))
    elif action < 0.4 and wire == 2:
        for _ in range(draw.choice((1, 20, 200))):  # a message in itself
            fields[place][2] = _encoded([[number, 2, fields[place][2]]])
    elif action < 0.45:
        fields[place][1] = draw.choice((0, 1, 2, 5))
        fields[place][2] = (
            1 if fields[place][1] == 0 else bytes({1: 8, 5: 4}.get(fields[place][1], 3))
        )
    elif wire == 0:
        fields[place][2] = draw.choice((*ODD_NUMBERS, value + 1, value ^ 1, draw.randrange(64)))
    elif wire == 2:
        others = [each[2] for each in fields if each[1] == 2]
        fields[place][2] = draw.choice(
            (
                draw.choice(ODD_WORDS),
                draw.choice(others),
                value[:-1],
                value + value,
                bytes_changed(value, value, draw),
            )
        )
    else:
        fields[place][2] = bytes(draw.randrange(256) for _ in value)


def _message(data: bytes) -> list[list[Any]] | None:
    """The fields of a message; None where the bytes are none."""
    fields, at = [], 0
    while at < len(data):
        key, at = _read_varint(data, at)
        if at < 0 or key >> 3 == 0:
            return None
        wire = key & 7
        if wire == 0:
            value, at = _read_varint(data, at)
            if at < 0:
                return None
            fields.append([key >> 3, 0, value])
            continue
        if wire == 2:
            size, at = _read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire, -1)
        if at < 0 or size < 0 or at + size > len(data):
            return None
        fields.append([key >> 3, wire, data[at : at + size]])
        at += size
    return fields


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7
    return 0, -1


def _encoded(fields: list[list[Any]]) -> bytes:
    parts = []
    for number, wire, value in fields:
        parts.append(_varint(number << 3 | wire))
        if wire == 0:
            parts.append(_varint(value))
        else:
            parts += [_varint(len(value)), value] if wire == 2 else [value]
    return b"".join(parts)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


# Flatbuffers


def flatbuffer_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """One aligned number, which may be an offset, a size or an entry of a table, replaced."""
    made = bytearray(data)
    if draw.random() < 0.6:
        place = 4 * draw.randrange(len(made) // 4)
        (value,) = struct.unpack_from("<I", made, place)
        source = 4 * draw.randrange(len(made) // 4)
        (other,) = struct.unpack_from("<I", made, source)
        number = draw.choice(
            (
                *ODD_NUMBERS,
                value + 4,
                value - 4,
                value + 1,
                other,
                source - place,
                len(made) - place,
                -place,
            )
        )
        struct.pack_into("<I", made, place, number & 0xFFFFFFFF)
    elif draw.random() < 0.6:
        place = 2 * draw.randrange(len(made) // 2)
        (value,) = struct.unpack_from("<H", made, place)
        number = draw.choice((0, 4, 6, 8, value + 2, value - 2, 0xFFFF, draw.randrange(64)))
        struct.pack_into("<H", made, place, number & 0xFFFF)
    else:
        place = draw.randrange(len(made))
        made[place] = draw.randrange(256) if draw.random() < 0.5 else draw.randrange(32)
    return bytes(made)


# Archives and databases


def zip_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """A member changed with its checksum, renamed, doubled, lost, packed, or its record altered."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    place = draw.randrange(len(members))
    name, content = members[place]
    packed, action = zipfile.ZIP_STORED, draw.random()
    if action < 0.7:
        members[place] = name, member_changed(name, content, donor, draw)
    elif action < 0.78:
        folder = name.rpartition("/")[0]
        odd = draw.choice(
            ("../../canary", "/canary", name.upper(), f"{folder}/x.json", "\0", "a" * 300)
        )
        members[place] = odd, content
    elif action < 0.84:
        del members[place]
    elif action < 0.9:
        members.append((f"{name}{draw.choice(('2', '.json', '.pkl', '.npy'))}", content))
    else:
        packed = draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packed) as archive:
        for each, inside in members:
            archive.writestr(zipfile.ZipInfo(each, (1980, 1, 1, 0, 0, 0)), inside, packed)
    whole = bytearray(made.getvalue())
    if draw.random() < 0.15:  # a size or a place in the directory that is not true
        start = whole.find(b"PK\x01\x02") + draw.choice((8, 10, 16, 20, 24, 28, 30, 42))
        whole[start : start + 4] = struct.pack("<I", draw.choice(ODD_NUMBERS) & 0xFFFFFFFF)
    return bytes(whole)


def sqlite_changed(data: bytes, donor: bytes, draw: random.Random) -> bytes:
    """A value, a table or the number of the layout changed by SQL."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        path.write_bytes(data)
        index = sqlite3.connect(path, isolation_level=None)
        try:
            columns = [row[1] for row in index.execute("PRAGMA table_info(cells)")]
            word = draw.choice(
                (
                    None,
                    -1,
                    1e308,
                    "",
                    "x",
                    "../../canary.json",
                    "/etc/passwd",
                    b"\xff\x00",
                    "done",
                    2**62,
                )
            )
            match draw.randrange(6):
                case 0:
                    index.execute(f"PRAGMA user_version = {draw.choice((0, 1, 2, 99))}")
                case 1:
                    index.execute(f"DROP TABLE {draw.choice(('cells', 'digests'))}")
                case 2:
                    index.execute(
                        f"ALTER TABLE cells RENAME COLUMN {draw.choice(columns)} TO other"
                    )
                case _:
                    index.execute(f"UPDATE cells SET {draw.choice(columns)} = ?", (word,))
        finally:
            index.close()
        return path.read_bytes()


STRUCTURAL: Mapping[str, Callable[[bytes, bytes, random.Random], bytes]] = {
    "json": json_changed,
    "safetensors": safetensors_changed,
    "npy": npy_changed,
    "toml": toml_changed,
    "xml": xml_changed,
    "protobuf": protobuf_changed,
    "flatbuffer": flatbuffer_changed,
    "zip": zip_changed,
    "sqlite": sqlite_changed,
}
