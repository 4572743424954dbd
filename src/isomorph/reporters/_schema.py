"""The JSON Schema of a dataclass: its fields, their type hints and docstrings."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal

from isomorph.core.constraints import Bounds, Keys

Schema = dict[str, Any]

REAL = {
    "description": "A number; NaN and the infinities are spelled, since JSON has none.",
    "anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}],
}
_PLAIN = {str: "string", bool: "boolean", int: "integer"}


def json_schema(kind: type, *, title: str, identity: str) -> Schema:
    """The schema of the document that ``kind`` is written as, with all that it contains."""
    document: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identity,
        "title": title,
        **_object(kind),
    }
    inner = [each for each in contained(kind) if each is not kind]
    document["$defs"] = {"Real": REAL, **{each.__name__: _object(each) for each in inner}}
    return document


def contained(kind: type) -> list[type]:
    """The dataclass and every one that it contains, in the order in which they are met."""
    found: list[type] = []

    def visit(each: type) -> None:
        if each not in found:
            found.append(each)
            for hint in hints(each).values():
                for inner in _dataclasses_in(hint):
                    visit(inner)

    visit(kind)
    return found


def hints(kind: type) -> dict[str, Any]:
    """The type hints of a dataclass, with their bounds."""
    return typing.get_type_hints(kind, include_extras=True)


def alternatives(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The members of a union; of any other hint, itself."""
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return typing.get_args(hint)
    return (hint,)


def field_docs(kind: type) -> dict[str, str]:
    """The strings below the fields of a dataclass, by field."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    body = typing.cast("ast.ClassDef", tree.body[0]).body
    return {
        field.target.id: " ".join(doc.value.value.split())
        for field, doc in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
        and isinstance(doc.value.value, str)
    }


def summary(kind: type) -> str:
    """The first sentence of the docstring."""
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


def _object(kind: type) -> Schema:
    docs, kinds = field_docs(kind), hints(kind)
    properties = {}
    for each in fields(kind):
        # The name and number of a schema are the one value that it may have.
        shape = {"const": each.default} if each.name == "schema" else _shape(kinds[each.name])
        doc = {"description": docs[each.name]} if each.name in docs else {}
        properties[each.name] = {**shape, **doc}
    return {
        "type": "object",
        "description": summary(kind),
        "additionalProperties": False,
        "required": sorted(properties),
        "properties": properties,
    }


def _shape(hint: Any) -> Schema:  # noqa: ANN401
    members = alternatives(hint)
    if len(members) > 1:
        return _either([_shape(each) for each in members])
    if typing.get_origin(hint) is Annotated:
        inner, constraint = typing.get_args(hint)
        if isinstance(constraint, Keys):
            named = {constraint.name: {"type": "string"}}
            return {**_shape(inner), "required": [constraint.name], "properties": named}
        return _bounded(inner, constraint)
    if hint is NoneType:
        return {"type": "null"}
    if hint is float:
        return {"$ref": "#/$defs/Real"}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint in (Any, object):
        return {}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [each.value for each in hint]}
    if is_dataclass(hint):
        return {"$ref": f"#/$defs/{typing.cast('type', hint).__name__}"}
    return _container(hint)


def _container(hint: Any) -> Schema:  # noqa: ANN401
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"enum": list(members)}
    if origin is tuple and members[1:] == (Ellipsis,):
        return {"type": "array", "items": _shape(members[0])}
    if origin is tuple and len(set(members)) == 1:
        size = len(members)
        return {"type": "array", "items": _shape(members[0]), "minItems": size, "maxItems": size}
    if isinstance(origin, type) and issubclass(origin, Mapping) and members[0] is str:
        values = _shape(members[1])
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    raise TypeError(f"a document has no form for {hint}")


def _either(shapes: list[Schema]) -> Schema:
    names = [each["type"] for each in shapes if set(each) == {"type"}]
    return {"type": names} if len(names) == len(shapes) else {"anyOf": shapes}


def _bounded(inner: Any, bounds: Bounds) -> Schema:  # noqa: ANN401
    shape = {"type": "number"} if inner is float else _shape(inner)
    least, most = ("minItems", "maxItems") if shape["type"] == "array" else ("minimum", "maximum")
    limits = {least: bounds.least, most: bounds.most}
    return {**shape, **{name: value for name, value in limits.items() if value is not None}}


def _dataclasses_in(hint: Any) -> Iterator[type]:  # noqa: ANN401
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for inner in typing.get_args(hint):
        if not isinstance(inner, (Bounds, Keys)):
            yield from _dataclasses_in(inner)
