"""What the evaluator must know of TFLite's operators, by name, that no schema states."""

from __future__ import annotations

from collections.abc import Mapping

QUANTIZED = frozenset({"int8", "uint8", "int16", "int4", "uint4", "int2"})
"""Types whose integers stand for real numbers wherever a scale is declared."""

CONTROL = frozenset({"IF", "WHILE", "CALL_ONCE", "CALL", "STABLEHLO_COMPOSITE"})
"""Operators that run sub-graphs."""

STATE = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})
"""Operators on resource variables."""

AS_STORED = CONTROL | STATE | {"CAST", "BITCAST", "SHAPE", "RANK", "STABLEHLO_CONVERT"}
"""Operators that take the integers of a quantized tensor for what they are."""

BIASES: Mapping[str, int] = {
    "CONV_2D": 2,
    "DEPTHWISE_CONV_2D": 2,
    "FULLY_CONNECTED": 2,
    "TRANSPOSE_CONV": 3,
    "BATCH_MATMUL": 2,
}
"""Sums of products, and where their bias stands."""

LSTM_CELLS = frozenset({"UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM"})
"""Cells whose states go onto their grids after every step."""

CELLS = LSTM_CELLS | {"BIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN",
                      "BIDIRECTIONAL_SEQUENCE_RNN", "RNN", "SVDF"}  # fmt: skip
"""Operators with a state; where they are quantized, their biases declare grids of their own."""

NOISY_INSIDE = LSTM_CELLS | {"RESIZE_BILINEAR"}
"""Operators whose quantized kernels err before the last rounding, which only the kernel knows."""

MOVES = frozenset(
    {
        "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CONCATENATION", "PACK", "UNPACK",
        "SPLIT", "SPLIT_V", "TILE", "BROADCAST_TO", "PAD", "PADV2", "MIRROR_PAD", "REVERSE_V2",
        "REVERSE_SEQUENCE", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SPACE_TO_BATCH_ND",
        "BATCH_TO_SPACE_ND", "STRIDED_SLICE", "SLICE", "GATHER", "GATHER_ND", "SELECT",
        "SELECT_V2", "DYNAMIC_UPDATE_SLICE", "MATRIX_DIAG", "MATRIX_SET_DIAG", "ONE_HOT",
        "EMBEDDING_LOOKUP", "HASHTABLE_LOOKUP", "SPARSE_TO_DENSE", "UNIQUE", "FILL", "ZEROS_LIKE",
        "DENSIFY", "STABLEHLO_RESHAPE", "STABLEHLO_TRANSPOSE", "STABLEHLO_CONCATENATE",
        "STABLEHLO_SLICE", "STABLEHLO_BROADCAST_IN_DIM", "STABLEHLO_SELECT",
    }
)  # fmt: skip
"""Operators that move values and compute none."""

SELECTS = MOVES | frozenset(
    {
        "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "MAX_POOL_2D", "MAXIMUM", "MINIMUM",
        "REDUCE_MAX", "REDUCE_MIN", "TOPK_V2", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM",
        "STABLEHLO_CLAMP", "QUANTIZE",
    }
)  # fmt: skip
"""Operators whose results lie on their input's grid, not rounded where the output has it too."""

EXACT = SELECTS | frozenset(
    {
        "ABS", "NEG", "SIGN", "FLOOR", "CEIL", "ROUND", "CAST", "BITCAST", "SHAPE", "RANK",
        "ARG_MAX", "ARG_MIN", "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER",
        "GREATER_EQUAL", "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT", "REDUCE_ANY", "REDUCE_ALL",
        "WHERE", "REAL", "IMAG", "BUCKETIZE", "BROADCAST_ARGS",
    }
)  # fmt: skip
"""Operators that round nothing in floating point either."""

DISCRETE = frozenset({"FLOOR", "CEIL", "ROUND", "SIGN", "FLOOR_DIV", "FLOOR_MOD", "FAKE_QUANT"})
"""Operators whose float result is discrete among constants: noise must not make it jump."""

SHAPE_ONLY = frozenset({"SHAPE", "RANK", "ZEROS_LIKE"})
"""Operators that look at the shape of their input alone."""
