"""Operators of TFLite as diagnosis and repair need them; imports nothing heavy."""

from __future__ import annotations

from isomorph.core.operator_tables import OperatorTables


def _custom(native: str) -> str | None:
    if native.startswith("Flex"):
        return "TensorFlow's own, by the Flex delegate"
    return "custom" if native.startswith("CUSTOM") else None


TABLES = OperatorTables(
    own_options=True,
    parameter_inputs={
        "TRANSPOSE": {"perm": 1},
        "PAD": {"paddings": 1},
        "PADV2": {"paddings": 1, "constant_value": 2},
        "MIRROR_PAD": {"paddings": 1},
        "SPACE_TO_BATCH_ND": {"paddings": 2},
        "BATCH_TO_SPACE_ND": {"crops": 2},
        "ARG_MAX": {"axis": 1},
        "ARG_MIN": {"axis": 1},
        "EXPAND_DIMS": {"axis": 1},
        "SPLIT": {"axis": 0},
        "CUMSUM": {"axis": 1},
        "REVERSE_V2": {"axes": 1},
        "RESHAPE": {"shape": 1},
        "RESIZE_BILINEAR": {"size": 1},
        "RESIZE_NEAREST_NEIGHBOR": {"size": 1},
        "TOPK_V2": {"k": 1},
        "SLICE": {"begin": 1, "size": 2},
        "STRIDED_SLICE": {"begin": 1, "end": 2, "strides": 3},
    },
    option_values={
        "fused_activation_function": ("NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"),
        "padding": ("SAME", "VALID"),
        "mode": ("REFLECT", "SYMMETRIC"),
    },
    option_names={
        "keepdims": ("keep_dims",),
        "strides": ("stride_h", "stride_w"),
        "dilations": ("dilation_h_factor", "dilation_w_factor"),
        "kernel_shape": ("filter_height", "filter_width"),
        "transA": ("adj_x",),
        "transB": ("adj_y",),
        "pads": ("paddings",),
        "axes": ("axis",),
        "axis": ("axes",),
        "lambd": ("alpha",),
    },
    slice_bounds={"SLICE": ("begin", "size"), "STRIDED_SLICE": ("begin", "end")},
    linear_inputs={
        "CONV_2D": (0, 1, 2),
        "DEPTHWISE_CONV_2D": (0, 1, 2),
        "FULLY_CONNECTED": (0, 1, 2),
        "TRANSPOSE_CONV": (2, 1, 3),
    },
    run_time_quantizers={
        "CONV_2D": (0, 1),
        "DEPTHWISE_CONV_2D": (0, 1),
        "FULLY_CONNECTED": (0, 1),
        "TRANSPOSE_CONV": (2, 1),
        "BATCH_MATMUL": (0, 1),
        "SVDF": (0, 1),
        "RNN": (0, 1),
        "UNIDIRECTIONAL_SEQUENCE_RNN": (0, 1),
        "BIDIRECTIONAL_SEQUENCE_RNN": (0, 1),
        "LSTM": (0, 2),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, 2),
        "BIDIRECTIONAL_SEQUENCE_LSTM": (0, 2),
    },
    clip_bounds={"RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU_0_TO_1": (0.0, 1.0)},
    custom=_custom,
)
