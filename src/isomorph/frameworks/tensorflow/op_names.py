"""What TensorFlow calls an operator, and its neutral name: ONNX's where ONNX has one."""

from __future__ import annotations

_SAME = {
    "Abs": "ComplexAbs",
    "Add": "AddV2 BiasAdd BiasAddV1",
    "And": "LogicalAnd BitwiseAnd",
    "AveragePool": "AvgPool AvgPool3D",
    "BatchNormalization": "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3",
    "Clip": "Relu6 ClipByValue",
    "Concat": "ConcatV2 Pack ParallelConcat",
    "ConstantOfShape": "Fill ZerosLike OnesLike",
    "Conv": "Conv2D Conv3D DepthwiseConv2dNative",
    "ConvTranspose": "Conv2DBackpropInput Conv3DBackpropInputV2",
    "CumProd": "Cumprod",
    "CumSum": "Cumsum",
    "Div": "RealDiv DivNoNan Xdivy FloorDiv TruncateDiv",
    "Expand": "BroadcastTo",
    "FakeQuantize": (
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel"
    ),
    "Gather": "GatherV2 ResourceGather",
    "GatherND": "GatherNd",
    "GreaterOrEqual": "GreaterEqual",
    "Identity": "IdentityN Snapshot StopGradient PreventGradient CheckNumerics EnsureShape",
    "If": "StatelessIf",
    "IsNaN": "IsNan",
    "LessOrEqual": "LessEqual",
    "Loop": "While StatelessWhile",
    "LSTM": "BlockLSTM BlockLSTMV2",
    "MatMul": "BatchMatMul BatchMatMulV2 BatchMatMulV3",
    "Max": "Maximum",
    "MaxPool": "MaxPoolV2 MaxPool3D MaxPoolWithArgmax",
    "Min": "Minimum",
    "Mod": "FloorMod TruncateMod",
    "Not": "LogicalNot Invert",
    "NonZero": "Where",
    "NotEqual": "",
    "Or": "LogicalOr BitwiseOr",
    "Pad": "PadV2 MirrorPad",
    "Pow": "Square",
    "RandomNormal": "RandomStandardNormal TruncatedNormal ParameterizedTruncatedNormal",
    "RandomUniform": "RandomUniformInt",
    "Reciprocal": "Inv",
    "ReduceMax": "All",
    "ReduceMean": "Mean",
    "ReduceProd": "Prod",
    "ReduceSum": "Sum EuclideanNorm",
    "Resize": ("ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea ScaleAndTranslate"),
    "Reverse": "ReverseV2",
    "SpaceToBatch": "SpaceToBatchND",
    "BatchToSpace": "BatchToSpaceND",
    "ReverseSequence": "",
    "Round": "Rint",
    "ScatterElements": "TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub",
    "ScatterND": "ScatterNd TensorScatterUpdate",
    "SequenceAt": "TensorListGetItem",
    "SequenceEmpty": "TensorListReserve EmptyTensorList",
    "SequenceInsert": "TensorListSetItem TensorListPushBack",
    "SequenceLength": "TensorListLength",
    "ConcatFromSequence": "TensorListStack TensorListConcatV2 TensorListGather",
    "SplitToSequence": "TensorListFromTensor TensorListSplit",
    "Slice": "StridedSlice",
    "Split": "SplitV Unpack",
    "SpaceToDepth": "",
    "SquaredDifference": "",
    "TopK": "TopKV2",
    "Trilu": "MatrixBandPart",
    "Unique": "UniqueV2",
    "Unsqueeze": "ExpandDims",
    "Where": "Select SelectV2",
    "Xor": "LogicalXor BitwiseXor",
    "Einsum": "XlaEinsum",
}

# Words that both vocabularies know, with another meaning here.
_OTHER = {"Max": "ReduceMax", "Min": "ReduceMin", "Any": "ReduceMax", "All": "ReduceMin",
          "EuclideanNorm": "ReduceL2", "ReduceMax": "ReduceMax"}  # fmt: skip

NEUTRAL = {word: neutral for neutral, words in _SAME.items() for word in words.split()} | _OTHER

_CALL_PREFIXES = ("StatefulPartitionedCall", "PartitionedCall")


def neutral_name(operator: str) -> str:
    """The neutral name of ``Conv2D``; an operator without one keeps its own."""
    return NEUTRAL.get(operator, operator)


def module_of(path: str) -> str | None:
    """The layers of an operation: ``model/conv`` of ``PartitionedCall/model/conv/Conv2D``."""
    parts = path.split("/")[:-1]
    while parts and parts[0].rstrip("0123456789").rstrip("_") in _CALL_PREFIXES:
        parts = parts[1:]
    return "/".join(parts) or None
