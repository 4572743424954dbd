"""Dataclasses as JSON and back, led by their fields and type hints: no class name, no pickle.

There are two forms. ``encode`` and ``decode`` lose nothing: what JSON cannot express (a tuple,
bytes, NaN, an array) becomes an object of one key, its mark, so a type is needed only to know
which dataclass to build. Worker processes and traces use them. ``to_document`` and
``from_document`` are for documents that other programs read: an object for a dataclass, a list
for a tuple, ``"nan"`` for NaN; the type hints determine how to read them back.
"""

from __future__ import annotations

import base64
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any, Literal

import numpy as np

from isomorph.store.dtypes import STRING, bytes_of, dtype_name, dtype_of, strings, words_of

Json = Any

_SPELLED = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
"""Numbers that JSON does not have, as a document spells them."""


def encode(value: Any) -> Json:  # noqa: ANN401
    """``value`` in the terms of JSON; TypeError for what is not plain data."""
    if isinstance(value, Enum):
        return encode(value.value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _encode_array(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        members = {item.name: encode(getattr(value, item.name)) for item in fields(value)}
        word = _edit_word(type(value))
        return {"fields": members} if word is None else {"edit": [word, members]}
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise TypeError(
        f"a {type(value).__module__}.{type(value).__qualname__} is not plain data; "
        "descriptions hold numbers, strings, bytes, arrays, lists and mappings of them"
    )


@cache
def _edit_word(kind: type) -> str | None:
    """The word of an edit; edits of a patch form a union, so each is written under its own."""
    if kind.__module__ != "isomorph.core.patch":
        return None
    from isomorph.core.patch import EDITS

    return next((word for word, edit in EDITS.items() if edit is kind), None)


def _encode_mapping(value: Mapping[Any, Any]) -> Json:
    if all(type(key) is str for key in value):
        return {"mapping": {key: encode(item) for key, item in value.items()}}
    return {"pairs": [[encode(key), encode(item)] for key, item in value.items()]}


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Json]], ...] = (
    (tuple, lambda value: {"tuple": [encode(item) for item in value]}),
    (list, lambda value: [encode(item) for item in value]),
    ((set, frozenset), lambda value: {"set": [encode(item) for item in sorted(value, key=repr)]}),
    (Mapping, _encode_mapping),
    ((bytes, bytearray), lambda value: {"bytes": base64.b64encode(value).decode("ascii")}),
    (complex, lambda value: {"complex": [encode(value.real), encode(value.imag)]}),
    (PurePath, str),
)


def _encode_array(value: np.ndarray[Any, Any] | np.generic) -> Json:
    array = np.asarray(value)
    dtype, shape = dtype_name(array.dtype), list(array.shape)
    entry: dict[str, Json] = {"dtype": dtype, "shape": shape}
    if dtype == STRING:
        entry["words"] = words_of(array)
    else:
        dtype_of(dtype)  # what cannot be read back must not be written
        entry["data"] = base64.b64encode(bytes_of(array)).decode("ascii")
    return {"array" if isinstance(value, np.ndarray) else "scalar": entry}


def decode(hint: Any, data: Json) -> Any:  # noqa: ANN401
    """The value that ``encode`` was given, with dataclasses as ``hint`` names them."""
    if isinstance(data, dict):
        ((mark, body),) = data.items()
        return _decode_marked(hint, mark, body)
    if isinstance(data, list):
        (inner,) = typing.get_args(_alternative(hint, list)) or (Any,)
        return [decode(inner, item) for item in data]
    if isinstance(hint, type) and issubclass(hint, (Enum, PurePath)):
        return hint(data)
    return data


def _decode_marked(hint: Any, mark: str, body: Json) -> Any:  # noqa: ANN401
    match mark:
        case "fields":
            return _decode_fields(_dataclass_in(hint), body)
        case "edit":
            word, members = body
            from isomorph.core.patch import EDITS

            return _decode_fields(EDITS[word], members)
        case "tuple":
            return _items(_alternative(hint, tuple), body, decode)
        case "mapping" | "pairs":
            key, item = typing.get_args(_alternative(hint, Mapping)) or (Any, Any)
            pairs = body.items() if mark == "mapping" else body
            return {decode(key, name): decode(item, value) for name, value in pairs}
        case _:
            return _READERS[mark](body)


def _decode_fields(kind: type, body: dict[str, Json]) -> Any:  # noqa: ANN401
    hints = _hints(kind)
    return kind(**{name: decode(hints[name], item) for name, item in body.items()})


def _items(hint: Any, body: list[Json], read: Callable[[Any, Json], Any]) -> tuple[Any, ...]:  # noqa: ANN401
    """The items of a tuple, each read by its own hint."""
    inner = typing.get_args(hint) or (Any, ...)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(read(inner[0], item) for item in body)
    return tuple(read(kind, item) for kind, item in zip(inner, body, strict=True))


def _decode_array(body: Json) -> np.ndarray[Any, Any]:
    shape = tuple(body["shape"])
    if body["dtype"] == STRING:
        return strings(body["words"], shape)
    # A copy, because a buffer of bytes can only be read.
    raw = np.frombuffer(base64.b64decode(body["data"]), dtype=np.uint8).copy()
    return raw.view(dtype_of(body["dtype"])).reshape(shape)


_READERS: dict[str, Callable[[Json], Any]] = {
    "float": float,
    "set": lambda body: frozenset(decode(Any, item) for item in body),
    "bytes": base64.b64decode,
    "complex": lambda body: complex(*(decode(float, item) for item in body)),
    "array": _decode_array,
    "scalar": lambda body: _decode_array(body)[()],
}


def to_document(value: Any) -> Json:  # noqa: ANN401
    """``value`` as a document shows it; what is not plain data is shown by its text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_document(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return to_document(value.value)
    if isinstance(value, Mapping):
        return {str(key): to_document(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(to_document(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [to_document(item) for item in value]
    # Numbers out of a framework's array become plain ones by tolist().
    if not isinstance(value, (str, int, float, bool, NoneType)) and hasattr(value, "tolist"):
        return to_document(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (str, int, float, NoneType)) else str(value)


def from_document(hint: Any, data: Json) -> Any:  # noqa: ANN401
    """A value of the type ``hint``; TypeError, ValueError or KeyError where ``data`` is none.

    Unknown fields are ignored, and missing ones have their default: a newer version may have
    added them.
    """
    kind, members = origin(hint), _alternatives(hint)[0]
    if kind is Any or (data is None and _optional(hint)):
        return data
    if isinstance(kind, type) and is_dataclass(kind):
        return _from_object(kind, data)
    if kind is float:
        return _SPELLED[data] if isinstance(data, str) else _float(data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is tuple:
        if not isinstance(data, list):
            raise TypeError(f"{data!r} is no list")
        return _items(members, data, from_document)
    if kind is Mapping:
        _, inner = typing.get_args(members) or (Any, Any)
        return {str(key): from_document(inner, item) for key, item in data.items()}
    if kind is Literal and data not in typing.get_args(members):
        raise ValueError(f"{data!r} is none of {', '.join(map(repr, typing.get_args(members)))}")
    if isinstance(kind, type) and not isinstance(data, kind):
        raise TypeError(f"{data!r} is no {kind.__name__}")
    return data


def _float(data: Json) -> float:
    try:
        return float(data)
    except OverflowError as error:  # an integer of hundreds of digits
        raise ValueError(str(error)) from error


def _from_object(kind: type, data: Json) -> Any:  # noqa: ANN401
    hints = _hints(kind)
    given = {name: from_document(hints[name], item) for name, item in data.items() if name in hints}
    missing = {
        each.name
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    } - set(given)
    if missing:
        raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(missing))}")
    return kind(**given)


@cache
def origin(hint: Any) -> Any:  # noqa: ANN401
    """The class of a hint: of an optional one, that of its value; of any other union, ``Any``."""
    alternatives = _alternatives(hint)
    if len(alternatives) > 1:
        return Any  # plain values, which are what JSON made of them
    found = typing.get_origin(alternatives[0]) or alternatives[0]
    return Mapping if isinstance(found, type) and issubclass(found, Mapping) else found


@cache
def _dataclass_in(hint: Any) -> type:  # noqa: ANN401
    for item in _alternatives(hint):
        if isinstance(item, type) and is_dataclass(item):
            return item
    raise ValueError(f"a dataclass came where {hint} was expected")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _alternatives(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return tuple(item for item in typing.get_args(hint) if item is not NoneType)
    return (hint,)


@cache
def _optional(hint: Any) -> bool:  # noqa: ANN401
    """Whether a hint allows None."""
    return hint is NoneType or NoneType in typing.get_args(hint)


@cache
def _alternative(hint: Any, origin: type) -> Any:  # noqa: ANN401
    """The one of a union's members that is a tuple, list or mapping, as the data showed."""
    for item in _alternatives(hint):
        found = typing.get_origin(item)
        if isinstance(found, type) and issubclass(found, origin):
            return item
    return Any
