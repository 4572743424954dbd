"""Is the graph one that could be run at all? Decided here, before any native code sees it."""

from __future__ import annotations

from typing import Any

import onnx

from isomorph.core.errors import IsomorphError, UnreadableModelError
from isomorph.frameworks.onnx.names import check_names
from isomorph.frameworks.onnx.schemas import is_known, runtime_limits, why_unknown
from isomorph.frameworks.onnx.scope import (
    bodies,
    cycle_through,
    domain_of,
    label,
    local_names,
    stored,
    topological,
    walk,
)

DEEPEST = 60
"""Graphs inside graphs beyond this are refused; the protobuf decoder gives up at about half."""


def validate(model: Any, *, file: str) -> None:  # noqa: ANN401
    """Raise for the first thing that makes the model unusable, whatever runtime is asked."""
    if not model.HasField("graph"):
        raise UnreadableModelError(
            "NO_GRAPH",
            "the model has no graph",
            file=file,
            why="an ONNX model holds one graph, and this file has the rest but not that",
            fix="export the model again",
        )
    check_names(model, file=file)
    _check_versions(model, file=file)
    _check_functions(model, file=file)
    _check_graph(model.graph, frozenset(), file=file, path="", depth=0)
    _check_ops(model, file=file)


def opsets(model: Any) -> dict[str, int]:  # noqa: ANN401
    """The imported version of each domain; files older than IR 3 mean opset 1."""
    found = {domain_of(entry): int(entry.version) for entry in model.opset_import}
    if model.ir_version < 3:
        found.setdefault("", 1)
    return found


def too_new(asked: str, *, file: str) -> IsomorphError:
    """The refusal of a version from the future, with what is supported by whom."""
    opset, ir = runtime_limits()
    ort_version = _version_of("onnxruntime")
    return UnreadableModelError(
        "OPSET_TOO_NEW",
        f"the model declares {asked}",
        file=file,
        why=f"onnx {onnx.__version__} supports opset {onnx.defs.onnx_opset_version()} and IR "
        f"{onnx.IR_VERSION}; onnxruntime {ort_version} supports opset {opset} and IR {ir}",
        fix="export with an older opset, or upgrade onnx and onnxruntime",
    )


def _version_of(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _check_versions(model: Any, *, file: str) -> None:  # noqa: ANN401
    if model.ir_version > onnx.IR_VERSION:
        raise too_new(f"IR version {model.ir_version}", file=file)
    newest = onnx.defs.onnx_opset_version()
    for imports in (model.opset_import, *(entry.opset_import for entry in model.functions)):
        for entry in imports:
            if domain_of(entry) == "" and entry.version > newest:
                raise too_new(f"opset {entry.version}", file=file)


def _check_functions(model: Any, *, file: str) -> None:  # noqa: ANN401
    calls = {
        (domain_of(function), function.name): [
            (domain_of(node), node.op_type) for node in walk(function.node)
        ]
        for function in model.functions
    }
    finished: set[tuple[str, str]] = set()
    for root, first in calls.items():
        chain, stack = [root], [iter(first)]
        while stack:
            callee = next(stack[-1], None)
            if callee is None:
                finished.add(chain.pop())
                stack.pop()
            elif callee in chain:
                names = [name for _, name in (*chain[chain.index(callee) :], callee)]
                raise UnreadableModelError(
                    "RECURSIVE_FUNCTION",
                    "a model-local function calls itself",
                    file=file,
                    where=" -> ".join(names),
                    why="ONNX functions are expanded where they are used, and this never ends",
                    fix="write the repetition as a Loop or Scan",
                )
            elif callee in calls and callee not in finished:
                chain.append(callee)
                stack.append(iter(calls[callee]))


def _check_graph(
    graph: Any,  # noqa: ANN401
    outer: frozenset[str],
    *,
    file: str,
    path: str,
    depth: int,
) -> None:
    if depth > DEEPEST:
        raise nesting_too_deep(depth, file=file)
    _check_single_assignment(graph, file=file, path=path)
    visible = outer | local_names(graph)
    for node in graph.node:
        for name in node.input:
            if name and name not in visible:
                raise _dangling(f"node {path}{label(node)!r} input {name!r}", file=file)
        for attribute, index, body in bodies(node):
            inner = f"{path}{label(node)}/{attribute}#{index}/"
            _check_graph(body, visible, file=file, path=inner, depth=depth + 1)
    for value in graph.output:
        if value.name not in visible:
            raise _dangling(f"output {path}{value.name!r}", file=file)
    _, stuck = topological(graph.node)
    if stuck:
        raise _cycle(graph, stuck, file=file, path=path)


def nesting_too_deep(depth: int, *, file: str) -> IsomorphError:
    """The refusal of graphs inside graphs inside graphs."""
    return UnreadableModelError(
        "NESTING_TOO_DEEP",
        f"graphs are nested {depth} deep",
        file=file,
        why="If, Loop and Scan bodies nest deeper than protobuf decoders accept (about 30)",
        fix="flatten the nested branches, or express the repetition as one Loop",
    )


def _check_single_assignment(graph: Any, *, file: str, path: str) -> None:  # noqa: ANN401
    writers: dict[str, str] = dict.fromkeys(stored(graph), "an initializer")
    for value in graph.input:
        # An input may share its name with an initializer: that is its default value.
        if writers.get(value.name, "an initializer") != "an initializer":
            raise _not_ssa(value.name, "two inputs", file=file, path=path)
        writers[value.name] = "an input"
    for node in graph.node:
        for name in node.output:
            if name and name in writers:
                both = f"{writers[name]} and node {label(node)!r}"
                raise _not_ssa(name, both, file=file, path=path)
            writers[name] = f"node {label(node)!r}"


def _not_ssa(name: str, both: str, *, file: str, path: str) -> IsomorphError:
    return UnreadableModelError(
        "NOT_SSA",
        f"tensor {path}{name!r} is written twice",
        file=file,
        where=both,
        why="every tensor of an ONNX graph has exactly one origin",
        fix="rename one of the two and its consumers",
    )


def _dangling(where: str, *, file: str) -> IsomorphError:
    return UnreadableModelError(
        "DANGLING_INPUT",
        "a tensor is used that nothing produces",
        file=file,
        where=where,
        why="no node, input or initializer in scope has this name",
        fix="export the model again; a weight was dropped or a tensor was renamed on one side",
    )


def _cycle(graph: Any, stuck: list[int], *, file: str, path: str) -> IsomorphError:  # noqa: ANN401
    indices: list[int] = []
    for start in stuck:
        indices = cycle_through(graph.node, start)
        if indices:
            break
    names = [path + label(graph.node[index]) for index in (*indices, *indices[:1])]
    return UnreadableModelError(
        "GRAPH_CYCLE",
        "nodes wait for each other in a circle",
        file=file,
        where=" -> ".join(names),
        why="each of them needs the output of the one before it",
        fix="break the circle; a repetition belongs into a Loop or Scan",
    )


def _check_ops(model: Any, *, file: str) -> None:  # noqa: ANN401
    local = {(domain_of(function), function.name) for function in model.functions}
    parts = [(model.graph.node, opsets(model))]
    parts += [(function.node, opsets_of(function)) for function in model.functions]
    for nodes, versions in parts:
        version = versions.get("", 0)
        for node in walk(nodes):
            key = (domain_of(node), node.op_type)
            if key[0] != "" or key in local or is_known("", node.op_type, version):
                continue
            same = [label(other) for other in walk(nodes) if other.op_type == node.op_type]
            raise unsupported("", node.op_type, version, same, file=file)


def opsets_of(function: Any) -> dict[str, int]:  # noqa: ANN401
    """The opsets that a model-local function imports."""
    return {domain_of(entry): int(entry.version) for entry in function.opset_import}


def unsupported(
    domain: str, op: str, version: int, nodes: list[str], *, file: str, by: str = ""
) -> IsomorphError:
    """The refusal of an operator, with all that is needed to find or to register it."""
    shown = ", ".join(nodes[:8]) + (f" and {len(nodes) - 8} more" if len(nodes) > 8 else "")
    why = f"{by or 'ONNX'} has no such operator"
    fix = (
        "register the library that implements it: --set custom_ops=PATH (never taken from the "
        "model itself), or define it with isomorph.op and --ops, and compare oracles "
        "with --runtime onnx_oracle"
    )
    if domain == "" and not is_known(domain, op, version):
        why = why_unknown(domain, op, version) if version else "the model imports no default opset"
        fix = "export with an opset that has it, or replace the operator"
    return UnreadableModelError(
        "UNSUPPORTED_OP",
        f"operator {op} of domain {domain or 'ai.onnx'!r}, version {version}, is not supported",
        file=file,
        where=f"nodes: {shown}",
        why=why,
        fix=fix,
    )
