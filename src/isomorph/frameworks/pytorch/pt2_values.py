"""The values that a .pt2 archive spells in JSON: sizes, names, and the arguments of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from isomorph.frameworks.pytorch.program import Ref

DTYPES: Mapping[int, Any] = {
    1: torch.uint8,
    2: torch.int8,
    3: torch.int16,
    4: torch.int32,
    5: torch.int64,
    6: torch.float16,
    7: torch.float32,
    8: torch.float64,
    10: torch.complex64,
    11: torch.complex128,
    12: torch.bool,
    13: torch.bfloat16,
}
_FORMATS: Mapping[int, Any] = {
    1: torch.contiguous_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
    4: torch.preserve_format,
}
_LAYOUTS: Mapping[int, Any] = {7: torch.strided}


class Unknown(Exception):  # noqa: N818 - no failure, but the reason to ask torch
    """Something that is not read here."""


def refuse_elsewhere(value_data: Mapping[str, Any]) -> None:
    """Only strided tensors of the CPU are read here."""
    if value_data["layout"] not in _LAYOUTS or value_data["device"]["type"] != "cpu":
        raise Unknown("a tensor that is sparse, or elsewhere")


def sizes(value_data: Sequence[Mapping[str, Any]]) -> list[int]:
    """Sizes or strides, all of them numbers."""
    found = [each.get("as_int") for each in value_data]
    if any(type(each) is not int for each in found):
        raise Unknown("a size that is no number")
    return [each for each in found if each is not None]


def named(value_data: Mapping[str, Any]) -> str:
    """The name of a tensor where nothing but a tensor may stand."""
    if list(value_data) != ["as_tensor"]:
        raise Unknown("something else than a tensor")
    return str(value_data["as_tensor"]["name"])


def argument(value_data: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """One argument of an operator, with a ``Ref`` for each tensor."""
    ((kind, value),) = value_data.items()
    if kind == "as_none":
        return None
    if kind not in _READ:
        raise Unknown(f"an argument of kind {kind}")
    return _READ[kind](value)


def _ref(value: Mapping[str, Any]) -> Ref:
    return Ref(str(value["name"]))


def _device(value: Mapping[str, Any]) -> torch.device:
    if value["type"] != "cpu" or value["index"] is not None:
        raise Unknown("another device")
    return torch.device("cpu")


def _float(value: Any) -> float:  # noqa: ANN401
    if type(value) not in {int, float} and value not in {"Infinity", "-Infinity", "NaN"}:
        raise Unknown(f"{value!r} for a number")
    return float(value)


def _just(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:  # noqa: ANN401
        if type(value) is not kind:
            raise Unknown(f"{value!r} where {kind.__name__} is expected")
        return value

    return read


def _each(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: [read(value) for value in values]


_READ: Mapping[str, Callable[[Any], Any]] = {
    "as_tensor": _ref,
    "as_tensors": _each(_ref),
    "as_optional_tensors": _each(argument),
    "as_int": _just(int),
    "as_ints": _each(_just(int)),
    "as_bool": _just(bool),
    "as_bools": _each(_just(bool)),
    "as_string": _just(str),
    "as_strings": _each(_just(str)),
    "as_float": _float,
    "as_floats": _each(_float),
    "as_sym_int": lambda value: sizes([value])[0],
    "as_sym_ints": sizes,
    "as_scalar_type": DTYPES.__getitem__,
    "as_memory_format": _FORMATS.__getitem__,
    "as_layout": _LAYOUTS.__getitem__,
    "as_device": _device,
}
