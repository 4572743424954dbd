"""What ATen calls an operator, and its neutral name: ONNX's where ONNX has one."""

from __future__ import annotations

_SAME = {
    "Abs": "abs absolute",
    "Acos": "acos arccos",
    "Acosh": "acosh arccosh",
    "Add": "add operator.add",
    "And": "logical_and __and__ bitwise_and",
    "ArgMax": "argmax",
    "ArgMin": "argmin",
    "Asin": "asin arcsin",
    "Asinh": "asinh arcsinh",
    "Atan": "atan arctan",
    "Atanh": "atanh arctanh",
    "Attention": (
        "scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu "
        "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention "
        "_scaled_dot_product_attention_math _scaled_dot_product_cudnn_attention"
    ),
    "AveragePool": (
        "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
        "adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d"
    ),
    "BatchNormalization": (
        "batch_norm native_batch_norm _native_batch_norm_legit "
        "_native_batch_norm_legit_no_training _native_batch_norm_legit_functional "
        "cudnn_batch_norm _batch_norm_impl_index _batch_norm_no_update _batch_norm_with_update"
    ),
    "Bernoulli": "bernoulli",
    "BitShift": "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__",
    "Cast": "to _to_copy type_as",
    "Ceil": "ceil",
    "Celu": "celu",
    "Clip": "clamp clip clamp_min clamp_max hardtanh relu6",
    "Concat": "cat concat concatenate stack hstack vstack dstack column_stack",
    "Constant": "scalar_tensor tensor",
    "ConstantOfShape": (
        "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full empty "
        "empty_like new_empty empty_strided new_empty_strided"
    ),
    "Conv": (
        "conv1d conv2d conv3d convolution _convolution cudnn_convolution mkldnn_convolution "
        "thnn_conv2d _conv_depthwise2d"
    ),
    "ConvTranspose": "conv_transpose1d conv_transpose2d conv_transpose3d",
    "Cos": "cos",
    "Cosh": "cosh",
    "CumProd": "cumprod",
    "CumSum": "cumsum",
    "DepthToSpace": "pixel_shuffle",
    "DequantizeLinear": "torchao.dequantize_affine.default",
    "Det": "det linalg_det",
    "Div": "div divide true_divide floor_divide operator.truediv operator.floordiv",
    "Dropout": ("dropout native_dropout alpha_dropout feature_dropout feature_alpha_dropout "),
    "Einsum": "einsum",
    "Elu": "elu",
    "Equal": "eq operator.eq",
    "Erf": "erf special_erf",
    "Exp": "exp",
    "Expand": "expand expand_as broadcast_to broadcast_tensors",
    "EyeLike": "eye",
    "Flatten": "flatten ravel",
    "Floor": "floor",
    "GRU": "gru",
    "Gather": "index_select embedding select index",
    "GatherElements": "gather take_along_dim take",
    "Gelu": "gelu",
    "Gemm": "linear addmm addmv",
    "Greater": "gt greater operator.gt",
    "GreaterOrEqual": "ge greater_equal operator.ge",
    "GridSample": "grid_sampler grid_sampler_2d grid_sampler_3d cudnn_grid_sampler",
    "GroupNormalization": "group_norm native_group_norm",
    "HardSigmoid": "hardsigmoid",
    "HardSwish": "hardswish",
    "Identity": (
        "alias detach clone contiguous lift_fresh lift_fresh_copy view_as_real view_as_complex "
        "positive _conj resolve_conj resolve_neg"
    ),
    "If": "higher_order.cond script.if",
    "InstanceNormalization": "instance_norm",
    "IsInf": "isinf",
    "IsNaN": "isnan",
    "LSTM": "lstm",
    "LayerNormalization": "layer_norm native_layer_norm",
    "LeakyRelu": "leaky_relu",
    "Less": "lt less operator.lt",
    "LessOrEqual": "le less_equal operator.le",
    "Log": "log",
    "Log1p": "log1p",
    "LogSoftmax": "log_softmax _log_softmax special_log_softmax",
    "Loop": "higher_order.while_loop script.loop",
    "MatMul": (
        "matmul mm _int_mm bmm mv dot vdot inner baddbmm tensordot chain_matmul linalg_multi_dot"
    ),
    "Max": "maximum fmax",
    "MaxPool": (
        "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices "
        "max_pool3d_with_indices adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d"
    ),
    "Min": "minimum fmin",
    "Mish": "mish",
    "Mod": "remainder fmod operator.mod",
    "Mul": "mul multiply operator.mul",
    "Multinomial": "multinomial",
    "Neg": "neg negative operator.neg",
    "NonZero": "nonzero nonzero_numpy",
    "Not": "logical_not bitwise_not",
    "OneHot": "one_hot",
    "Or": "logical_or __or__ bitwise_or",
    "PRelu": "prelu _prelu_kernel",
    "Pad": (
        "pad constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d "
        "replication_pad1d replication_pad2d replication_pad3d _pad_circular _pad_enum"
    ),
    "Pow": "pow float_power square",
    "QuantizeLinear": "torchao.quantize_affine.default",
    "RMSNormalization": "rms_norm _fused_rms_norm",
    "RNN": "rnn_tanh rnn_relu",
    "RandomNormal": "randn normal normal_functional",
    "RandomNormalLike": "randn_like",
    "RandomUniform": "rand uniform",
    "RandomUniformLike": "rand_like",
    "Range": "arange linspace",
    "Reciprocal": "reciprocal",
    "ReduceL2": "norm linalg_vector_norm frobenius_norm",
    "ReduceLogSumExp": "logsumexp",
    "ReduceMax": "amax",
    "ReduceMean": "mean",
    "ReduceMin": "amin",
    "ReduceProd": "prod",
    "ReduceSum": "sum",
    "Relu": "relu",
    "Reshape": "view reshape _unsafe_view unflatten view_as reshape_as _reshape_alias",
    "Resize": (
        "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
        "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d "
        "upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa "
        "_upsample_bicubic2d_aa"
    ),
    "Reverse": "flip fliplr flipud",
    "Round": "round",
    "Rsqrt": "rsqrt",
    "ScaledAdd": "addcmul addcdiv",
    "ScatterElements": "scatter scatter_add scatter_reduce index_add",
    "ScatterND": (
        "index_put _unsafe_index_put index_fill index_copy slice_scatter select_scatter "
        "masked_scatter diagonal_scatter"
    ),
    "Selu": "selu",
    "Shape": "sym_size",
    "Sigmoid": "sigmoid special_expit",
    "Sign": "sign sgn",
    "Silu": "silu",
    "Sin": "sin",
    "Sinh": "sinh",
    "Size": "sym_numel numel",
    "Slice": "slice narrow unfold",
    "Softmax": "softmax _softmax special_softmax _safe_softmax",
    "Softplus": "softplus",
    "SpaceToDepth": "pixel_unshuffle",
    "Split": (
        "split split_with_sizes chunk unbind tensor_split unsafe_split unsafe_chunk "
        "unsafe_split_with_sizes"
    ),
    "Sqrt": "sqrt",
    "Squeeze": "squeeze squeeze_copy",
    "Sub": "sub subtract rsub operator.sub",
    "Tan": "tan",
    "Tanh": "tanh",
    "ThresholdedRelu": "threshold",
    "Tile": "repeat tile repeat_interleave",
    "TopK": "topk sort argsort kthvalue",
    "Transpose": "transpose permute t numpy_T movedim swapaxes swapdims mT adjoint",
    "Trilu": "tril triu",
    "Unique": "unique_dim _unique2 unique_consecutive",
    "Unsqueeze": "unsqueeze",
    "Variance": "var var_mean std std_mean",
    "Where": "where masked_fill",
    "Xor": "logical_xor __xor__ bitwise_xor",
}

NEUTRAL = {word: neutral for neutral, words in _SAME.items() for word in words.split()}

_BY_OVERLOAD = {
    "max.dim": "ReduceMax", "max.default": "ReduceMax", "min.dim": "ReduceMin",
    "min.default": "ReduceMin", "max.other": "Max", "min.other": "Min",
    "norm.Scalar": "ReduceL2", "bernoulli.p": "Bernoulli",
}  # fmt: skip


def neutral_name(operator: str) -> str:
    """The neutral name of ``aten.conv2d.default``; an operator without one keeps its own."""
    packet = operator.removeprefix("aten.")
    if packet in _BY_OVERLOAD:
        return _BY_OVERLOAD[packet]
    word = packet.rpartition(".")[0] if operator.startswith("aten.") else operator
    # An in-place operator means what its plain one means.
    plain = word.rstrip("_") if not word.startswith("__") else word
    return NEUTRAL.get(word) or NEUTRAL.get(plain) or operator
