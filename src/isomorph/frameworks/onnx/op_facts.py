"""What the evaluator must know of single operators: what rounds, what jumps, what only looks.

These are facts about ONNX's operators, by name, that no operator definition states.
"""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.ops import MOVES_DATA

EXACT = MOVES_DATA | frozenset(
    {
        "Cast", "CastLike", "Compress", "ReverseSequence", "OneHot", "NonZero", "Unique",
        "ConcatFromSequence", "SplitToSequence", "SequenceConstruct", "SequenceAt", "SequenceEmpty",
        "SequenceInsert", "SequenceErase", "SequenceLength", "Optional", "OptionalGetElement",
        "OptionalHasElement", "ConstantOfShape", "EyeLike", "MaxUnpool", "Dropout", "Hardmax",
        "IsNaN", "IsInf", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or",
        "Not", "Xor", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitCast",
        "Scatter", "TensorScatter", "CenterCropPad", "ThresholdedRelu", "NonMaxSuppression",
        "QuantizeLinear", "DynamicQuantizeLinear", "ArrayFeatureExtractor", "LabelEncoder",
        "Binarizer",
    }
)  # fmt: skip
"""Operators whose result is an input's value, or not a float at all."""

DISCRETE = frozenset({"Floor", "Ceil", "Round", "Sign", "Mod", "Constant", "ConstantOfShape"})
"""Operators whose float result is discrete among constants: noise must not make it jump."""

SHAPE_ONLY = frozenset({"Shape", "Size", "EyeLike", "SequenceLength", "OptionalHasElement"})
"""Operators that look at the shape of their input alone."""

KEPT_AS_DECLARED: Mapping[str, tuple[int, ...]] = {
    "Resize": (1, 2),
    "Upsample": (1,),
}
"""Inputs that decide an output's shape: a wider type would decide otherwise."""
