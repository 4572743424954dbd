"""What the operators of MIL compute that place, find or sample numbers, and rarer activations."""

from __future__ import annotations

from isomorph.frameworks.coreml.arguments import Arguments, Lowered, NotUnderstoodError
from isomorph.frameworks.coreml.operators import Types, lowers, slice_attributes
from isomorph.kernels.mil import COREML

_PADDING = {"constant": "zeros", "border": "border", "reflection": "reflection"}


@lowers("exp2")
def _exp2(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Exp2", given.tensor("x"), kernel="Exp2", domain=COREML)


@lowers("clamped_relu")
def _clamped_relu(given: Arguments, types: Types) -> Lowered:
    alpha, beta = given.number("alpha", 0.0), given.number("beta", 0.0)
    return given.lowered(
        "ClampedRelu", given.tensor("x"), kernel="ClampedRelu", domain=COREML, alpha=alpha,
        beta=beta,
    )  # fmt: skip


@lowers("softplus_parametric")
def _softplus(given: Arguments, types: Types) -> Lowered:
    inputs = [given.tensor(each) for each in ("x", "alpha", "beta")]
    return given.lowered("Softplus", *inputs, kernel="SoftplusParametric", domain=COREML)


@lowers("one_hot")
def _one_hot(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "OneHot", given.tensor("indices"), given.tensor("one_hot_vector_size"), kernel="OneHot",
        domain=COREML, axis=given.whole("axis", -1), on=given.number("on_value", 1.0, "on"),
        off=given.number("off_value", 0.0, "off"), to=str(given.type.dtype),
    )  # fmt: skip


@lowers("non_zero")
def _non_zero(given: Arguments, types: Types) -> Lowered:
    return given.lowered("NonZero", given.tensor("x"), kernel="NonZero", domain=COREML)


@lowers("fill_like")
def _fill_like(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "ConstantOfShape", given.tensor("ref_tensor"), kernel="FillLike", domain=COREML,
        value=given.number("value", 0.0), to=str(given.type.dtype),
    )  # fmt: skip


@lowers("slice_update")
def _slice_update(given: Arguments, types: Types) -> Lowered:
    inputs = [given.tensor(each) for each in ("x", "update", "begin", "end")]
    return given.lowered(
        "SliceScatter", *inputs, kernel="SliceUpdate", domain=COREML,
        **slice_attributes(given, types),
    )  # fmt: skip


@lowers("resample")
def _resample(given: Arguments, types: Types) -> Lowered:
    if given.text("coordinates_mode", "") != "normalized_minus_one_to_one":
        raise NotUnderstoodError("the mode of its coordinates")
    padding = _PADDING.get(given.text("padding_mode", ""))
    if padding is None or given.number("padding_value", 0.0):
        raise NotUnderstoodError("the mode of its padding")
    inputs = given.tensor("x"), given.tensor("coordinates")
    return given.lowered(
        "GridSample", *inputs, kernel="Resample", domain=COREML, padding_mode=padding,
        mode=given.text("sampling_mode", "bilinear"), align_corners=given.flag("align_corners"),
    )  # fmt: skip
