"""Operators of ExecuTorch as diagnosis and repair need them; imports nothing heavy."""

from __future__ import annotations

import math

from isomorph.core.operator_tables import OperatorTables

_STANDARD = ("aten.", "xnnpack.", "executorch", "dim_order_ops.", "quantized_decomposed.")


def _custom(native: str) -> str | None:
    return None if native.startswith(_STANDARD) else f"namespace {native.partition('.')[0]}"


TABLES = OperatorTables(
    own_options=True,
    option_values={"approximate": ("none", "tanh"), "rounding_mode": ("floor", "trunc")},
    option_names={
        "strides": ("stride_height", "stride_width"),
        "dilations": ("dilation_height", "dilation_width"),
        "kernel_shape": ("kernel_height", "kernel_width"),
        "pads": ("padding_top", "padding_left", "padding_bottom", "padding_right"),
        "group": ("groups",),
        "constant_value": ("padding_value",),
        "perm": ("perm", "dims"),
    },
    linear_inputs={"aten.addmm.out": (1, 2, 0), "xnnpack.XNNFullyConnected": (0, 1, 2)},
    implied_constants={
        "aten.rsqrt.out": (-0.5, 0.5),
        "aten.log10.out": (math.log(10), 1 / math.log(10)),
        "aten.log2.out": (math.log(2), 1 / math.log(2)),
        "aten.log1p.out": (1.0,),
        "aten.expm1.out": (1.0,),
    },
    implied_operators={
        "aten.rsqrt.out": ("Sqrt", "Reciprocal"),
        "xnnpack.XNNReciprocalSquareRoot": ("Sqrt", "Reciprocal"),
        "aten.log10.out": ("Log",),
        "aten.log2.out": ("Log",),
        "aten.log1p.out": ("Log",),
    },
    clip_bounds={"aten.hardtanh.out": (-1.0, 1.0)},
    numbers_first=frozenset({"aten.rsub.Scalar_out"}),
    filled_where=frozenset({"aten.masked_fill.Scalar_out"}),
    shape_readers=("aten.sym_size", "aten.sym_numel"),
    custom=_custom,
)
