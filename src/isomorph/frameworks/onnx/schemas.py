"""What is known of operators: by ONNX itself, and by the installed ONNX Runtime.

ONNX Runtime writes operators of its own into the files it optimizes, some of them in the
default domain, so a model is judged by what either of the two knows.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from typing import Any

import onnx

from isomorph.frameworks.onnx.ort_import import onnxruntime


@cache
def schema(domain: str, op: str, version: int) -> Any | None:  # noqa: ANN401
    """ONNX's own schema of an operator at an opset version, or None."""
    try:
        return onnx.defs.get_schema(op, version, domain)
    except (onnx.defs.SchemaError, TypeError):  # a version that does not fit into 32 bits
        return None


@cache
def defaults(domain: str, op: str, version: int) -> Mapping[str, Any]:
    """The attributes that a node has although the file does not state them, as AttributeProtos."""
    own = schema(domain, op, version)
    if own is not None:
        stated = {name: entry.default_value for name, entry in own.attributes.items()}
        return {name: value for name, value in stated.items() if value.type}
    registered = _runtime_schema(domain, op, version)
    if registered is None:
        return {}
    raw = {name: entry._default_value for name, entry in registered.attributes.items()}
    return {name: onnx.AttributeProto.FromString(data) for name, data in raw.items() if data}


def any_schema(domain: str, op: str, version: int) -> Any | None:  # noqa: ANN401
    """ONNX's schema, else ONNX Runtime's, else None."""
    return schema(domain, op, version) or _runtime_schema(domain, op, version)


def is_known(domain: str, op: str, version: int) -> bool:
    """Whether ONNX or ONNX Runtime has the operator at this opset version."""
    return any_schema(domain, op, version) is not None


def runtime_has(domain: str, op: str, version: int) -> bool:
    """Whether ONNX Runtime has a schema for the operator at this opset version."""
    return _runtime_schema(domain, op, version) is not None


def why_unknown(domain: str, op: str, version: int) -> str:
    """The nearest thing that does exist, in words."""
    if onnx.defs.has(op, domain):
        first = min(
            entry.since_version
            for entry in onnx.defs.get_all_schemas_with_history()
            if entry.name == op and entry.domain == domain
        )
        return f"{op} exists from opset {first} on; the model imports opset {version}"
    names = {entry.name for entry in onnx.defs.get_all_schemas() if entry.domain == domain}
    near = difflib.get_close_matches(op, sorted(names), n=1)
    hint = f"; the nearest name is {near[0]}" if near else ""
    return f"neither ONNX nor ONNX Runtime has an operator of this name{hint}"


@cache
def _runtime_schemas() -> dict[tuple[str, str], list[Any]]:
    state = onnxruntime("reading operators of ONNX Runtime", part="capi.onnxruntime_pybind11_state")
    found: dict[tuple[str, str], list[Any]] = {}
    for entry in state.get_all_operator_schema():
        found.setdefault((entry.domain, entry.name), []).append(entry)
    for versions in found.values():
        versions.sort(key=lambda entry: entry.since_version)
    return found


def _runtime_schema(domain: str, op: str, version: int) -> Any | None:  # noqa: ANN401
    versions = _runtime_schemas().get((domain, op), [])
    fitting = [entry for entry in versions if entry.since_version <= version]
    return fitting[-1] if fitting else None


OLDEST_OPSET = 7
"""Older ones ONNX Runtime opens with a warning that it promises nothing."""


@cache
def runtime_limits() -> tuple[int, int]:
    """The newest opset and IR version that the installed ONNX Runtime opens, found by trying."""
    ort = onnxruntime("asking ONNX Runtime what it supports")
    opset = _newest(ort, range(onnx.defs.onnx_opset_version() + 1, OLDEST_OPSET - 1, -1), "opset")
    ir = _newest(ort, range(onnx.IR_VERSION + 1, 2, -1), "ir")
    return opset, ir


def _newest(ort: Any, versions: range, which: str) -> int:  # noqa: ANN401
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["x"], ["y"])],
        "probe",
        [value("x", onnx.TensorProto.FLOAT, [1])],
        [value("y", onnx.TensorProto.FLOAT, [1])],
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4
    for version in versions:
        opset, ir = (version, 8) if which == "opset" else (7, version)
        probe = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
        probe.ir_version = ir
        try:
            ort.InferenceSession(
                probe.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except Exception:  # noqa: BLE001, S112 - any refusal means: try an older one
            continue
        return version
    return 0
