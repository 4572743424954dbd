"""The kinds of nodes in an XNNPACK graph: their neutral names, and the fields of each in order."""

from __future__ import annotations

from collections.abc import Mapping

_ONE = "<input >output flags"
_TWO = "<input1 <input2 >output flags"
_CONV = (
    "padding_top padding_right padding_bottom padding_left kernel_height kernel_width "
    "stride_height stride_width dilation_height dilation_width group_input_channels "
    "group_output_channels groups adjustment_height adjustment_width "
    "<input <filter <bias >output flags"
)
_POOL = (
    "padding_top padding_right padding_bottom padding_left kernel_height kernel_width "
    "stride_height stride_width dilation_height dilation_width <input >output flags"
)
_CAT = "axis <input1 <input2 <input3 <input4 >output flags <input5"

# In the order of the schema's union. "<" reads a tensor, ">" writes one, "*" is a list and "~" a
# float.
_KINDS = f"""
XNNAdd Add {_TWO}
XNNFullyConnected Gemm <input <filter <bias >output flags
XNNSoftmax Softmax {_ONE}
XNNSigmoid Sigmoid {_ONE}
XNNStaticTranspose Transpose num_dims *perm <input >output flags
XNNClamp Clip {_ONE}
XNNConv2d Conv {_CONV}
XNNDiv Div {_TWO}
XNNStaticResizeBilinear2D Resize new_height new_width <input >output flags
XNNStaticConstantPad Pad *pre_paddings *post_paddings ~padding_value <input >output flags
XNNAvgPooling2d AveragePool {_POOL}
XNNMinimum Min {_TWO}
XNNDepthwiseConv2d Conv {_CONV}
XNNMaxPooling2d MaxPool {_POOL}
XNNMultiply Mul {_TWO}
XNNSubtract Sub {_TWO}
XNNFloor Floor {_ONE}
XNNConvert Cast {_ONE}
XNNGlobalAvgPooling2d GlobalAveragePool {_ONE}
XNNStaticReshape Reshape num_dims *new_shape <input >output flags
XNNArgMaxPooling2d MaxPool padding_top padding_right padding_bottom padding_left kernel_height \
kernel_width <input >output_value >output_index flags
XNNSquareRoot Sqrt {_ONE}
XNNCeiling Ceil {_ONE}
XNNHardswish HardSwish {_ONE}
XNNLeakyReLU LeakyRelu ~negative_slope <input >output flags
XNNMaximum Max {_TWO}
XNNNegate Neg {_ONE}
XNNSquare Square {_ONE}
XNNELU Elu ~alpha <input >output flags
XNNAbs Abs {_ONE}
XNNPReLU PRelu {_TWO}
XNNConcatenate2 Concat {_CAT}
XNNConcatenate3 Concat {_CAT}
XNNConcatenate4 Concat {_CAT}
XNNStaticSlice Slice num_dims *offsets *sizes <input >output flags
XNNScaledDotProductAttention Attention <query <key <value <scale <mask >output flags
XNNBatchMatrixMultiply MatMul {_TWO}
XNNConcatenate5 Concat {_CAT}
XNNConvTranspose2d ConvTranspose {_CONV}
XNNReciprocalSquareRoot Rsqrt {_ONE}
XNNLog Log {_ONE}
XNNGelu Gelu {_ONE}
XNNTanh Tanh {_ONE}
XNNExp Exp {_ONE}
XNNSin Sin {_ONE}
XNNCopy Identity {_ONE}
XNNCos Cos {_ONE}
""".replace("\\\n", "")

Field = tuple[str, str]
"""The mark of a field, or nothing for a plain number, and its name."""


def _field(word: str) -> Field:
    return (word[0], word[1:]) if word[0] in "<>*~" else ("", word)


def _row(line: str) -> tuple[str, str, tuple[Field, ...]]:
    word, op, *fields = line.split()
    return word, op, tuple(map(_field, fields))


NODES: Mapping[int, tuple[str, str, tuple[Field, ...]]] = {
    number: _row(line) for number, line in enumerate(_KINDS.strip().splitlines(), start=1)
}
"""The schema's name of a node, its neutral name and its fields, by the number of its kind."""
