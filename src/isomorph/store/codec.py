"""Our own nouns as JSON and back, led by their type hints: no class name crosses, no pickle.

``encode`` marks what JSON cannot express (a tuple, bytes, NaN, an array) with an object of one
key, so ``decode`` needs a type only to know which dataclass to build.
"""

from __future__ import annotations

import base64
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any

import numpy as np

from isomorph.store.dtypes import STRING, bytes_of, dtype_name, dtype_of, strings, words_of

Json = Any


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
        return {"fields": {item.name: encode(getattr(value, item.name)) for item in fields(value)}}
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise TypeError(
        f"a {type(value).__module__}.{type(value).__qualname__} is not plain data; "
        "descriptions hold numbers, strings, bytes, arrays, lists and mappings of them"
    )


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
            kind = _dataclass_in(hint)
            hints = _hints(kind)
            return kind(**{name: decode(hints[name], item) for name, item in body.items()})
        case "tuple":
            return tuple(_decode_items(_alternative(hint, tuple), body))
        case "mapping" | "pairs":
            key, item = typing.get_args(_alternative(hint, Mapping)) or (Any, Any)
            pairs = body.items() if mark == "mapping" else body
            return {decode(key, name): decode(item, value) for name, value in pairs}
        case _:
            return _READERS[mark](body)


def _decode_items(hint: Any, body: list[Json]) -> list[Any]:  # noqa: ANN401
    inner = typing.get_args(hint) or (Any, ...)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return [decode(inner[0], item) for item in body]
    return [decode(kind, item) for kind, item in zip(inner, body, strict=True)]


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
def _alternative(hint: Any, origin: type) -> Any:  # noqa: ANN401
    """The one of a union's members that is a tuple, list or mapping, as the data showed."""
    for item in _alternatives(hint):
        found = typing.get_origin(item)
        if isinstance(found, type) and issubclass(found, origin):
            return item
    return Any
