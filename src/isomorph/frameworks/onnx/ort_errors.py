"""Errors of ONNX Runtime as errors of isomorph, with its own message as the reason."""

from __future__ import annotations

import re
from typing import Any

from isomorph.core.errors import IsomorphError, RuntimeFailedError, UnreadableModelError
from isomorph.frameworks.onnx.schemas import runtime_has
from isomorph.frameworks.onnx.scope import domain_of, label, walk
from isomorph.frameworks.onnx.validate import opsets, opsets_of, too_new, unsupported

_NO_KERNEL = re.compile(r"Could not find an implementation for (?P<op>\S+?)\((?P<version>\d+)\)")
_NO_OP = re.compile(r"(?P<domain>[\w.]+):(?P<op>\w+)\(-?\d+\) is not a registered function/op")
_RUNNING = re.compile(r"while running (?P<op>\S+) node\. Name:'(?P<name>[^']*)'")
_BYTES = re.compile(r"requested buffer of size (\d+)")
_MEMORY = ("bad_alloc", "bad allocation", "Failed to allocate memory", "out of memory")
_TOO_NEW = ("Unsupported model IR version", "is under development and support for this is limited")


def refuse_unknown(proto: Any, *, file: str) -> None:  # noqa: ANN401
    """Raise for operators of a domain that ONNX Runtime has never heard of."""
    local = {(domain_of(function), function.name) for function in proto.functions}
    parts = [(proto.graph.node, opsets(proto))]
    parts += [(function.node, opsets_of(function)) for function in proto.functions]
    for nodes, versions in parts:
        missing: dict[tuple[str, str], list[str]] = {}
        for node in walk(nodes):
            key = (domain_of(node), node.op_type)
            version = versions.get(key[0], 1)
            if key not in local and not runtime_has(*key, version):
                missing.setdefault(key, []).append(label(node))
        for (domain, op), names in missing.items():
            version = versions.get(domain, 0)
            raise unsupported(domain, op, version, names, file=file, by="ONNX Runtime")


def opening_failed(error: Exception, proto: Any, *, file: str) -> IsomorphError:  # noqa: ANN401
    """Why a session could not be created."""
    message = _message(error)
    kernel, unregistered = _NO_KERNEL.search(message), _NO_OP.search(message)
    if kernel is not None:
        return RuntimeFailedError(
            "UNSUPPORTED_OP",
            f"ONNX Runtime has no kernel for {kernel['op']}, version {kernel['version']}",
            file=file,
            where="nodes: " + ", ".join(_nodes(proto, kernel["op"])[:8]),
            why=message,
            fix="another element type or execution provider may have one (--set providers=…)",
        )
    if unregistered is not None:
        domain, op = unregistered["domain"], unregistered["op"]
        version = opsets(proto).get(domain, 0)
        return unsupported(domain, op, version, _nodes(proto, op), file=file, by="ONNX Runtime")
    if any(words in message for words in _TOO_NEW):
        versions = opsets(proto)
        return too_new(f"opset {versions.get('')}, IR version {proto.ir_version}", file=file)
    if any(words in message for words in _MEMORY):
        return RuntimeFailedError(
            "OUT_OF_MEMORY", "ONNX Runtime ran out of memory while opening", file=file, why=message
        )
    if type(error).__name__ == "InvalidProtobuf":
        return UnreadableModelError(
            "MODEL_TRUNCATED", "ONNX Runtime cannot parse the file", file=file, why=message
        )
    return RuntimeFailedError(
        "RUNTIME_REFUSED",
        "ONNX Runtime refuses the model",
        file=file,
        why=message,
        fix="the reason is ONNX Runtime's own; try --set optimization=none, or another runtime",
    )


def running_failed(error: Exception, *, file: str) -> IsomorphError:
    """Why a run did not finish."""
    message = _message(error)
    node, size = _RUNNING.search(message), _BYTES.search(message)
    where = f"node {node['name'] or node['op']!r} ({node['op']})" if node is not None else None
    name = node["name"] or None if node is not None else None
    if any(words in message for words in _MEMORY):
        asked = f", asking for {size[1]} bytes" if size is not None else ""
        return RuntimeFailedError(
            "OUT_OF_MEMORY",
            f"ONNX Runtime ran out of memory{asked}",
            file=file,
            where=where,
            why=message,
            fix="use smaller inputs, or raise --memory",
            node=name,
        )
    return RuntimeFailedError(
        "RUNTIME_FAILED",
        "ONNX Runtime failed while running",
        file=file,
        where=where,
        why=message,
        node=name,
    )


def _message(error: Exception) -> str:
    # The message opens with codes and the path of a C++ file; the sentence stands behind them.
    text = str(error).strip().replace("\n", " ")
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)


def _nodes(proto: Any, op: str) -> list[str]:  # noqa: ANN401
    return [label(node) for node in walk(proto.graph.node) if node.op_type == op]
