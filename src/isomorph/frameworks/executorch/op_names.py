"""Operators of ExecuTorch: their neutral names, and the names of their arguments in order.

A program stores arguments by position alone. An operator is listed by its name without
namespace and overload; ``name/overload`` where an overload differs.
"""

from __future__ import annotations

from collections.abc import Iterator

TENSORS = frozenset(
    {
        "input", "self", "weight", "bias", "other", "mat1", "mat2", "running_mean", "running_var",
        "index", "indices", "src", "mask", "condition", "tensors", "scales", "zero_points",
        "min", "max",
    }
)  # fmt: skip
"""Arguments that are tensors where the program leaves them out."""

_WINDOW = "stride padding dilation"

# Operators with the same arguments, each with its neutral name where that is not its own.
_TABLE = f"""
convolution=Conv | input weight bias {_WINDOW} transposed output_padding groups
linear=Gemm | input weight bias
addmm=Gemm | self mat1 mat2 beta alpha
mm=MatMul bmm=MatMul | self mat2
_native_batch_norm_legit_no_training=BatchNormalization | input weight bias running_mean \
running_var momentum eps
_native_batch_norm_legit/no_stats_out=BatchNormalization | input weight bias training momentum \
eps
native_layer_norm=LayerNormalization | input normalized_shape weight bias eps
native_group_norm=GroupNormalization | input weight bias N C HxW group eps
add sub rsub=Sub | self other alpha
mul div floor_divide=FloorDiv remainder=Mod fmod=Mod maximum=Max minimum=Min atan2 eq=Equal \
ne=NotEqual lt=Less le=LessOrEqual gt=Greater ge=GreaterOrEqual logical_and=And logical_or=Or \
logical_xor=Xor bitwise_and=And bitwise_or=Or bitwise_xor=Xor truediv=Div floordiv=FloorDiv mod | \
self other
div/out_mode=Div div/Scalar_mode_out=Div | self other rounding_mode
pow | self exponent
isinf=IsInf isnan=IsNaN logical_not=Not bitwise_not=Not max/unary_out=ReduceMax \
min/unary_out=ReduceMin any/all_out=ReduceAny t_copy=Transpose alias_copy=Identity \
detach_copy=Identity lift_fresh_copy=Identity nonzero=NonZero sym_numel=Size abs acos acosh asin \
asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 neg reciprocal relu round \
rsqrt sigmoid sign sin sinh sqrt tan tanh trunc | self
gelu | self approximate
elu | self alpha scale input_scale
leaky_relu=LeakyRelu | self negative_slope
hardtanh=Clip | self min_val max_val
clamp=Clip | self min max
glu unbind_copy=Split unsqueeze_copy=Unsqueeze squeeze_copy=Squeeze sym_size=Shape | self dim
_softmax=Softmax _log_softmax=LogSoftmax | self dim half_to_float
mean=ReduceMean sum=ReduceSum prod=ReduceProd | self dim keepdim dtype
mean/dtype_out=ReduceMean prod/out=ReduceProd | self dtype
amax=ReduceMax amin=ReduceMin max=ReduceMax min=ReduceMin any=ReduceAny argmax=ArgMax \
argmin=ArgMin | self dim keepdim
var=Variance | self dim correction keepdim
var/out=Variance | self dim unbiased keepdim
cumsum=CumSum | self dim dtype
topk=TopK | self k dim largest sorted
where | condition self other
masked_fill=Where | self mask value
avg_pool2d=AveragePool | self kernel_size stride padding ceil_mode count_include_pad \
divisor_override
max_pool2d_with_indices=MaxPool | self kernel_size {_WINDOW} ceil_mode
_adaptive_avg_pool2d=AveragePool | self output_size
upsample_bilinear2d=Resize | input output_size align_corners scale_factors
upsample_nearest2d=Resize | input output_size scale_factors
_upsample_bilinear2d_aa=Resize | input output_size align_corners scales_h scales_w
grid_sampler_2d=GridSample | input grid interpolation_mode padding_mode align_corners
pixel_shuffle=DepthToSpace | self upscale_factor
pixel_unshuffle=SpaceToDepth | self downscale_factor
cat=Concat stack=Concat | tensors dim
split_copy=Split | self split_size dim
split_with_sizes_copy=Split | self split_sizes dim
permute_copy=Transpose flip=Reverse | self dims
transpose_copy=Transpose | self dim0 dim1
view_copy=Reshape et_view=Reshape | self size
expand_copy=Expand | self size implicit
repeat=Tile | self repeats
slice_copy=Slice | self dim start end step
narrow_copy=Slice | self dim start length
select_copy=Gather index_select=Gather | self dim index
slice_scatter=ScatterND | self src dim start end step
select_scatter=ScatterND | self src dim index
copy=Identity copy_=Identity | self src non_blocking
clone=Identity | self memory_format
_clone_dim_order=Identity _to_dim_order_copy=Cast | self non_blocking dim_order
_to_copy=Cast | self non_blocking memory_format
roll | self shifts dims
constant_pad_nd=Pad | self pad value
embedding=Gather | weight indices padding_idx scale_grad_by_freq sparse
index=Gather | self indices
gather=GatherElements | self dim index sparse_grad
index_put=ScatterND index_put_=ScatterND | self indices values accumulate
scatter_add=ScatterElements scatter/src_out=ScatterElements | self dim index src
scatter/value_out=ScatterElements | self dim index value
diagonal_copy=Diagonal | self offset dim1 dim2
tril=Trilu | self diagonal
full=ConstantOfShape | size fill_value
full_like=ConstantOfShape | self fill_value memory_format
zeros=ConstantOfShape ones=ConstantOfShape | size
arange/out=Range | end
arange/start_out=Range | start end step
scalar_tensor=Constant | s
quantize_per_tensor=QuantizeLinear | input scale zero_point quant_min quant_max dtype
dequantize_per_tensor=DequantizeLinear | input scale zero_point quant_min quant_max dtype \
out_dtype
quantize_per_channel=QuantizeLinear | input scales zero_points axis quant_min quant_max dtype
dequantize_per_channel=DequantizeLinear | input scales zero_points axis quant_min quant_max dtype \
out_dtype
quantize_per_token=QuantizeLinear | input scales zero_points quant_min quant_max dtype
dequantize_per_token=DequantizeLinear | input scales zero_points quant_min quant_max dtype \
out_dtype
""".replace("\\\n", "")


def _rows() -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    for line in _TABLE.strip().splitlines():
        names, _, arguments = line.partition("|")
        for name, _, neutral in (each.partition("=") for each in names.split()):
            yield name, (neutral or name.capitalize(), tuple(arguments.split()))
    for how in ("reflection", "replication"):
        yield from ((f"{how}_pad{n}d", ("Pad", ("self", "padding"))) for n in (1, 2, 3))


_ROWS = dict(_rows())


def words(operator: str) -> tuple[str, str, str]:
    """Namespace, name and overload of ``aten.add.out``."""
    space, name, overload = (*operator.split(".", 2), "", "")[:3]
    return space, name, overload


def row_of(operator: str) -> tuple[str, tuple[str, ...]] | None:
    """The neutral name and the arguments of an operator; None where it is not listed."""
    _, name, overload = words(operator)
    return _ROWS.get(f"{name}/{overload}") or _ROWS.get(name)
