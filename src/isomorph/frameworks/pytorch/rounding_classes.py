"""ATen's operators by how they round. The words are those of ``plain_word``."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SUMS = _words(
    """
    conv1d conv2d conv3d convolution _convolution conv_transpose1d conv_transpose2d
    conv_transpose3d linear mm addmm bmm baddbmm addbmm matmul mv addmv dot vdot inner einsum
    tensordot bilinear sum mean nansum nanmean cumsum avg_pool1d avg_pool2d avg_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d
    _adaptive_avg_pool3d scatter_add index_add col2im trace upsample_linear1d upsample_bilinear2d
    upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
    linalg_vector_norm norm frobenius_norm prod cumprod outer logsumexp
    """
)
"""Everything that adds up many terms; the same operator on absolute values sizes them."""

ONE = _words(
    """
    sigmoid tanh erf erfc hardsigmoid sin cos asin acos atan atan2 special_expit arcsin arccos
    arctan sinc
    """
)
"""The largest intermediate of the textbook formula is 1."""

AT_LEAST_ONE = _words(
    """
    softplus log_sigmoid log_sigmoid_forward logaddexp logaddexp2 asinh acosh atanh elu selu celu
    """
)
"""The largest intermediate is 1, or the result where that is larger."""

INPUT = _words(
    """
    gelu silu mish hardswish logit
    """
)
"""The largest intermediate is the input."""

OWN = _words(
    """
    exp exp2 expm1 rsqrt pow log log2 log10 log1p sinh cosh tan float_power
    hypot xlogy special_entr glu
    """
)
"""A good implementation is off by a few units of its own result."""

HARDWARE = _words("sqrt reciprocal square")
"""One operation of the hardware: rounded at its result, and not at all where that fits."""

PRODUCTS = _words(
    """
    mul multiply div divide true_divide operator.mul operator.truediv
    """
)
"""One rounding of the result, unless a factor is a power of two."""

DIFFERENCES = _words(
    """
    add sub subtract rsub softshrink addcmul addcdiv lerp operator.add operator.sub
    """
)
"""One rounding of the largest of operands and result."""

NEGATIVE_SIDE = _words(
    """
    leaky_relu prelu _prelu_kernel rrelu
    """
)
"""Exact for positive inputs, one product for negative ones."""

WRAPS_NUMBERS = _words(
    """
    fmod remainder clamp clamp_min clamp_max eq ne lt le gt ge greater less greater_equal
    less_equal not_equal where maximum minimum masked_fill atan2 copysign
    """
)
"""Takes a Python number as a tensor of no axes, which then has the type of the other operand."""

WRAPS_WIDER = PRODUCTS | DIFFERENCES | _words("floor_divide pow")
"""The same, but beside a narrow type the number stays a float32, as the arithmetic is."""

EXACT = _words(
    """
    to _to_copy type_as clone dropout native_dropout alpha_dropout
    feature_dropout zeros_like ones_like full_like empty_like new_zeros new_ones new_full
    new_empty arange linspace floor_divide trunc frac remainder fmod relu6 hardtanh threshold sort
    nonzero unfold im2col fill zero copy index_fill masked_scatter masked_select diagonal diag
    diag_embed upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d hardshrink nan_to_num item
    _local_scalar_dense max min median mode roll rot90 as_strided real imag sgn
    unbind unfold_copy isclose meshgrid cartesian_prod bucketize searchsorted one_hot
    channel_shuffle cummax cummin scatter repeat_interleave triu tril
    """
)
"""Selects, moves, compares, or gives numbers that every type holds."""

SELECTS_ROWS = _words("embedding index_select")
"""Copies rows of its first argument, which may be far fewer than there are."""

READS_SHAPES = _words(
    """
    sym_size sym_stride sym_numel sym_storage_offset size stride numel dim zeros_like ones_like
    full_like empty_like rand_like randn_like randint_like new_zeros new_ones new_full new_empty
    _shape_as_tensor is_floating_point is_complex
    """
)
"""Looks only at the shape and type of its first argument."""

CASTS = _words("to _to_copy type_as")
"""Changes the type (or the device) of a tensor, and nothing else."""

FACTORIES = _words(
    """
    zeros ones full empty arange linspace scalar_tensor eye rand randn zeros_like ones_like
    full_like empty_like new_zeros new_ones new_full new_empty empty_strided tril_indices
    triu_indices
    """
)
"""Makes a tensor, of a type that was taken from its surroundings when the program was exported."""

ASSERTIONS = _words(
    """
    _assert_tensor_metadata _assert_scalar _assert_async sym_constrain_range
    sym_constrain_range_for_size _functional_assert_async
    """
)
"""Checks that torch.export leaves behind: they give no value, and a lifted type fails them."""
