"""Raises the operator set where an edit needs an operator or attribute that the model's own lacks.

ONNX's converter writes every other node as the newer set wants it. Whether it did so faithfully is
not taken on trust: the repaired model is measured like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import onnx
from onnx import helper, version_converter

from isomorph.core import patch as edits
from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.schemas import schema
from isomorph.frameworks.onnx.scope import domain_of

if TYPE_CHECKING:
    from isomorph.core.patch import Edit

_STUB = 1024
"""Initializers of more bytes than this wait outside while the converter works."""


def in_turn(
    wanted: Sequence[Edit], ops: Mapping[str, tuple[str, str]], version: int
) -> tuple[list[Edit], int, list[Edit]]:
    """The edits that this operator set allows, the set that the rest needs, and the rest.

    ``ops`` are the nodes by name: domain and operator. Order is kept: what follows an edit that
    has to wait may build on it.
    """
    now: list[Edit] = []
    later: list[Edit] = []
    kinds = dict(ops)
    target = version
    for edit in wanted:
        needed = _needed(edit, kinds, version)
        later_name = getattr(edit, "node", None) in {getattr(e, "name", None) for e in later}
        (later if needed > version or later_name else now).append(edit)
        target = max(target, needed)
    return now, target, later


def _needed(edit: Edit, kinds: dict[str, tuple[str, str]], version: int) -> int:
    """The oldest operator set, from this one on, in which the edit means something."""
    match edit:
        case edits.RaiseOpset():
            return max(edit.version, version)
        case edits.SetAttribute(node=node, name=name, value=value) if value is not None:
            stated, places = {name: value}, 0
        case edits.SetInput(node=node, index=index, tensor=tensor) if tensor:
            stated, places = {}, index + 1
        case edits.SetOp(node=node, op=op, attributes=attributes):
            kinds[node] = _kind(op)
            stated, places = dict(attributes), 0
        case (
            edits.InsertAhead(name=node, op=op, inputs=inputs, attributes=attributes)
            | edits.InsertBehind(name=node, op=op, inputs=inputs, attributes=attributes)
            | edits.AddNode(name=node, op=op, inputs=inputs, attributes=attributes)
        ):
            kinds[node] = _kind(op)
            stated, places = dict(attributes), len(inputs)
        case _:
            return version
    domain, op = kinds.get(node, ("?", ""))
    if domain:
        return version  # only the default domain has operator sets that a converter knows
    fitting = (v for v in _versions(op, version) if _accepts(op, v, stated, places))
    return next(fitting, version)


def _kind(op: str) -> tuple[str, str]:
    domain, _, name = op.rpartition("::")
    return domain, name


@cache
def _since(op: str) -> tuple[int, ...]:
    every = onnx.defs.get_all_schemas_with_history()
    return tuple(
        sorted(each.since_version for each in every if each.name == op and each.domain == "")
    )


def _versions(op: str, version: int) -> Iterator[int]:
    yield version
    yield from (each for each in _since(op) if each > version)


def _accepts(op: str, version: int, stated: Mapping[str, Any], places: int) -> bool:
    """Whether the operator of this set has these attributes, words and so many inputs."""
    known = schema("", op, version)
    if known is None or known.deprecated or places > known.max_input:
        return False
    return all(
        name in known.attributes and _has_word(op, known.attributes[name], name, value)
        for name, value in stated.items()
    )


def _has_word(op: str, attribute: Any, name: str, value: Any) -> bool:  # noqa: ANN401
    """Whether the page of the attribute names this word, if the page of any set does."""
    if not isinstance(value, str):
        return True
    pages = [schema("", op, version) for version in _since(op)]
    named = [
        _names(page.attributes[name].description, value)
        for page in pages
        if page is not None and name in page.attributes
    ]
    return not any(named) or _names(attribute.description, value)


def _names(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def raise_opset(proto: Any, version: int) -> None:  # noqa: ANN401
    """Write the model of a proto, in place, as this operator set wants it."""
    waiting = _stub(proto.graph)
    notes = {_key(node): list(node.metadata_props) for node in proto.graph.node}
    known = {value.name for value in proto.graph.value_info}
    try:
        raised = version_converter.convert_version(proto, version)
    except Exception as error:
        # The converter raises whatever its C++ throws, and an operator without a rule is enough.
        raise UsageError(
            "PATCH_OPSET",
            f"the model cannot be raised to operator set {version}",
            why=str(error).splitlines()[0] if str(error) else type(error).__name__,
            fix="export the model with that operator set, and repair it again",
        ) from error
    finally:
        _put_back(proto.graph, waiting)
    _put_back(raised.graph, waiting)
    for node in raised.graph.node:
        if not node.metadata_props:
            node.metadata_props.extend(notes.get(_key(node), ()))
    # What the converter declares of its own tensors is not always so.
    kept = [value for value in raised.graph.value_info if value.name in known]
    copies = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in kept]
    del raised.graph.value_info[:]
    raised.graph.value_info.extend(copies)
    least = helper.find_min_ir_version_for(raised.opset_import, ignore_unknown=True)
    proto.ir_version = max(proto.ir_version, least)
    proto.graph.CopyFrom(raised.graph)
    for entry in proto.opset_import:
        if domain_of(entry) == "":
            entry.version = version


def _key(node: Any) -> tuple[str, str]:  # noqa: ANN401
    return node.op_type, node.name or (node.output[0] if node.output else "")


def _stub(graph: Any) -> dict[str, Any]:  # noqa: ANN401
    """Large weights out of the graph, each replaced by a note that they lie elsewhere."""
    waiting = {}
    for tensor in graph.initializer:
        empty = {field.name for field, _ in tensor.ListFields()} <= {"name", "data_type", "dims"}
        if empty or tensor.ByteSize() > _STUB:
            waiting[tensor.name] = onnx.TensorProto.FromString(tensor.SerializeToString())
            name, kind, sizes = tensor.name, tensor.data_type, list(tensor.dims)
            tensor.Clear()
            tensor.name, tensor.data_type = name, kind
            tensor.dims.extend(sizes)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="elsewhere")
    return waiting


def _put_back(graph: Any, waiting: Mapping[str, Any]) -> None:  # noqa: ANN401
    for tensor in graph.initializer:
        if tensor.name in waiting:
            tensor.CopyFrom(waiting[tensor.name])
