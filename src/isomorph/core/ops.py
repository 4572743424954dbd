"""Neutral operator names: one per function, whatever a framework calls it.

Names are ONNX's where ONNX has one. Frameworks map their own operators onto these.
"""

from __future__ import annotations

MOVES_DATA = frozenset(
    {
        "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split",
        "Concat", "Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements", "Expand",
        "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "Where", "Shape", "Size", "Trilu", "Reverse",
        "Relu", "Abs", "Neg", "Max", "Min", "Clip", "MaxPool", "GlobalMaxPool", "ReduceMax",
        "ReduceMin", "Sign", "Floor", "Ceil", "Round", "ArgMax", "ArgMin", "TopK", "Constant",
    }
)  # fmt: skip
"""Operators that select, move or negate values and therefore never round."""

RESHAPES = frozenset({"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"})
"""Operators that hand on every value in its order."""

KEEPS_NUMBERS = RESHAPES | {"Transpose", "Cast", "DequantizeLinear"}
"""Operators that keep each stored element, at another position or in another type."""

GATES = {
    kind + word: count
    for kind, count in {"LSTM": 4, "GRU": 3, "RNN": 1}.items()
    for word in ("", "Sequence", "Cell")
}
"""Recurrent operators, each with the blocks of rows that its weights have."""

FUSED = "fused_activation_function"
"""The option of a node that has an activation built in."""
BUILT_IN = {"RELU": "Relu", "RELU6": "Clip", "RELU_N1_TO_1": "Clip", "TANH": "Tanh"}
"""The activations that can be built in, as operators."""
BUILT_IN_LIMITS = {"RELU6": 6.0, "RELU_N1_TO_1": 1.0}
"""The limits of those that have one."""
BUILT_IN_RANGES = {"RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "TANH": (-1.0, 1.0)}
"""The results of those that are bounded, whatever they are applied to."""

RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli",
     "Multinomial"}
)  # fmt: skip
"""Operators whose result depends on a random state. Dropout joins them in training mode."""
