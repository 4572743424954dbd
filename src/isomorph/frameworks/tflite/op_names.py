"""TFLite's operators in the neutral vocabulary: ONNX's name wherever ONNX has the meaning."""

from __future__ import annotations

NEUTRAL = {
    # Products
    "CONV_2D": "Conv", "DEPTHWISE_CONV_2D": "Conv", "CONV_3D": "Conv",
    "TRANSPOSE_CONV": "ConvTranspose", "CONV_3D_TRANSPOSE": "ConvTranspose",
    "FULLY_CONNECTED": "Gemm", "BATCH_MATMUL": "MatMul",
    # Elementwise
    "ADD": "Add", "ADD_N": "Sum", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "POW": "Pow",
    "FLOOR_DIV": "FloorDiv", "FLOOR_MOD": "Mod", "SQUARED_DIFFERENCE": "SquaredDifference",
    "MAXIMUM": "Max", "MINIMUM": "Min", "ABS": "Abs", "NEG": "Neg", "SIGN": "Sign", "EXP": "Exp",
    "LOG": "Log", "SQRT": "Sqrt", "RSQRT": "Rsqrt", "SQUARE": "Square", "SIN": "Sin", "COS": "Cos",
    "ATAN2": "Atan2", "FLOOR": "Floor", "CEIL": "Ceil", "ROUND": "Round", "CAST": "Cast",
    "BITCAST": "BitCast", "BITWISE_XOR": "BitwiseXor", "RIGHT_SHIFT": "BitShift",
    "REAL": "Real", "IMAG": "Imag", "COMPLEX_ABS": "Abs", "CUMSUM": "CumSum",
    # Activations
    "LOGISTIC": "Sigmoid", "TANH": "Tanh", "RELU": "Relu", "RELU6": "Clip",
    "RELU_N1_TO_1": "Clip", "RELU_0_TO_1": "Clip", "ELU": "Elu", "LEAKY_RELU": "LeakyRelu",
    "PRELU": "PRelu", "HARD_SWISH": "HardSwish", "GELU": "Gelu", "SOFTMAX": "Softmax",
    "LOG_SOFTMAX": "LogSoftmax",
    # Comparisons and logic
    "EQUAL": "Equal", "NOT_EQUAL": "NotEqual", "LESS": "Less", "LESS_EQUAL": "LessOrEqual",
    "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual", "LOGICAL_AND": "And",
    "LOGICAL_OR": "Or", "LOGICAL_NOT": "Not", "SELECT": "Where", "SELECT_V2": "Where",
    "WHERE": "NonZero",
    # Reductions
    "MEAN": "ReduceMean", "SUM": "ReduceSum", "REDUCE_PROD": "ReduceProd",
    "REDUCE_MAX": "ReduceMax", "REDUCE_MIN": "ReduceMin", "REDUCE_ANY": "ReduceAny",
    "REDUCE_ALL": "ReduceAll", "ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin", "TOPK_V2": "TopK",
    "UNIQUE": "Unique", "SEGMENT_SUM": "SegmentSum",
    # Windows
    "AVERAGE_POOL_2D": "AveragePool", "MAX_POOL_2D": "MaxPool", "L2_POOL_2D": "LpPool",
    "L2_NORMALIZATION": "LpNormalization", "LOCAL_RESPONSE_NORMALIZATION": "LRN",
    "RESIZE_BILINEAR": "Resize", "RESIZE_NEAREST_NEIGHBOR": "Resize",
    # Movement
    "RESHAPE": "Reshape", "SQUEEZE": "Squeeze", "EXPAND_DIMS": "Unsqueeze",
    "TRANSPOSE": "Transpose", "CONCATENATION": "Concat", "PACK": "Stack", "UNPACK": "Unstack",
    "SPLIT": "Split", "SPLIT_V": "Split", "SLICE": "Slice", "STRIDED_SLICE": "Slice",
    "DYNAMIC_UPDATE_SLICE": "DynamicUpdateSlice", "GATHER": "Gather", "GATHER_ND": "GatherND",
    "EMBEDDING_LOOKUP": "Gather", "SCATTER_ND": "ScatterND", "SPARSE_TO_DENSE": "ScatterND",
    "PAD": "Pad", "PADV2": "Pad", "MIRROR_PAD": "Pad", "TILE": "Tile", "BROADCAST_TO": "Expand",
    "REVERSE_V2": "Reverse", "REVERSE_SEQUENCE": "ReverseSequence",
    "SPACE_TO_DEPTH": "SpaceToDepth", "DEPTH_TO_SPACE": "DepthToSpace",
    "SPACE_TO_BATCH_ND": "SpaceToBatch", "BATCH_TO_SPACE_ND": "BatchToSpace",
    "DENSIFY": "Identity", "DILATE": "Dilate",
    # Shapes and constants
    "SHAPE": "Shape", "RANK": "Rank", "FILL": "ConstantOfShape", "ZEROS_LIKE": "ZerosLike",
    "RANGE": "Range", "ONE_HOT": "OneHot", "BROADCAST_ARGS": "BroadcastShapes",
    "MATRIX_DIAG": "MatrixDiag", "MATRIX_SET_DIAG": "MatrixSetDiag", "BUCKETIZE": "Bucketize",
    # Quantization
    "QUANTIZE": "QuantizeLinear", "DEQUANTIZE": "DequantizeLinear", "FAKE_QUANT": "FakeQuant",
    # Recurrence, control flow, state
    "LSTM": "LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM": "LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM": "LSTM",
    "RNN": "RNN", "UNIDIRECTIONAL_SEQUENCE_RNN": "RNN", "BIDIRECTIONAL_SEQUENCE_RNN": "RNN",
    "IF": "If", "WHILE": "Loop", "STABLEHLO_WHILE": "Loop", "STABLEHLO_CASE": "If",
    "CALL_ONCE": "CallOnce", "CALL": "Call", "STABLEHLO_COMPOSITE": "Composite",
    "VAR_HANDLE": "Variable", "READ_VARIABLE": "ReadVariable",
    "ASSIGN_VARIABLE": "AssignVariable",
    # Random, detection, signals
    "RANDOM_UNIFORM": "RandomUniform", "RANDOM_STANDARD_NORMAL": "RandomNormal",
    "MULTINOMIAL": "Multinomial", "NON_MAX_SUPPRESSION_V4": "NonMaxSuppression",
    "NON_MAX_SUPPRESSION_V5": "NonMaxSuppression", "RFFT2D": "DFT",
}  # fmt: skip
"""Operators that are not listed keep TFLite's own word: it means nothing elsewhere."""


def neutral(op: str) -> str:
    """The neutral name of a builtin or custom operator."""
    return NEUTRAL.get(op, op)
