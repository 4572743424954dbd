"""What the layers of MIL compute: products, windows, normalization, recurrence, weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.frameworks.coreml.arguments import Arguments, Lowered, NotUnderstoodError, Spelled
from isomorph.frameworks.coreml.operators import Types, lowers
from isomorph.frameworks.coreml.program import Array
from isomorph.kernels.mil import COREML
from isomorph.kernels.packed_storage import unpacked

_GATES = {
    "lstm": ("recurrent_activation", "cell_activation", "activation"),
    "gru": ("recurrent_activation", "activation"), "rnn": ("activation",),
}  # fmt: skip
"""The functions of a recurrent layer, in the order in which ONNX lists them."""
_AUTO = {"valid": "VALID", "same": "SAME_UPPER", "same_lower": "SAME_LOWER", "custom": "NOTSET"}


@lowers("linear")
def _linear(given: Arguments, types: Types) -> Lowered:
    inputs = [given.tensor(each) for each in ("x", "weight", "bias")]
    return given.lowered("Gemm", *inputs, kernel="Linear", domain=COREML, transB=1)


@lowers("matmul")
def _matmul(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "MatMul", given.tensor("x"), given.tensor("y"), kernel="MatMul", domain=COREML,
        transA=given.flag("transpose_x", attribute="transA"),
        transB=given.flag("transpose_y", attribute="transB"),
    )  # fmt: skip


@lowers("einsum")
def _einsum(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Einsum", *given.tensors("values"), equation=given.text("equation", ""))


@lowers("scaled_dot_product_attention")
def _attention(given: Arguments, types: Types) -> Lowered:
    inputs = [given.tensor(each) for each in ("query", "key", "value", "attn_mask")]
    return given.lowered("Attention", *inputs, kernel="Attention", domain=COREML)


def _windows(given: Arguments, rank: int) -> dict[str, Any]:
    """Strides, dilations and padding of a window over so many spatial axes."""
    kind = given.text("pad_type", "valid")
    if kind not in _AUTO:
        raise NotUnderstoodError(f"the padding {kind!r}")
    pairs = given.wholes("pad", (0,) * 2 * rank) if kind == "custom" else (0,) * 2 * rank
    given.origins["pads"] = "pad"
    return {
        "strides": given.wholes("strides", (1,) * rank),
        "pads": pairs[::2] + pairs[1::2],
        "auto_pad": "NOTSET" if kind in {"custom", "valid"} else _AUTO[kind],
    }


@lowers("conv")
def _conv(given: Arguments, types: Types) -> Lowered:
    rank = given.rank("x", types) - 2
    inputs = [given.tensor(each) for each in ("x", "weight", "bias")]
    return given.lowered(
        "Conv", *inputs, **_windows(given, rank), dilations=given.wholes("dilations", (1,) * rank),
        group=given.whole("groups", 1, "group"),
    )  # fmt: skip


@lowers("conv_transpose")
def _conv_transpose(given: Arguments, types: Types) -> Lowered:
    rank = given.rank("x", types) - 2
    inputs = [given.tensor(each) for each in ("x", "weight", "bias")]
    place = _windows(given, rank)
    if place["auto_pad"] != "NOTSET":
        raise NotUnderstoodError("automatic padding of a transposed convolution")
    size = given.wholes("output_shape")[-rank:] if given.has("output_shape") else None
    return given.lowered(
        "ConvTranspose", *inputs, kernel="ConvTranspose", domain=COREML, **place,
        dilations=given.wholes("dilations", (1,) * rank), group=given.whole("groups", 1, "group"),
        size=size,
    )  # fmt: skip


@lowers("max_pool", "avg_pool", "l2_pool")
def _pool(given: Arguments, types: Types) -> Lowered:
    kernel = given.wholes("kernel_sizes", attribute="kernel_shape")
    place = {
        **_windows(given, len(kernel)),
        "kernel_shape": kernel,
        "ceil_mode": given.flag("ceil_mode"),
    }
    if given.operation.type == "max_pool":
        return given.lowered("MaxPool", given.tensor("x"), **place, dilations=(1,) * len(kernel))
    if given.operation.type == "l2_pool":
        return given.lowered("LpPool", given.tensor("x"), **place, p=2)
    counted = int(not given.flag("exclude_padding_from_average"))
    return given.lowered("AveragePool", given.tensor("x"), **place, count_include_pad=counted)


@lowers("batch_norm", "instance_norm")
def _normalization(given: Arguments, types: Types) -> Lowered:
    epsilon = given.number("epsilon", 1e-5)
    names = ["x", "gamma", "beta"]
    if given.operation.type == "instance_norm":
        op = "InstanceNormalization"
    else:
        op, names = "BatchNormalization", [*names, "mean", "variance"]
    inputs = [given.tensor(each) for each in names]
    return given.lowered(op, *inputs, kernel=op, domain=COREML, epsilon=epsilon)


@lowers("layer_norm")
def _layer_norm(given: Arguments, types: Types) -> Lowered:
    rank, axes = given.rank("x", types), given.wholes("axes")
    places = sorted(each % rank for each in axes) if axes else list(range(rank))
    if places != list(range(places[0], rank)):
        raise NotUnderstoodError("normalization over other axes than the last ones")
    inputs = [given.tensor(each) for each in ("x", "gamma", "beta")]
    return given.lowered(
        "LayerNormalization", *inputs, kernel="LayerNormalization", domain=COREML,
        axis=places[0] - rank, epsilon=given.number("epsilon", 1e-5),
    )  # fmt: skip


@lowers("local_response_norm")
def _local_response(given: Arguments, types: Types) -> Lowered:
    return given.lowered(
        "LRN", given.tensor("x"), size=given.whole("size", 1), alpha=given.number("alpha", 1e-4),
        beta=given.number("beta", 0.75), bias=given.number("k", 1.0, "bias"),
    )  # fmt: skip


_WHERE: Spelled = {
    "coordinate_transformation_mode": {
        "align_corners": {"align_corners": True},
        "half_pixel": {"align_corners": False, "half_pixel_centers": True},
        "asymmetric": {"align_corners": False, "half_pixel_centers": False},
    }
}
_SAMPLED: Spelled = {
    "coordinate_transformation_mode": {
        "align_corners": {"sampling_mode": "STRICT_ALIGN_CORNERS"},
        "half_pixel": {"sampling_mode": "UNALIGN_CORNERS"},
        "asymmetric": {"sampling_mode": "DEFAULT"},
    }
}
"""Where a resized picture is sampled, by the parameters of either operator."""


@lowers("upsample_nearest_neighbor", "upsample_bilinear")
def _upsample(given: Arguments, types: Types) -> Lowered:
    scales = tuple(given.number(f"scale_factor_{each}", 1.0) for each in ("height", "width"))
    corners = given.flag("align_corners", default=True)
    if given.operation.type == "upsample_nearest_neighbor":
        mode, where = "nearest", "asymmetric"
    else:
        given.spelled = _WHERE
        half = given.flag("half_pixel_centers", default=not corners)
        where = "align_corners" if corners else "half_pixel" if half else "asymmetric"
        mode = "linear"
    return given.lowered(
        "Resize", given.tensor("x"), kernel="Upsample", domain=COREML, mode=mode, scales=scales,
        coordinate_transformation_mode=where, nearest_mode="floor",
    )  # fmt: skip


@lowers("resize_bilinear", "resize_nearest_neighbor", "resize")
def _resize(given: Arguments, types: Types) -> Lowered:
    sizes = tuple(given.whole(f"target_size_{each}", 1) for each in ("height", "width"))
    sampling = given.text("sampling_mode", "DEFAULT")
    bilinear = given.operation.type == "resize_bilinear"
    where = {
        "STRICT_ALIGN_CORNERS": "align_corners", "UNALIGN_CORNERS": "half_pixel",
        "DEFAULT": "asymmetric",
    }.get(sampling)  # fmt: skip
    if given.operation.type == "resize" or where is None or not (bilinear or where == "asymmetric"):
        raise NotUnderstoodError(f"the sampling {sampling!r}")
    given.spelled = _SAMPLED if bilinear else {}
    return given.lowered(
        "Resize", given.tensor("x"), kernel="Upsample", domain=COREML,
        mode="linear" if bilinear else "nearest", sizes=sizes,
        coordinate_transformation_mode=where, nearest_mode="floor",
    )  # fmt: skip


@lowers("lstm", "gru", "rnn")
def _recurrent(given: Arguments, types: Types) -> Lowered:
    kind = given.operation.type
    if any(given.has(each) for each in ("peephole", "peephole_back")):
        raise NotUnderstoodError("peephole weights")
    names = ["x", "initial_h", "initial_c", "weight_ih", "weight_hh", "bias",
             "weight_ih_back", "weight_hh_back", "bias_back"]  # fmt: skip
    inputs = [given.tensor(each) for each in names]
    gates = _GATES[kind]
    functions = tuple(
        given.text(each, "sigmoid" if each == "recurrent_activation" else "tanh") for each in gates
    )
    if not set(functions) <= {"sigmoid", "tanh", "relu"}:
        raise NotUnderstoodError(f"the activations {functions}")
    attributes: dict[str, Any] = {
        "direction": given.text("direction", "forward"),
        "output_sequence": given.flag("output_sequence"),
        "activations": functions,
    }
    if given.has("clip"):
        attributes["clip"] = given.number("clip", 0.0)
    return given.lowered(kind.upper(), *inputs, kernel=kind.upper(), domain=COREML, **attributes)


@lowers("quantize", "dequantize")
def _quantizer(given: Arguments, types: Types) -> Lowered:
    op = "QuantizeLinear" if given.operation.type == "quantize" else "DequantizeLinear"
    inputs = [given.tensor(each) for each in ("input", "scale", "zero_point")]
    if op == "QuantizeLinear" and not inputs[2]:
        inputs[2] = given.store("zero_point", np.zeros((), given.text("output_dtype", "int8")))
    return given.lowered(op, *inputs, axis=given.whole("axis", 1), block_size=0)


@lowers("constexpr_cast")
def _stored_cast(given: Arguments, types: Types) -> Lowered:
    return given.lowered("Cast", given.tensor("source_val"), to=1)


@lowers("constexpr_affine_dequantize")
def _affine(given: Arguments, types: Types) -> Lowered:
    inputs = [given.tensor(each) for each in ("quantized_data", "scale", "zero_point")]
    axis = given.whole("axis", 0)
    return given.lowered("DequantizeLinear", *inputs, axis=axis, block_size=0)


@lowers("constexpr_blockwise_shift_scale")
def _blockwise(given: Arguments, types: Types) -> Lowered:
    data, scale, offset = (given.array(each) for each in ("data", "scale", "offset"))
    if data is None or scale is None or data.dtype.kind == "f" or data.ndim != scale.ndim:
        raise NotUnderstoodError("scales of another rank than the data")
    if any(not small or size % small for size, small in zip(data.shape, scale.shape, strict=True)):
        raise NotUnderstoodError("blocks that do not fit the data")
    axis, block = _block_axis(data, scale)
    parts = [_spread(each, data, axis, block) for each in (scale, offset) if each is not None]
    names = [given.store(word, part) for word, part in zip(("scale", "zero"), parts, strict=False)]
    return given.lowered(
        "DequantizeLinear", given.tensor("data"), *names, axis=axis, block_size=block
    )


def _block_axis(data: Array, scale: Array) -> tuple[int, int]:
    """The axis of the scales, and how many neighbors on it share one; 0 for one of each index."""
    sizes = [(axis, size // scale.shape[axis]) for axis, size in enumerate(data.shape)]
    within = [each for each in sizes if 1 < each[1] < data.shape[each[0]]]
    own = [axis for axis, size in enumerate(scale.shape) if size > 1]
    if not within and len(own) <= 1:
        return (own[0] if own else 0), 0
    return within[-1] if within else (own[-1], 1)


def _spread(part: Array, data: Array, axis: int, block: int) -> Array:
    """Scales as ONNX lays them out: one for each index of an axis, or blocks on it alone."""
    if not block:
        return part.reshape(-1)
    for place, size in enumerate(data.shape):
        if place != axis:
            part = np.repeat(part, size // part.shape[place], axis=place)
    return part


@lowers("constexpr_lut_to_dense")
def _palette(given: Arguments, types: Types) -> Lowered:
    lut, indices = given.array("lut"), given.array("indices")
    if lut is None or indices is None or lut.dtype.kind != "f":
        raise NotUnderstoodError("a palette of integers")
    if given.has("shape"):
        shape, bits = given.wholes("shape"), int(lut.size).bit_length() - 1
        if lut.ndim != 1 or lut.size != 1 << bits or not 0 < bits <= 8:
            raise NotUnderstoodError(f"a palette of {lut.size} numbers")
        count = int(np.prod(shape, dtype=object))
        if indices.size != -(-count * bits // 8):
            raise NotUnderstoodError(f"{indices.size} bytes of indices for {count} numbers")
        indices, table = unpacked(indices, bits, count).reshape(shape), lut
        found, palette = given.store("indices", indices), given.tensor("lut")
    else:
        if lut.ndim != indices.ndim + 2 or lut.shape[-1] != 1:
            raise NotUnderstoodError("a palette of vectors")
        own = [axis for axis, size in enumerate(lut.shape[:-2]) if size > 1]
        table = lut.reshape(-1, lut.shape[-2])
        if len(own) > 1 or any(
            size % part for size, part in zip(indices.shape, lut.shape, strict=False)
        ):
            raise NotUnderstoodError("palettes for blocks of several axes")
        indices = _with_groups(indices, lut, own[0] if own else 0)
        table = table.reshape(-1)
        found, palette = given.store("indices", indices), given.store("lut", table)
    if indices.size and int(indices.max()) >= table.size:
        raise NotUnderstoodError("an index beyond its palette")
    return given.lowered("PaletteLookup", found, palette, kernel="Palette", domain=COREML)


def _with_groups(indices: Array, lut: Array, axis: int) -> Array:
    """Indices into all palettes of a tensor one behind the other."""
    groups = lut.shape[axis]
    which = np.arange(indices.shape[axis]) // (indices.shape[axis] // groups)
    shape = [-1 if each == axis else 1 for each in range(indices.ndim)]
    wide = indices.astype(np.int32) + (which * lut.shape[-2]).reshape(shape).astype(np.int32)
    return np.asarray(wide)


@lowers("constexpr_sparse_to_dense")
def _sparse(given: Arguments, types: Types) -> Lowered:
    data, mask = given.array("nonzero_data"), given.array("mask")
    if data is None or mask is None:
        raise NotUnderstoodError("sparse weights without data")
    shape = given.wholes("shape") if given.has("shape") else mask.shape
    count = int(np.prod(shape, dtype=object))
    if given.has("shape"):
        if mask.size != -(-count // 8):
            raise NotUnderstoodError(f"{mask.size} bytes of a mask for {count} numbers")
        mask = unpacked(mask, 1, count)
    kept = mask.reshape(-1) != 0
    if int(kept.sum()) != data.size:
        raise NotUnderstoodError(f"{data.size} numbers for {int(kept.sum())} places")
    dense = np.zeros(count, data.dtype)
    dense[kept] = data.reshape(-1)
    return given.lowered("Identity", given.store("dense", dense.reshape(shape)))
