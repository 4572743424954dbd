"""OpenVINO's operators: their neutral names, and their attributes as ONNX spells them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.openvino.program import DTYPES, NATIVE
from isomorph.oracle.dtypes import ONNX_DTYPES

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import Layer

_NUMBERS = {name: number for number, name in ONNX_DTYPES.items()}
Kind = tuple[Callable[[str], Any], Callable[[Any], str]]
"""How the text of an attribute is read, and how its value is written."""


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute: its neutral name, the file's names for it, and how its text is read.

    ``otherwise`` is its value where the file leaves it out; None: then it is left out here, too.
    """

    name: str
    native: tuple[str, ...]
    parse: Callable[[str], Any]
    write: Callable[[Any], str]
    otherwise: Any = None

    def read(self, data: Mapping[str, str]) -> Any:  # noqa: ANN401
        """Its value; of several attributes of the file, one behind the other."""
        if not all(word in data for word in self.native):
            return self.otherwise
        values = [self.parse(data[word]) for word in self.native]
        return values[0] if len(values) == 1 else tuple(each for part in values for each in part)

    def written(self, value: Any) -> dict[str, str]:  # noqa: ANN401
        """The file's attributes for a value."""
        if len(self.native) == 1:
            return {self.native[0]: self.write(value)}
        half = len(value) // len(self.native)
        parts = [value[place * half :][:half] for place in range(len(self.native))]
        return {word: self.write(part) for word, part in zip(self.native, parts, strict=True)}


def _several(number: Callable[[str], Any]) -> Kind:
    """Numbers with commas between them."""
    return (
        lambda text: tuple(number(part) for part in text.split(",") if part.strip()),
        lambda values: ", ".join(map(str, values)),
    )


def _truth(yes: int) -> Kind:
    """0 or 1; ``yes`` is what "true" stands for."""
    return (
        lambda text: yes if text.strip().lower() in {"true", "1"} else 1 - yes,
        lambda value: "true" if value == yes else "false",
    )


def _word(**spelled: str) -> Kind:
    """A word; ``spelled`` has the neutral spelling of the file's words."""
    back = {neutral: own for own, neutral in spelled.items()}
    return lambda text: spelled.get(text, text), lambda value: str(back.get(value, value))


_KINDS: Mapping[str, Kind] = {
    "int": (int, str),
    "float": (float, repr),
    "ints": _several(int),
    "floats": _several(float),
    "bool": _truth(1),
    "not": _truth(0),
    "word": _word(),
    "padding": _word(explicit="NOTSET", notset="NOTSET", same_upper="SAME_UPPER",
                     same_lower="SAME_LOWER", valid="VALID"),
    "gelu": _word(ERF="none", TANH="tanh"),
    "blocks": _word(blocks_first="DCR", depth_first="CRD"),
    "ceil": (lambda text: int(text.startswith("ceil")), lambda on: "ceil" if on else "floor"),
    "type": (lambda text: _NUMBERS.get(DTYPES.get(text, ""), 0),
             lambda number: NATIVE[ONNX_DTYPES[number]]),
}  # fmt: skip
"""By the words of the table."""

_WINDOW = "ints strides; ints pads<pads_begin+pads_end; padding auto_pad = NOTSET"
_CONV = f"{_WINDOW}; ints dilations"
_POOL = f"{_WINDOW}; ints kernel_shape<kernel; ceil ceil_mode<rounding_type = 0"
_CELL = (
    "int hidden_size; word direction = forward; word activations; float clip = 0.0; "
    "floats activation_alpha<activations_alpha; floats activation_beta<activations_beta"
)
_RESIZE = (
    "word mode; word shape_calculation_mode; ints pads<pads_begin+pads_end; bool antialias = 0; "
    "word coordinate_transformation_mode = half_pixel; "
    "word nearest_mode = round_prefer_floor; float cubic_coeff_a<cube_coeff = -0.75"
)
_MASKS = "; ".join(
    f"ints {each}_mask = ()" for each in ("begin", "end", "new_axis", "shrink_axis", "ellipsis")
)

# Operators with the same attributes, "OpenVINO's=neutral" or one name for both; then of each
# attribute its kind, its neutral name, the file's names behind "<", and what it is if left out.
_TABLE = f"""
Abs Acos Acosh Asin Asinh Atan Atanh Ceiling=Ceil Cos Cosh Erf Exp Floor Log Negative=Neg Sign Sin \
Sinh Sqrt Tan Tanh ReLU=Relu Sigmoid SoftPlus=Softplus SoftSign=Softsign Mish HSwish=HardSwish \
LogicalNot=Not IsNaN IsFinite PReLU=PRelu Select=Where ConvertLike=CastLike Add Subtract=Sub \
Multiply=Mul Divide=Div Maximum=Max Minimum=Min Power=Pow FloorMod SquaredDifference Equal \
NotEqual Greater GreaterEqual=GreaterOrEqual Less LessEqual=LessOrEqual LogicalAnd=And \
LogicalOr=Or LogicalXor=Xor BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Selu HardSigmoid Swish \
Tile Unsqueeze Squeeze Identity AdaptiveAvgPool AdaptiveMaxPool Roll BatchToSpace SpaceToBatch \
SliceScatter HSigmoid=HardSigmoid Mod Transpose Range ScatterUpdate ScatterNDUpdate=ScatterND \
Split VariadicSplit=Split Slice ShapeOf=Shape NonZero If Loop=TensorIterator TensorIterator |
IsInf | bool detect_negative; bool detect_positive
Round | word mode
Convert=Cast | type to<destination_type
Clamp=Clip | float min; float max
Elu | float alpha
Gelu | gelu approximate<approximation_mode = none
Softmax SoftMax=Softmax | int axis = 1
LogSoftmax | int axis = -1
Convolution=Conv GroupConvolution=Conv | {_CONV}
ConvolutionBackpropData=ConvTranspose GroupConvolutionBackpropData=ConvTranspose | \
{_CONV}; ints output_padding
AvgPool=AveragePool | {_POOL}; not count_include_pad<exclude-pad = 0
MaxPool | {_POOL}; ints dilations; int axis = 0
MatMul | bool transpose_a = 0; bool transpose_b = 0
Einsum | word equation
ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogicalAnd \
ReduceLogicalOr | bool keepdims<keep_dims = 0
MVN=MeanVarianceNormalization | float epsilon<eps; bool normalize_variance = 1; word eps_mode
NormalizeL2=LpNormalization | float epsilon<eps; word eps_mode
BatchNormInference=BatchNormalization RMS=RMSNormalization | float epsilon
GroupNormalization | int num_groups; float epsilon
Reshape | not allowzero<special_zero = 1
ScatterElementsUpdate=ScatterElements | word reduction = none; bool use_init_val = 1
Concat GatherElements OneHot | int axis
Gather GatherND | int batch_dims = 0
StridedSlice | {_MASKS}
Broadcast=Expand | word mode = numpy
Pad | word mode<pad_mode = constant
DepthToSpace SpaceToDepth | int blocksize<block_size = 1; blocks mode
ReverseSequence | int batch_axis; int time_axis<seq_axis
TopK | int axis; word mode; word sort
CumSum | bool exclusive = 0; bool reverse = 0
LSTMSequence LSTMCell RNNSequence RNNCell | {_CELL}
GRUSequence GRUCell | {_CELL}; bool linear_before_reset = 0
ScaledDotProductAttention=Attention | bool is_causal<causal = 0
Interpolate=Resize | {_RESIZE}
FakeQuantize=FakeQuant | int levels
ShuffleChannels | int axis = 1; int group = 1
GridSample | word mode = bilinear; bool align_corners = 0; word padding_mode = zeros
LRN | float alpha; float beta; float bias; int size
ReadValue Assign | word variable_id; ints variable_shape
""".replace("\\\n", "")
_FIXED: Mapping[str, Mapping[str, Any]] = {
    "HSigmoid": {"alpha": 1.0 / 6.0, "beta": 0.5},
    "Mod": {"fmod": 1},
}
"""Attributes that are always the same."""


@dataclass(frozen=True, slots=True)
class Operator:
    """The neutral name of an operator, its attributes, and those that are always the same."""

    op: str
    fields: tuple[Field, ...] = ()
    fixed: Mapping[str, Any] | None = None

    def attributes(self, data: Mapping[str, str]) -> dict[str, Any]:
        """The attributes of a layer by their neutral names."""
        found = {field.name: field.read(data) for field in self.fields}
        stated = {name: value for name, value in found.items() if value is not None}
        return {**stated, **(self.fixed or {})}


def _field(text: str) -> Field:
    stated, _, otherwise = text.partition(" = ")
    kind, names = stated.split()
    name, _, native = names.partition("<")
    try:
        value = ast.literal_eval(otherwise.strip()) if otherwise else None
    except ValueError:
        value = otherwise.strip()
    return Field(name, tuple((native or name).split("+")), *_KINDS[kind], value)


def _operators() -> Mapping[str, Operator]:
    found = {}
    for line in _TABLE.strip().splitlines():
        names, _, stated = line.partition("|")
        fields = tuple(map(_field, stated.split(";"))) if stated.strip() else ()
        for own, _, neutral in (pair.partition("=") for pair in names.split()):
            found[own] = Operator(neutral or own, fields, _FIXED.get(own))
    return found


OPERATORS = _operators()
"""By their names in the file."""


def neutral(layer: Layer) -> str:
    """The neutral name of a layer's operator; its own where there is none."""
    known = OPERATORS.get(layer.type)
    return layer.type if known is None else known.op


def attributes_of(layer: Layer) -> dict[str, Any]:
    """The attributes of a layer by their neutral names; those of the file where none are known."""
    known = OPERATORS.get(layer.type)
    if known is None:
        return dict(layer.data)
    try:
        found = known.attributes(layer.data)
    except ValueError as error:
        raise UnreadableModelError(
            "INVALID_GRAPH", "an attribute has no value of its kind", where=layer.name,
            why=str(error), fix="convert the model again",
        ) from error  # fmt: skip
    return found


_MEANT: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "Broadcast": {"mode": ("numpy", "explicit", "bidirectional")},
    "Interpolate": {"mode": ("nearest", "linear", "linear_onnx", "cubic")},
    "ScatterElementsUpdate": {
        "reduction": ("none", "sum", "prod", "min", "max"), "use_init_val": (1,),
    },
}  # fmt: skip
"""The values of attributes that have a kernel, where others have none."""


def has_meaning(layer: Layer, attributes: Mapping[str, Any]) -> bool:
    """Whether the kernel of its operator covers the attributes of a layer."""
    limited = _MEANT.get(layer.type, {})
    if any(attributes.get(name) not in values for name, values in limited.items()):
        return False
    grown = layer.type == "Interpolate" and any(attributes.get("pads", ()))
    aligned = layer.data.get("auto_broadcast", "numpy") in {"numpy", "none", ""}
    return layer.type in OPERATORS and aligned and not grown
