"""OpenVINO's operators: their neutral names, and their attributes as ONNX spells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.openvino.program import DTYPES
from isomorph.oracle.dtypes import ONNX_DTYPES

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import Layer

_NUMBERS = {name: number for number, name in ONNX_DTYPES.items()}


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


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


def _floats(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(",") if part.strip())


def _joined(values: Sequence[Any]) -> str:
    return ", ".join(str(value) for value in values)


def _truth(text: str) -> int:
    return int(text.strip().lower() in {"true", "1"})


def _untruth(text: str) -> int:
    return 1 - _truth(text)


def ints(name: str, *native: str, otherwise: Any = None) -> Field:  # noqa: ANN401
    """Several whole numbers."""
    return Field(name, native or (name,), _ints, _joined, otherwise)


def whole(name: str, native: str = "", otherwise: int | None = None) -> Field:
    """One whole number."""
    return Field(name, (native or name,), int, str, otherwise)


def real(name: str, native: str = "", otherwise: float | None = None) -> Field:
    """One real number."""
    return Field(name, (native or name,), float, repr, otherwise)


def truth(name: str, native: str = "", otherwise: int | None = None) -> Field:
    """0 or 1."""
    return Field(name, (native or name,), _truth, lambda on: "true" if on else "false", otherwise)


def untruth(name: str, native: str, otherwise: int | None = None) -> Field:
    """0 or 1 where the file states the opposite."""
    return Field(name, (native,), _untruth, lambda on: "false" if on else "true", otherwise)


def word(
    name: str, native: str = "", spelled: Mapping[str, str] | None = None, otherwise: str = ""
) -> Field:
    """A word; ``spelled`` has the neutral spelling of the file's words."""
    known = spelled or {}
    back = {neutral: own for own, neutral in known.items()}
    return Field(
        name,
        (native or name,),
        lambda text: known.get(text, text),
        lambda value: back.get(value, value),
        otherwise or None,
    )


_AUTO_PAD = word(
    "auto_pad", "auto_pad",
    {"explicit": "NOTSET", "notset": "NOTSET", "same_upper": "SAME_UPPER",
     "same_lower": "SAME_LOWER", "valid": "VALID"},
    "NOTSET",
)  # fmt: skip
_PADS = ints("pads", "pads_begin", "pads_end")
_WINDOW = (ints("strides"), _PADS, _AUTO_PAD)
_CONV = (*_WINDOW, ints("dilations"))
_BACK = (*_CONV, ints("output_padding"))
_POOL = (
    *_WINDOW,
    ints("kernel_shape", "kernel"),
    Field("ceil_mode", ("rounding_type",), lambda text: int(text.startswith("ceil")),
          lambda on: "ceil" if on else "floor", 0),
)  # fmt: skip
_KEEP = (truth("keepdims", "keep_dims", 0),)
_AXIS = (whole("axis"),)
_TYPE = Field(
    "to", ("destination_type",), lambda text: _NUMBERS.get(DTYPES.get(text, ""), 0),
    lambda number: next(k for k, v in DTYPES.items() if v == ONNX_DTYPES[number]),
)  # fmt: skip
_CELL = (
    whole("hidden_size"), word("direction", otherwise="forward"), word("activations"),
    Field("activation_alpha", ("activations_alpha",), _floats, _joined),
    Field("activation_beta", ("activations_beta",), _floats, _joined), real("clip", otherwise=0.0),
)  # fmt: skip
_GRU = (*_CELL, truth("linear_before_reset", otherwise=0))
_RESIZE = (
    word("mode"), word("shape_calculation_mode"), ints("pads", "pads_begin", "pads_end"),
    word("coordinate_transformation_mode", otherwise="half_pixel"),
    word("nearest_mode", otherwise="round_prefer_floor"), truth("antialias", otherwise=0),
    real("cubic_coeff_a", "cube_coeff", -0.75),
)  # fmt: skip
_EPSILON = real("epsilon", "eps")


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


def _table(names: str, *fields: Field, **fixed: Any) -> dict[str, Operator]:  # noqa: ANN401
    """Operators with the same attributes: ``OpenVINO's=neutral``, or one name for both."""
    found = {}
    for pair in names.split():
        own, _, neutral = pair.partition("=")
        found[own] = Operator(neutral or own, fields, fixed or None)
    return found


OPERATORS: Mapping[str, Operator] = {
    **_table(
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceiling=Ceil Cos Cosh Erf Exp Floor Log "
        "Negative=Neg Sign Sin Sinh Sqrt Tan Tanh ReLU=Relu Sigmoid SoftPlus=Softplus "
        "SoftSign=Softsign Mish HSwish=HardSwish LogicalNot=Not IsNaN IsFinite PReLU=PRelu "
        "Select=Where ConvertLike=CastLike Add Subtract=Sub Multiply=Mul Divide=Div Maximum=Max "
        "Minimum=Min Power=Pow FloorMod SquaredDifference Equal NotEqual Greater "
        "GreaterEqual=GreaterOrEqual Less LessEqual=LessOrEqual LogicalAnd=And LogicalOr=Or "
        "LogicalXor=Xor BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Selu HardSigmoid Swish Tile "
        "Unsqueeze Squeeze Identity AdaptiveAvgPool AdaptiveMaxPool Roll BatchToSpace "
        "SpaceToBatch SliceScatter"
    ),
    **_table("HSigmoid=HardSigmoid", alpha=1.0 / 6.0, beta=0.5),
    **_table("Mod", fmod=1),
    **_table("IsInf", truth("detect_negative"), truth("detect_positive")),
    **_table("Round", word("mode")),
    **_table("Convert=Cast", _TYPE),
    **_table("Clamp=Clip", real("min"), real("max")),
    **_table("Elu", real("alpha")),
    **_table("Gelu", word("approximate", "approximation_mode", {"ERF": "none", "TANH": "tanh"},
                          "none")),
    **_table("Softmax SoftMax=Softmax", whole("axis", otherwise=1)),
    **_table("LogSoftmax", whole("axis", otherwise=-1)),
    **_table("Convolution=Conv GroupConvolution=Conv", *_CONV),
    **_table("ConvolutionBackpropData=ConvTranspose GroupConvolutionBackpropData=ConvTranspose",
             *_BACK),
    **_table("AvgPool=AveragePool", *_POOL,
             untruth("count_include_pad", "exclude-pad", 0)),
    **_table("MaxPool", *_POOL, ints("dilations"), whole("axis", otherwise=0)),
    **_table("MatMul", truth("transpose_a", otherwise=0), truth("transpose_b", otherwise=0)),
    **_table("Einsum", word("equation")),
    **_table("ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "
             "ReduceLogicalAnd ReduceLogicalOr", *_KEEP),
    **_table("MVN=MeanVarianceNormalization", _EPSILON,
             truth("normalize_variance", otherwise=1), word("eps_mode")),
    **_table("NormalizeL2=LpNormalization", _EPSILON, word("eps_mode")),
    **_table("BatchNormInference=BatchNormalization", real("epsilon", "epsilon")),
    **_table("GroupNormalization", whole("num_groups"), real("epsilon", "epsilon")),
    **_table("RMS=RMSNormalization", real("epsilon", "epsilon")),
    **_table("Reshape", untruth("allowzero", "special_zero", 1)),
    **_table("Transpose Range ScatterUpdate ScatterNDUpdate=ScatterND"),
    **_table("ScatterElementsUpdate=ScatterElements", word("reduction", otherwise="none"),
             truth("use_init_val", otherwise=1)),
    **_table("Concat GatherElements OneHot", *_AXIS),
    **_table("Gather", whole("batch_dims", otherwise=0)),
    **_table("GatherND", whole("batch_dims", otherwise=0)),
    **_table("Split VariadicSplit=Split"),
    **_table("Slice"),
    **_table("StridedSlice", *(ints(name, otherwise=()) for name in (
        "begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"))),
    **_table("Broadcast=Expand", word("mode", otherwise="numpy")),
    **_table("Pad", word("mode", "pad_mode", otherwise="constant")),
    **_table("DepthToSpace SpaceToDepth", whole("blocksize", "block_size", 1),
             word("mode", "mode", {"blocks_first": "DCR", "depth_first": "CRD"})),
    **_table("ReverseSequence", whole("batch_axis"), whole("time_axis", "seq_axis")),
    **_table("ShapeOf=Shape"),
    **_table("TopK", whole("axis"), word("mode"), word("sort")),
    **_table("CumSum", truth("exclusive", otherwise=0), truth("reverse", otherwise=0)),
    **_table("NonZero"),
    **_table("LSTMSequence LSTMCell RNNSequence RNNCell", *_CELL),
    **_table("GRUSequence GRUCell", *_GRU),
    **_table("ScaledDotProductAttention=Attention", truth("is_causal", "causal", 0)),
    **_table("Interpolate=Resize", *_RESIZE),
    **_table("FakeQuantize=FakeQuant", whole("levels")),
    **_table("ShuffleChannels", whole("axis", otherwise=1), whole("group", otherwise=1)),
    **_table("GridSample", word("mode", otherwise="bilinear"), truth("align_corners", otherwise=0),
             word("padding_mode", otherwise="zeros")),
    **_table("LRN", real("alpha"), real("beta"), real("bias"), whole("size")),
    **_table("If"),
    **_table("Loop=TensorIterator TensorIterator"),
    **_table("ReadValue Assign", word("variable_id"), ints("variable_shape")),
}  # fmt: skip
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
