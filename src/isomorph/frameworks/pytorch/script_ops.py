"""The operators of TorchScript: torch's own, and the few that are Python underneath."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from isomorph.frameworks.pytorch.program import Ref

ALIASES = frozenset(
    {"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional",
     "prim::TupleSlice", "prim::CopyToCUDA", "prim::Return"}
)  # fmt: skip
"""Nodes that give back what they are given, for the type checker's sake."""


def _slice(items: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:  # noqa: ANN401
    return items[start:end:step]


def _value(value: Any) -> Any:  # noqa: ANN401
    return value


# Generic over the type of their elements, so that torch.ops cannot call them from Python.
_PYTHON: dict[str, Callable[..., Any]] = {
    "aten::__getitem__.t": operator.getitem,
    "aten::__getitem__.Dict_str": operator.getitem,
    "aten::len.t": len,
    "aten::slice.t": _slice,
    "aten::add.t": operator.add,
    "aten::list.t": list,
    "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::__contains__.int_list": operator.contains,
    "prim::min.self_int": min,
    "prim::max.self_int": max,
    "script::value": _value,
}

_DTYPES = dict(
    enumerate(
        (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
         torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128,
         torch.bool, torch.qint8, torch.quint8, torch.qint32, torch.bfloat16)
    )
)  # fmt: skip
"""TorchScript stores types by their place in this list."""


def script_target(kind: str, schema: str | None) -> Callable[..., Any] | str:
    """The callable of a node; a word where nothing installed provides it."""
    qualified = (schema or kind).partition("(")[0]
    if qualified in _PYTHON:
        return _PYTHON[qualified]
    space, _, rest = qualified.partition("::")
    packet, _, overload = rest.partition(".")
    if not schema or schema == "(no schema)":
        return f"{space}.{rest}"
    try:
        target: Callable[..., Any] = getattr(
            getattr(getattr(torch.ops, space), packet), overload or "default"
        )
    except (AttributeError, RuntimeError):
        return f"{space}.{rest}"
    return target


def with_types(node: Any, arguments: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:  # noqa: ANN401
    """Arguments by place and by name, as the schema wants them; type codes become types."""
    target = script_target(node.kind(), node.schema())
    schema = getattr(target, "_schema", None)
    if schema is None:
        return tuple(arguments), {}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    # Arguments that are not given have their defaults.
    for declared, value in zip(schema.arguments, arguments, strict=False):
        typed = _typed(str(declared.type), declared.name, value)
        if declared.kwarg_only:
            kwargs[declared.name] = typed
        else:
            args.append(typed)
    return tuple(args), kwargs


def _typed(kind: str, name: str, value: Any) -> Any:  # noqa: ANN401
    # torch's Python binding shows ScalarType as int, so the name is the evidence.
    is_code = isinstance(value, int) and not isinstance(value, bool) and not isinstance(value, Ref)
    return _DTYPES.get(value, value) if is_code and name == "dtype" else value
