"""How much each ATen operator rounds, and the same operator with that much noise.

Sums of products are disturbed by their length and the sizes of their terms, elementwise
operators by the largest intermediate of the textbook formula, composite ones step by step.
What only moves data is left alone. An operator nobody described is disturbed at its inputs and
its outputs by one rounding each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from isomorph.core.ops import MOVES_DATA
from isomorph.kernels.noise import NoiseSource
from isomorph.native.torch_bound import array, axes_of, bound, on_floats, tensor
from isomorph.native.torch_composites import COMPOSITES
from isomorph.native.torch_interpreter import call_target
from isomorph.native.torch_ops import neutral_name
from isomorph.native.torch_program import Step, operator_name, packet_name

_SUMS = frozenset(
    [
        "conv1d",
        "conv2d",
        "conv3d",
        "convolution",
        "_convolution",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "linear",
        "mm",
        "addmm",
        "bmm",
        "baddbmm",
        "addbmm",
        "matmul",
        "mv",
        "addmv",
        "dot",
        "vdot",
        "inner",
        "einsum",
        "tensordot",
        "bilinear",
        "sum",
        "mean",
        "nansum",
        "nanmean",
        "cumsum",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
        "_adaptive_avg_pool2d",
        "_adaptive_avg_pool3d",
        "scatter_add",
        "index_add",
        "col2im",
        "trace",
        "upsample_linear1d",
        "upsample_bilinear2d",
        "upsample_trilinear3d",
        "upsample_bicubic2d",
        "_upsample_bilinear2d_aa",
        "_upsample_bicubic2d_aa",
        "linalg_vector_norm",
        "norm",
        "frobenius_norm",
        "prod",
        "cumprod",
        "outer",
        "logsumexp",
    ]
)
"""Everything that adds up many terms; the same operator on absolute values sizes them."""

_ONE = frozenset(
    [
        "sigmoid",
        "tanh",
        "erf",
        "erfc",
        "hardsigmoid",
        "sin",
        "cos",
        "asin",
        "acos",
        "atan",
        "atan2",
        "special_expit",
        "arcsin",
        "arccos",
        "arctan",
        "softsign",
        "sinc",
    ]
)
_AT_LEAST_ONE = frozenset(
    ["softplus", "log_sigmoid", "log_sigmoid_forward", "logaddexp", "logaddexp2", "asinh", "acosh", "atanh", "elu", "selu", "celu"]
)  # fmt: skip
_INPUT = frozenset(["gelu", "silu", "mish", "hardswish", "tanhshrink", "logit"])
_OWN = frozenset(
    [
        "exp",
        "exp2",
        "expm1",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "pow",
        "square",
        "log",
        "log2",
        "log10",
        "log1p",
        "sinh",
        "cosh",
        "tan",
        "float_power",
        "hypot",
        "xlogy",
        "entr",
        "special_entr",
        "glu",
    ]
)
_PRODUCTS = frozenset(
    [
        "mul",
        "multiply",
        "div",
        "divide",
        "true_divide",
        "__mul__",
        "operator.mul",
        "operator.truediv",
    ]
)
_DIFFERENCES = frozenset(
    [
        "add",
        "sub",
        "subtract",
        "rsub",
        "addcmul",
        "addcdiv",
        "lerp",
        "__add__",
        "__sub__",
        "operator.add",
        "operator.sub",
    ]
)
_NEGATIVE_SIDE = frozenset(["leaky_relu", "prelu", "_prelu_kernel", "rrelu"])
_EXACT = frozenset(
    [
        "to",
        "_to_copy",
        "type_as",
        "float",
        "double",
        "half",
        "bfloat16",
        "clone",
        "dropout",
        "native_dropout",
        "alpha_dropout",
        "feature_dropout",
        "zeros_like",
        "ones_like",
        "full_like",
        "empty_like",
        "new_zeros",
        "new_ones",
        "new_full",
        "new_empty",
        "arange",
        "linspace",
        "floor_divide",
        "trunc",
        "frac",
        "remainder",
        "fmod",
        "relu6",
        "hardtanh",
        "threshold",
        "sort",
        "nonzero",
        "unfold",
        "im2col",
        "fill",
        "zero",
        "copy",
        "index_fill",
        "masked_scatter",
        "masked_select",
        "diagonal",
        "diag",
        "diag_embed",
        "upsample_nearest1d",
        "upsample_nearest2d",
        "upsample_nearest3d",
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d",
        "hardshrink",
        "softshrink",
        "nan_to_num",
        "item",
        "_local_scalar_dense",
        "max",
        "min",
        "median",
        "mode",
        "roll",
        "rot90",
        "as_strided",
        "real",
        "imag",
        "sgn",
        "scaled_dropout",
        "unbind",
        "unfold_copy",
        "isclose",
        "meshgrid",
        "cartesian_prod",
        "bucketize",
        "searchsorted",
        "one_hot",
        "channel_shuffle",
        "cummax",
        "cummin",
        "scatter",
        "repeat_interleave",
        "triu",
        "tril",
    ]
)


def disturbed(step: Step, arguments: list[Any], named: dict[str, Any], source: NoiseSource) -> Any:  # noqa: ANN401
    """The step's result with the rounding of its arithmetic."""
    word = plain_word(step)
    composite = COMPOSITES.get(word)
    if composite is not None:
        result = composite(bound(step, arguments, named), source)
        if result is not None:
            return result
    if word in _SUMS:
        return _sum(step, word, arguments, named, source)
    if rounds_nothing(step):
        return call_target(step, arguments, named)
    size = _size_rule(word)
    if size is None:
        return _unknown(step, arguments, named, source)
    result = call_target(step, arguments, named)
    magnitude = size(bound(step, arguments, named), result)
    if magnitude is None:
        return result
    return _each(result, lambda value: source.rounded(array(value), magnitude))


def plain_word(step: Step) -> str:
    """``relu`` of ``aten.relu_.default``."""
    word = packet_name(step.target)
    return word if word.startswith("__") else word.rstrip("_")


def rounds_nothing(step: Step) -> bool:
    """Whether the operator selects, moves or negates, and therefore never rounds."""
    word = plain_word(step)
    if word in _SUMS:
        return False
    return word in _EXACT or neutral_name(operator_name(step.target)) in MOVES_DATA


def _each(result: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    return on_floats(result, lambda value: tensor(change(value)))


def _unknown(step: Step, arguments: list[Any], named: dict[str, Any], source: NoiseSource) -> Any:  # noqa: ANN401
    def shaken(value: Any) -> Any:  # noqa: ANN401
        return on_floats(value, lambda each: tensor(source.rounded(array(each))))

    result = call_target(
        step,
        [shaken(value) for value in arguments],
        {key: shaken(each) for key, each in named.items()},
    )
    return _each(result, lambda value: source.rounded(array(value)))


# --- sums -------------------------------------------------------------------------------------


def _sum(
    step: Step, word: str, arguments: list[Any], named: dict[str, Any], source: NoiseSource
) -> Any:  # noqa: ANN401
    result = call_target(step, list(arguments), dict(named))
    given = bound(step, arguments, named)

    def magnitude() -> Any:  # noqa: ANN401
        sizes = [_sized(value) for value in arguments]
        return array(call_target(step, sizes, {key: _sized(each) for key, each in named.items()}))

    if word == "logsumexp":
        return _each(
            result, lambda value: source.rounded(array(value), np.maximum(1.0, abs(array(value))))
        )
    length = _length(word, given, result)
    noisy = _each(result, lambda value: source.reduced(array(value), magnitude, length))
    return (
        _shifted(word, given, noisy, source)
        if word.startswith(("upsample", "_upsample"))
        else noisy
    )


def _sized(value: Any) -> Any:  # noqa: ANN401
    # Negative factors (alpha, beta) count by their size too; integers are sizes and axes.
    if isinstance(value, float):
        return abs(value)
    return on_floats(value, torch.abs)


def _length(word: str, given: Mapping[str, Any], result: Any) -> int:  # noqa: ANN401
    weight = given.get("weight")
    if word.startswith(("conv", "_conv")) and isinstance(weight, torch.Tensor):
        transposed = "transpose" in word or bool(given.get("transposed"))
        channels = (
            weight.shape[0] // max(int(given.get("groups", 1)), 1)
            if transposed
            else weight.shape[1]
        )
        return int(channels * math.prod(weight.shape[2:]))
    if word == "einsum":
        return _einsum_length(given)
    operands = [value for value in given.values() if isinstance(value, torch.Tensor)]
    if word in {"cumsum", "cumprod"}:
        return (
            int(operands[0].shape[axes_of(given["dim"], operands[0].dim())[0]])
            if operands[0].dim()
            else 1
        )
    if word in {"linear", "mm", "bmm", "matmul", "mv", "dot", "vdot", "inner"}:
        return int(operands[0].shape[-1]) if operands[0].dim() else 1
    if word in {"addmm", "baddbmm", "addbmm", "addmv"}:
        return int(operands[1].shape[-1])
    if word.startswith(("upsample", "_upsample")):
        return 16 if "cubic" in word else 4
    outputs = result.numel() if isinstance(result, torch.Tensor) else 1
    return max(1, operands[0].numel() // max(1, outputs))


def _einsum_length(given: Mapping[str, Any]) -> int:
    left, _, kept = str(given["equation"]).replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for term, operand in zip(left.split(","), given["tensors"], strict=False):
        letters = term.replace("...", "")
        if len(letters) == operand.dim() or "..." in term:
            sizes.update(zip(letters[::-1], list(operand.shape)[::-1], strict=False))
    return math.prod(size for letter, size in sizes.items() if letter not in kept) or 1


def _shifted(word: str, given: Mapping[str, Any], result: Any, source: NoiseSource) -> Any:  # noqa: ANN401
    """Interpolation reads at coordinates that were rounded, unless the scale is exact."""
    value = array(result)
    before = given.get("input", given.get("self"))
    for axis in range(2, value.ndim):
        wide, narrow = value.shape[axis], before.shape[axis]
        scale = (narrow - 1) / max(wide - 1, 1) if given.get("align_corners") else narrow / wide
        if wide < 2 or float(np.float32(scale)) == scale:
            continue
        slope = np.abs(np.gradient(value, axis=axis))
        place = np.arange(wide, dtype=np.float64).reshape([-1] + [1] * (value.ndim - axis - 1))
        value = source.rounded(value, slope * place)
    return tensor(value)


# --- elementwise ------------------------------------------------------------------------------

_Size = Callable[[Mapping[str, Any], Any], Any]


def _size_rule(word: str) -> _Size | None:
    for words, rule in (
        (_OWN, _own), (_ONE, _one), (_AT_LEAST_ONE, _at_least_one), (_INPUT, _input),
        (_PRODUCTS, _product), (_DIFFERENCES, _largest), (_NEGATIVE_SIDE, _negative_side),
    ):  # fmt: skip
        if word in words:
            return rule
    return None


def _own(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.abs(array(result))


def _one(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return 1.0


def _at_least_one(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    first = result[0] if isinstance(result, (tuple, list)) else result
    return np.maximum(1.0, np.abs(array(first)))


def _input(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.abs(array(given["self"]))


def _product(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    factor = given.get("other")
    if isinstance(factor, torch.Tensor) and factor.dim() == 0:
        factor = factor.item()
    # A power of two changes the exponent alone.
    if isinstance(factor, (int, float)) and factor and math.frexp(abs(factor))[0] == 0.5:
        return None
    return np.abs(array(result)) if isinstance(result, torch.Tensor) else None


def _largest(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    if not isinstance(result, torch.Tensor):
        return None
    largest = np.abs(array(result))
    alpha = given.get("alpha", 1)
    for name, value in given.items():
        if name in {"alpha", "value"}:
            continue
        factor = abs(float(alpha)) if name == "other" else 1.0
        if isinstance(value, torch.Tensor):
            largest = np.maximum(largest, factor * np.abs(array(value)))
        elif isinstance(value, (int, float)):
            largest = np.maximum(largest, factor * abs(value))
    return largest


def _negative_side(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.where(array(given["self"]) < 0, np.abs(array(result)), 0.0)


def stored(result: Any, unit: float, random: np.random.Generator) -> Any:  # noqa: ANN401
    """Values after being kept in a narrow type: uniform within one unit of their own size."""

    def change(value: Any) -> Any:  # noqa: ANN401
        plain = array(value)
        step = random.uniform(-unit, unit, plain.shape) * np.abs(plain)
        return np.where(np.isfinite(plain), plain + step, plain)

    return _each(result, change)


def words_of(operators: Sequence[str]) -> tuple[str, ...]:
    """Which of these operators have no rule of their own."""
    known = _SUMS | _ONE | _AT_LEAST_ONE | _INPUT | _OWN | _PRODUCTS | _DIFFERENCES
    known |= _NEGATIVE_SIDE | _EXACT | frozenset(COMPOSITES)
    return tuple(word for word in operators if word not in known)
