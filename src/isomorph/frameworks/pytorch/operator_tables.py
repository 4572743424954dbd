"""ATen operators as diagnosis and repair need them; imports nothing heavy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isomorph.core.operator_tables import OperatorTables

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.onnx_nodes import OnnxNodes

_STANDARD = frozenset({"aten", "prim", "prims", "_operator", "higher_order", "onnx"})
"""Namespaces that torch itself registers or records."""


def _custom(native: str) -> str | None:
    space, dot, _ = native.partition(".")
    return f"namespace {space}" if dot and space not in _STANDARD else None


def _in_onnx(node: Node, into: OnnxNodes) -> bool:
    from isomorph.frameworks.pytorch.onnx_spelling import onnx_nodes

    return onnx_nodes(node, into)


TABLES = OperatorTables(
    implied_constants={
        "aten.rsqrt.default": (-0.5, 0.5),
        "aten.log10.default": (math.log(10), 1 / math.log(10)),
        "aten.log2.default": (math.log(2), 1 / math.log(2)),
        "aten.log1p.default": (1.0,),
        "aten.expm1.default": (1.0,),
        "aten.exp2.default": (2.0, math.log(2)),
    },
    implied_operators={
        "aten.rsqrt.default": ("Sqrt", "Reciprocal"),
        "aten.std.correction": ("Sqrt",),
        "aten.log10.default": ("Log",),
        "aten.log2.default": ("Log",),
        "aten.log1p.default": ("Log",),
    },
    clip_bounds={
        "aten.relu6.default": (0.0, 6.0), "aten.relu6_.default": (0.0, 6.0),
        "aten.hardtanh.default": (-1.0, 1.0), "aten.hardtanh_.default": (-1.0, 1.0),
    },
    numbers_first=frozenset({"aten.rsub.Scalar", "aten.rsub.Tensor"}),
    filled_where=frozenset(
        {"aten.masked_fill.Scalar", "aten.masked_fill.Tensor",
         "aten.masked_fill_.Scalar", "aten.masked_fill_.Tensor"}
    ),
    shape_readers=("aten.sym_size", "aten.size", "aten.sym_numel", "aten.numel"),
    custom=_custom,
    in_onnx=_in_onnx,
)  # fmt: skip
