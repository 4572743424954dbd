"""Operators of ONNX as linting needs them; they are described by the neutral vocabulary itself."""

from __future__ import annotations

from isomorph.core.operator_tables import OperatorTables

_STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})


def _custom(native: str) -> str | None:
    domain = native.rpartition("::")[0]
    return None if domain in _STANDARD else f"domain {domain}"


TABLES = OperatorTables(padded_channels="com.microsoft.nchwc::", custom=_custom, takes_onnx=True)
