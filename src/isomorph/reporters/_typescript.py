"""The TypeScript types of a dataclass as its JSON spells it: what the page reads."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Literal

from isomorph.core.constraints import Keys
from isomorph.reporters._schema import alternatives, contained, field_docs, hints, summary

_HEAD = """\
// Generated from the dataclasses of the report and of the repair by `python docs/generate.py`.

/** A number; NaN and the infinities are spelled, since JSON has none. */
export type Real = number | "nan" | "inf" | "-inf";
"""
_PLAIN = {str: "string", bool: "boolean", int: "number", float: "Real", NoneType: "null"}


def typescript(*documents: type) -> str:
    """A module with one type for each dataclass and enum that the documents contain."""
    kinds = list(dict.fromkeys(each for document in documents for each in contained(document)))
    enums = dict.fromkeys(each for one in kinds for each in _enums_of(one))
    parts = [_HEAD, *(_enum(each) for each in enums), *(_interface(each) for each in kinds)]
    return "\n".join(parts)


def _enum(kind: type[Enum]) -> str:
    return f"export type {kind.__name__} = {_union(each.value for each in kind)};\n"


def _interface(kind: type) -> str:
    docs, kinds = field_docs(kind), hints(kind)
    lines = [f"/** {summary(kind)} */", f"export interface {kind.__name__} {{"]
    for each in fields(kind):
        if each.name in docs:
            lines.append(f"  /** {docs[each.name]} */")
        lines.append(f"  {each.name}: {_type(kinds[each.name])};")
    return "\n".join([*lines, "}", ""])


def _type(hint: Any) -> str:  # noqa: ANN401
    members = alternatives(hint)
    if len(members) > 1:
        return " | ".join(_type(each) for each in members)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint in (Any, object):
        return "unknown"
    if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum)):
        return hint.__name__
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated and isinstance(inner[1], Keys):
        return f"{{ {inner[1].name}: string }} & {_type(inner[0])}"
    if origin is Annotated:
        return "number" if inner[0] is float else _type(inner[0])
    if origin is Literal:
        return _union(inner)
    if origin is tuple:
        items = _type(inner[0])
        if inner[1:] != (Ellipsis,):
            return f"[{', '.join(_type(each) for each in inner)}]"
        return f"({items})[]" if " | " in items or " & " in items else f"{items}[]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Record<string, {_type(inner[1])}>"
    raise TypeError(f"a document has no form for {hint}")


def _union(values: Iterator[Any] | tuple[Any, ...]) -> str:
    return " | ".join(f'"{each}"' for each in values)


def _enums_of(kind: type) -> Iterator[type[Enum]]:
    for hint in hints(kind).values():
        yield from _enums_in(hint)


def _enums_in(hint: Any) -> Iterator[type[Enum]]:  # noqa: ANN401
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield hint
    for inner in typing.get_args(hint):
        yield from _enums_in(inner)
