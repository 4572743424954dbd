"""What the operators of MIL compute: elementwise steps, reductions and movement."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isomorph.frameworks.coreml.arguments import Arguments, Lowered, NotUnderstoodError
from isomorph.frameworks.coreml.program import MilType
from isomorph.kernels.mil import COREML
from isomorph.oracle.dtypes import ONNX_DTYPES

Types = Mapping[str, MilType]
Lower = Callable[[Arguments, Types], Lowered]

_UNARY = {
    "abs": "Abs", "acos": "Acos", "asin": "Asin", "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil",
    "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor",
    "identity": "Identity", "logical_not": "Not", "relu": "Relu", "round": "Round",
    "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "softplus": "Softplus",
    "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh", "shape": "Shape",
}  # fmt: skip
_BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "real_div": "Div", "pow": "Pow", "maximum": "Max",
    "minimum": "Min", "equal": "Equal", "greater": "Greater", "greater_equal": "GreaterOrEqual",
    "less": "Less", "less_equal": "LessOrEqual", "logical_and": "And", "logical_or": "Or",
    "logical_xor": "Xor", "mod": "Mod",
}  # fmt: skip
_REDUCTIONS = {
    "reduce_mean": "ReduceMean", "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd", "reduce_l1_norm": "ReduceL1",
    "reduce_l2_norm": "ReduceL2", "reduce_log_sum": "ReduceLogSum",
    "reduce_log_sum_exp": "ReduceLogSumExp", "reduce_sum_square": "ReduceSumSquare",
}  # fmt: skip
_SHIFTED = {"log": ("Log", 1e-45), "rsqrt": ("Rsqrt", 1e-12), "inverse": ("Reciprocal", 1e-4)}
"""Functions of x + epsilon, with the epsilon where none is stated."""
_WORDS = {
    "fp16": "float16", "fp32": "float32", "fp64": "float64", "bool": "bool", "int8": "int8",
    "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16",
    "uint32": "uint32",
}  # fmt: skip
_NUMBERS = {name: number for number, name in ONNX_DTYPES.items()}
_SCATTER = {"update": "none", "add": "add", "mul": "mul", "max": "max", "min": "min"}

TABLE: dict[str, Lower] = {}
"""How each operator is described; those of other modules enter themselves."""


def lowers(*types: str) -> Callable[[Lower], Lower]:
    """Enter a description for these operators of MIL."""

    def enter(function: Lower) -> Lower:
        TABLE.update(dict.fromkeys(types, function))
        return function

    return enter


@lowers(*_UNARY)
def _unary(given: Arguments, types: Types) -> Lowered:
    return given.lowered(_UNARY[given.operation.type], given.tensor("x"))


@lowers(*_BINARY)
def _binary(given: Arguments, types: Types) -> Lowered:
    return given.lowered(_BINARY[given.operation.type], given.tensor("x"), given.tensor("y"))


@lowers("not_equal", "floor_div")
def _own_binary(given: Arguments, types: Types) -> Lowered:
    op = "NotEqual" if given.operation.type == "not_equal" else "Div"
    kernel = "NotEqual" if op == "NotEqual" else "FloorDiv"
    return given.lowered(op, given.tensor("x"), given.tensor("y"), kernel=kernel, domain=COREML)


@lowers("square")
def _square(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Mul", given.tensor("x"), given.tensor("x"))


@lowers(*_SHIFTED)
def _shifted(given: Arguments, types: Types) -> Lowered:
    op, default = _SHIFTED[given.operation.type]
    epsilon = given.number("epsilon", default)
    return given.lowered(op, given.tensor("x"), kernel=op, domain=COREML, epsilon=epsilon)


@lowers("clip")
def _clip(given: Arguments, types: Types) -> Lowered:
    low, high = given.number("alpha", -np.inf, "min"), given.number("beta", np.inf, "max")
    return given.lowered("Clip", given.tensor("x"), min=low, max=high)


@lowers("relu6")
def _relu6(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Clip", given.tensor("x"), min=0.0, max=6.0)


@lowers("threshold")
def _threshold(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Clip", given.tensor("x"), min=given.number("alpha", 0.0, "min"))


@lowers("silu")
def _silu(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Silu", given.tensor("x"), kernel="Swish", alpha=1.0)


@lowers("gelu")
def _gelu(given: Arguments, types: Types) -> Lowered:
    mode = given.text("mode", "EXACT")
    if mode == "SIGMOID_APPROXIMATION":
        return given.lowered("Swish", given.tensor("x"), alpha=1.702)
    forms = {"none": {"mode": "EXACT"}, "tanh": {"mode": "TANH_APPROXIMATION"}}
    how = next((form for form, stated in forms.items() if stated["mode"] == mode), None)
    if how is None:
        raise NotUnderstoodError(f"the mode {mode!r}")
    given.spelled = {"approximate": forms}
    return given.lowered("Gelu", given.tensor("x"), approximate=how)


@lowers("leaky_relu", "elu")
def _with_alpha(given: Arguments, types: Types) -> Lowered:
    op = "Elu" if given.operation.type == "elu" else "LeakyRelu"
    return given.lowered(op, given.tensor("x"), alpha=given.number("alpha", 1.0))


@lowers("thresholded_relu")
def _thresholded(given: Arguments, types: Types) -> Lowered:
    alpha = given.number("alpha", 1.0)
    return given.lowered(
        "ThresholdedRelu", given.tensor("x"), kernel="ThresholdedRelu", domain=COREML, alpha=alpha
    )


@lowers("sigmoid_hard")
def _hard_sigmoid(given: Arguments, types: Types) -> Lowered:
    alpha, beta = given.number("alpha", 0.2), given.number("beta", 0.5)
    return given.lowered("HardSigmoid", given.tensor("x"), alpha=alpha, beta=beta)


@lowers("linear_activation", "scaled_tanh")
def _scaled(given: Arguments, types: Types) -> Lowered:
    op = "Affine" if given.operation.type == "linear_activation" else "ScaledTanh"
    alpha, beta = given.number("alpha", 1.0), given.number("beta", 0.0 if op == "Affine" else 1.0)
    return given.lowered(op, given.tensor("x"), kernel=op, domain=COREML, alpha=alpha, beta=beta)


@lowers("prelu")
def _prelu(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "PRelu", given.tensor("x"), given.tensor("alpha"), kernel="PRelu", domain=COREML
    )


@lowers("cast")
def _cast(given: Arguments, types: Types) -> Lowered:
    word = given.text("dtype", "")
    if word not in _WORDS:
        raise NotUnderstoodError(f"the type {word!r}")
    return given.lowered("Cast", given.tensor("x"), to=_NUMBERS[_WORDS[word]])


@lowers("select")
def _select(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Where", given.tensor("cond"), given.tensor("a"), given.tensor("b"))


@lowers(*_REDUCTIONS)
def _reduction(given: Arguments, types: Types) -> Lowered:
    axes = given.wholes("axes") or None
    keep = given.flag("keep_dims", attribute="keepdims")
    op = _REDUCTIONS[given.operation.type]
    return given.lowered(op, given.tensor("x"), axes=axes, keepdims=keep)


@lowers("reduce_argmax", "reduce_argmin")
def _position(given: Arguments, types: Types) -> Lowered:
    op = "ArgMax" if given.operation.type == "reduce_argmax" else "ArgMin"
    axis, keep = (
        given.whole("axis", -1),
        given.flag("keep_dims", default=True, attribute="keepdims"),
    )
    return given.lowered(op, given.tensor("x"), axis=axis, keepdims=keep)


@lowers("softmax")
def _softmax(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Softmax", given.tensor("x"), axis=given.whole("axis", -1))


@lowers("reshape")
def _reshape(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Reshape", given.tensor("x"), given.tensor("shape"), allowzero=0)


@lowers("transpose")
def _transpose(given: Arguments, types: Types) -> Lowered:
    perm = given.wholes("perm")
    plain = tuple(each % max(len(perm), 1) for each in perm)
    return given.lowered("Transpose", given.tensor("x"), perm=plain)


@lowers("expand_dims")
def _unsqueeze(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Unsqueeze", given.tensor("x"), axes=given.wholes("axes"))


@lowers("squeeze")
def _squeeze(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Squeeze", given.tensor("x"), axes=given.wholes("axes") or None)


@lowers("concat")
def _concat(given: Arguments, types: Types) -> Lowered:
    if given.flag("interleave"):
        raise NotUnderstoodError("interleaved channels")
    return given.lowered("Concat", *given.tensors("values"), axis=given.whole("axis", 0))


@lowers("stack")
def _stack(given: Arguments, types: Types) -> Lowered:
    axis = given.whole("axis", 0)
    return given.lowered(
        "Stack", *given.tensors("values"), kernel="Stack", domain=COREML, axis=axis
    )


@lowers("split")
def _split(given: Arguments, types: Types) -> Lowered:
    axis, sizes = given.whole("axis", 0), given.wholes("split_sizes", attribute="split")
    more = {"split": sizes} if sizes else {"num_outputs": len(given.operation.outputs)}
    return given.lowered("Split", given.tensor("x"), axis=axis, **more)


@lowers("slice_by_index")
def _slice(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "Slice", given.tensor("x"), given.tensor("begin"), given.tensor("end"), kernel="Slice",
        domain=COREML, **slice_attributes(given, types),
    )  # fmt: skip


def slice_attributes(given: Arguments, types: Types) -> dict[str, tuple[int, ...]]:
    """The strides and masks of a slice."""
    rank = given.rank("x", types)
    none = (0,) * rank
    masks = {name: given.wholes(name, none) for name in ("begin_mask", "end_mask", "squeeze_mask")}
    return {"strides": given.wholes("stride", (1,) * rank, "strides"), **masks}


@lowers("slice_by_size")
def _slice_by_size(given: Arguments, types: Types) -> Lowered:
    inputs = [given.tensor(each) for each in ("x", "begin", "size")]
    return given.lowered("Slice", *inputs, kernel="SliceBySize", domain=COREML)


@lowers("crop")
def _crop(given: Arguments, types: Types) -> Lowered:
    height = given.wholes("crop_height", attribute="height")
    width = given.wholes("crop_width", attribute="width")
    return given.lowered(
        "Slice", given.tensor("x"), kernel="Crop", domain=COREML, height=height, width=width
    )


@lowers("gather")
def _gather(given: Arguments, types: Types) -> Lowered:
    if given.whole("batch_dims", 0):
        raise NotUnderstoodError("batch dimensions of gather")
    axis = given.whole("axis", 0)
    return given.lowered("Gather", given.tensor("x"), given.tensor("indices"), axis=axis)


@lowers("gather_along_axis")
def _gather_along(given: Arguments, types: Types) -> Lowered:
    axis = given.whole("axis", 0)
    return given.lowered("GatherElements", given.tensor("x"), given.tensor("indices"), axis=axis)


@lowers("gather_nd")
def _gather_nd(given: Arguments, types: Types) -> Lowered:
    batch = given.whole("batch_dims", 0)
    return given.lowered("GatherND", given.tensor("x"), given.tensor("indices"), batch_dims=batch)


@lowers("scatter", "scatter_along_axis", "scatter_nd")
def _scatter(given: Arguments, types: Types) -> Lowered:
    kind = given.operation.type
    mode = given.text("mode", "update" if kind == "scatter" else "add")
    if mode not in _SCATTER:
        raise NotUnderstoodError(f"the mode {mode!r}")
    inputs = [given.tensor(each) for each in ("data", "indices", "updates")]
    how = _SCATTER[mode]
    if kind == "scatter_nd":
        return given.lowered("ScatterND", *inputs, reduction=how)
    axis = given.whole("axis", 0)
    if kind == "scatter":
        return given.lowered(
            "ScatterElements", *inputs, kernel="Scatter", domain=COREML, axis=axis, reduction=how
        )
    return given.lowered("ScatterElements", *inputs, axis=axis, reduction=how)


@lowers("tile")
def _tile(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Tile", given.tensor("x"), given.tensor("reps"))


@lowers("pad")
def _pad(given: Arguments, types: Types) -> Lowered:
    rank, pairs = given.rank("x", types), given.wholes("pad")
    free = rank - len(pairs) // 2
    if len(pairs) % 2 or free < 0:
        raise NotUnderstoodError("the sizes of its padding")
    pads = (0,) * free + pairs[::2] + (0,) * free + pairs[1::2]
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    mode = modes.get(given.text("mode", "constant"))
    if mode is None:
        raise NotUnderstoodError("the mode of its padding")
    value = given.number("constant_val", 0.0, "value")
    return given.lowered("Pad", given.tensor("x"), pads=pads, mode=mode, value=value)


@lowers("topk", "argsort")
def _top_k(given: Arguments, types: Types) -> Lowered:
    axis, largest = given.whole("axis", -1), int(not given.flag("ascending"))
    if given.operation.type == "argsort":
        return given.lowered(
            "TopK", given.tensor("x"), kernel="ArgSort", domain=COREML, axis=axis, largest=largest
        )
    k = given.whole("k", 1)
    return given.lowered("TopK", given.tensor("x"), k=k, axis=axis, largest=largest, sorted=1)


@lowers("cumsum")
def _cumsum(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "CumSum", given.tensor("x"), kernel="CumSum", domain=COREML, axis=given.whole("axis", 0),
        exclusive=given.flag("exclusive"), reverse=given.flag("reverse"),
    )  # fmt: skip


@lowers("range_1d")
def _range(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Range", given.tensor("start"), given.tensor("end"), given.tensor("step"))


@lowers("fill")
def _fill(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "ConstantOfShape", given.tensor("shape"), kernel="Fill", domain=COREML,
        value=given.number("value", 0.0), to=str(given.type.dtype),
    )  # fmt: skip


@lowers("band_part")
def _band(given: Arguments, types: Types) -> Lowered:
    lower, upper = given.whole("lower", -1), given.whole("upper", -1)
    return given.lowered(
        "Trilu", given.tensor("x"), kernel="Band", domain=COREML, lower=lower, upper=upper
    )


@lowers("reverse")
def _reverse(given: Arguments, types: Types) -> Lowered:
    axes = given.wholes("axes") or None
    return given.lowered("Reverse", given.tensor("x"), kernel="Reverse", domain=COREML, axes=axes)


_BLOCKS = {
    "pixel_shuffle": ("DepthToSpace", "upscale_factor", "CRD"),
    "pixel_unshuffle": ("SpaceToDepth", "downscale_factor", "CRD"),
    "depth_to_space": ("DepthToSpace", "block_size", "DCR"),
    "space_to_depth": ("SpaceToDepth", "block_size", "DCR"),
}


@lowers(*_BLOCKS)
def _depth(given: Arguments, types: Types) -> Lowered:
    op, parameter, mode = _BLOCKS[given.operation.type]
    size = given.whole(parameter, 1, "blocksize")
    return given.lowered(op, given.tensor("x"), blocksize=size, mode=mode)
