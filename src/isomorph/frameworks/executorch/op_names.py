"""Operators of ExecuTorch: their neutral names, and the names of their arguments in order.

A program stores arguments by position alone. An operator is listed by its name without
namespace and overload; ``name/overload`` where an overload differs.
"""

from __future__ import annotations

TENSORS = frozenset(
    {
        "input", "self", "weight", "bias", "other", "mat1", "mat2", "running_mean", "running_var",
        "index", "indices", "src", "mask", "condition", "tensors", "scales", "zero_points",
        "min", "max",
    }
)  # fmt: skip
"""Arguments that are tensors where the program leaves them out."""

_WINDOW = "stride padding dilation"
_COMPARED = "self other"

_TABLE = f"""
convolution Conv input weight bias {_WINDOW} transposed output_padding groups
linear Gemm input weight bias
addmm Gemm self mat1 mat2 beta alpha
mm MatMul self mat2
bmm MatMul self mat2
_native_batch_norm_legit_no_training BatchNormalization input weight bias running_mean running_var \
momentum eps
_native_batch_norm_legit/no_stats_out BatchNormalization input weight bias training momentum eps
native_layer_norm LayerNormalization input normalized_shape weight bias eps
native_group_norm GroupNormalization input weight bias N C HxW group eps
add Add self other alpha
sub Sub self other alpha
rsub Sub self other alpha
mul Mul self other
div Div self other
div/out_mode Div self other rounding_mode
div/Scalar_mode_out Div self other rounding_mode
floor_divide FloorDiv self other
remainder Mod self other
fmod Mod self other
pow Pow self exponent
maximum Max self other
minimum Min self other
isinf IsInf self
isnan IsNaN self
logical_not Not self
bitwise_not Not self
atan2 Atan2 self other
gelu Gelu self approximate
elu Elu self alpha scale input_scale
leaky_relu LeakyRelu self negative_slope
hardtanh Clip self min_val max_val
clamp Clip self min max
glu Glu self dim
_softmax Softmax self dim half_to_float
_log_softmax LogSoftmax self dim half_to_float
mean ReduceMean self dim keepdim dtype
mean/dtype_out ReduceMean self dtype
sum ReduceSum self dim keepdim dtype
prod ReduceProd self dim keepdim dtype
prod/out ReduceProd self dtype
amax ReduceMax self dim keepdim
max/unary_out ReduceMax self
amin ReduceMin self dim keepdim
min/unary_out ReduceMin self
max ReduceMax self dim keepdim
max/unary_out ReduceMax self
min ReduceMin self dim keepdim
min/unary_out ReduceMin self
any ReduceAny self dim keepdim
any/all_out ReduceAny self
var Variance self dim correction keepdim
var/out Variance self dim unbiased keepdim
argmax ArgMax self dim keepdim
argmin ArgMin self dim keepdim
cumsum CumSum self dim dtype
topk TopK self k dim largest sorted
eq Equal {_COMPARED}
ne NotEqual {_COMPARED}
lt Less {_COMPARED}
le LessOrEqual {_COMPARED}
gt Greater {_COMPARED}
ge GreaterOrEqual {_COMPARED}
logical_and And {_COMPARED}
logical_or Or {_COMPARED}
logical_xor Xor {_COMPARED}
bitwise_and And {_COMPARED}
bitwise_or Or {_COMPARED}
bitwise_xor Xor {_COMPARED}
where Where condition self other
masked_fill Where self mask value
avg_pool2d AveragePool self kernel_size stride padding ceil_mode count_include_pad divisor_override
max_pool2d_with_indices MaxPool self kernel_size {_WINDOW} ceil_mode
_adaptive_avg_pool2d AveragePool self output_size
upsample_bilinear2d Resize input output_size align_corners scale_factors
upsample_nearest2d Resize input output_size scale_factors
_upsample_bilinear2d_aa Resize input output_size align_corners scales_h scales_w
grid_sampler_2d GridSample input grid interpolation_mode padding_mode align_corners
pixel_shuffle DepthToSpace self upscale_factor
pixel_unshuffle SpaceToDepth self downscale_factor
cat Concat tensors dim
stack Concat tensors dim
split_copy Split self split_size dim
split_with_sizes_copy Split self split_sizes dim
unbind_copy Split self dim
permute_copy Transpose self dims
transpose_copy Transpose self dim0 dim1
t_copy Transpose self
view_copy Reshape self size
et_view Reshape self size
unsqueeze_copy Unsqueeze self dim
squeeze_copy Squeeze self dim
expand_copy Expand self size implicit
repeat Tile self repeats
slice_copy Slice self dim start end step
narrow_copy Slice self dim start length
select_copy Gather self dim index
slice_scatter ScatterND self src dim start end step
select_scatter ScatterND self src dim index
copy Identity self src non_blocking
copy_ Identity self src non_blocking
clone Identity self memory_format
alias_copy Identity self
detach_copy Identity self
lift_fresh_copy Identity self
_clone_dim_order Identity self non_blocking dim_order
_to_dim_order_copy Cast self non_blocking dim_order
_to_copy Cast self non_blocking memory_format
flip Reverse self dims
roll Roll self shifts dims
constant_pad_nd Pad self pad value
embedding Gather weight indices padding_idx scale_grad_by_freq sparse
index_select Gather self dim index
index Gather self indices
gather GatherElements self dim index sparse_grad
index_put ScatterND self indices values accumulate
index_put_ ScatterND self indices values accumulate
scatter_add ScatterElements self dim index src
scatter/src_out ScatterElements self dim index src
scatter/value_out ScatterElements self dim index value
diagonal_copy Diagonal self offset dim1 dim2
nonzero NonZero self
tril Trilu self diagonal
full ConstantOfShape size fill_value
full_like ConstantOfShape self fill_value memory_format
zeros ConstantOfShape size
ones ConstantOfShape size
arange/out Range end
arange/start_out Range start end step
scalar_tensor Constant s
sym_size Shape self dim
sym_numel Size self
quantize_per_tensor QuantizeLinear input scale zero_point quant_min quant_max dtype
dequantize_per_tensor DequantizeLinear input scale zero_point quant_min quant_max dtype out_dtype
quantize_per_channel QuantizeLinear input scales zero_points axis quant_min quant_max dtype
dequantize_per_channel DequantizeLinear input scales zero_points axis quant_min quant_max dtype \
out_dtype
quantize_per_token QuantizeLinear input scales zero_points quant_min quant_max dtype
dequantize_per_token DequantizeLinear input scales zero_points quant_min quant_max dtype out_dtype
truediv Div self other
floordiv FloorDiv self other
mod Mod self other
""".replace("\\\n", "")

_UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 "
    "neg reciprocal relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_PADS = ("reflection", "replication")
_ROWS = {row.split()[0]: row.split()[1:] for row in _TABLE.splitlines() if row}
_ROWS |= {f"{how}_pad{n}d": ["Pad", "self", "padding"] for how in _PADS for n in (1, 2, 3)}
_ROWS |= {word: [word.capitalize(), "self"] for word in _UNARY.split()}


def words(operator: str) -> tuple[str, str, str]:
    """Namespace, name and overload of ``aten.add.out``."""
    space, name, overload = (*operator.split(".", 2), "", "")[:3]
    return space, name, overload


def row_of(operator: str) -> tuple[str, tuple[str, ...]] | None:
    """The neutral name and the arguments of an operator; None where it is not listed."""
    _, name, overload = words(operator)
    row = _ROWS.get(f"{name}/{overload}") or _ROWS.get(name)
    return None if row is None else (row[0], tuple(row[1:]))
