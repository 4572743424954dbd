"""Our kernels against TensorFlow's own in float32: one rounding apart, and noise of that size."""

import numpy as np
import pytest

from isomorph.core.trace import Noise
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.oracle.dtypes import HALVES
from tensorflow_oracle_cases import Case, normal, opened, positive, rms, tf
from tf_building import constant, graph, placeholder, set_attribute

raw = tf.raw_ops
BOXES = np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.0, 1.1, 0.5], [0.9, 0.1, 0.2, 1.0]], np.float32)
GATES = [normal(4), normal(4), normal(4), normal(16)]


def batch_norm(training, outputs):
    def function(x, scale, offset, mean, variance):
        return list(
            raw.FusedBatchNormV3(
                x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3,
                is_training=training, exponential_avg_factor=0.3 if training else 1.0,
            )
        )[:outputs]  # fmt: skip

    return function


def resize(op, size, **how):
    return lambda x: getattr(raw, op)(images=x, size=size, **how)


def crop(method, size):
    return lambda x, boxes: tf.image.crop_and_resize(
        x, boxes, [0, 1, 0], size, method, extrapolation_value=0.3
    )


def block_lstm(op):
    def function(x, c, h, w, wci, wcf, wco, b):
        results = getattr(raw, op)(
            seq_len_max=tf.constant(4, tf.int64), x=x, cs_prev=c, h_prev=h, w=w, wci=wci,
            wcf=wcf, wco=wco, b=b, use_peephole=True,
        )  # fmt: skip
        # Beyond the longest sequence only cells and states are written: the rest is what lay there.
        return [results.cs, results.h, *(result[:4] for result in results)]

    return function


def lstm_cell(x, c, h, w, wci, wcf, wco, b):
    return list(
        raw.LSTMBlockCell(
            x=x, cs_prev=c, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=b, use_peephole=True,
            forget_bias=0.7, cell_clip=2.5,
        )
    )  # fmt: skip


def gru_cell(x, h, w_ru, w_c, b_ru, b_c):
    return list(raw.GRUBlockCell(x=x, h_prev=h, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c))


def fourier(x):
    spectrum = tf.signal.rfft(x)
    return [tf.math.real(spectrum), tf.abs(spectrum), tf.signal.irfft(spectrum * 2.0)]


STATISTICS = [positive(4), normal(4), normal(4), positive(4)]
CASES = {
    # Without training the reserve spaces are for nobody: oneDNN copies the statistics into them,
    # TensorFlow's own kernel leaves there what the memory held before.
    "batch norm": (batch_norm(training=False, outputs=3), normal(2, 5, 5, 4), *STATISTICS),
    "batch norm, training": (batch_norm(training=True, outputs=3), normal(2, 5, 5, 4), *STATISTICS),
    "local response": (lambda x: tf.nn.lrn(x, 2, 1.5, 0.3, 0.6), normal(2, 4, 4, 9)),
    "bias, channels first": (lambda x, b: tf.nn.bias_add(x, b, "NCHW"), normal(2, 4, 3), normal(4)),
    "crop": (crop("bilinear", (4, 5)), normal(2, 7, 8, 3), BOXES),
    "crop to one row": (crop("bilinear", (1, 5)), normal(2, 7, 8, 3), BOXES),
    "crop, nearest": (crop("nearest", (4, 5)), normal(2, 7, 8, 3), BOXES),
    "volume, mean": (lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), normal(1, 5, 5, 5, 2)),
    "volume, largest": (lambda x: tf.nn.max_pool3d(x, 3, 2, "VALID"), normal(1, 6, 6, 6, 2)),
    "block lstm": (block_lstm("BlockLSTM"), normal(6, 2, 3), normal(2, 4), normal(2, 4),
                   normal(7, 16), *GATES),
    "block lstm 2": (block_lstm("BlockLSTMV2"), normal(6, 2, 3), normal(2, 4), normal(2, 4),
                     normal(7, 16), *GATES),
    "lstm cell": (lstm_cell, normal(9, 3), normal(9, 4), normal(9, 4), normal(7, 16), *GATES),
    "gru cell": (gru_cell, normal(5, 3), normal(5, 4), normal(7, 8), normal(7, 4), normal(8),
                 normal(4)),
    "fourier": (fourier, normal(3, 64)),
    "transposed volume": (lambda x, w: tf.nn.conv3d_transpose(x, w, [1, 8, 8, 8, 2], 2),
                          normal(1, 4, 4, 4, 3), normal(3, 3, 3, 2, 3)),
    "groups": (lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), normal(2, 8, 8, 8), normal(3, 3, 4, 6)),
    "scattered sums": (lambda x: tf.scatter_nd([[1], [3], [1]], x, [5, 4]), normal(3, 4)),
    "elementwise": (
        lambda x: [
            tf.exp(x), tf.tanh(x), tf.sigmoid(x), tf.nn.elu(x), tf.nn.selu(x), tf.math.erfc(x),
            tf.nn.leaky_relu(x, 0.17), tf.pow(tf.abs(x), 1.3), tf.math.log1p(x * x),
            tf.math.expm1(x), tf.math.rsqrt(x * x + 1), tf.math.squared_difference(x, 1.3),
            tf.math.cumsum(x), tf.math.atan2(x, x + 1), tf.nn.softsign(x), x / 3.0,
        ],
        normal(300),
    ),
    "chosen": (lambda x: [tf.math.top_k(x, 3)[0], tf.nn.relu6(4 * x), tf.round(3 * x)],
               normal(4, 9)),
}  # fmt: skip
for _size in ((7, 9), (3, 2), (11, 5)):
    for _words in ({}, {"half_pixel_centers": True}, {"align_corners": True}):
        for _op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
            _name = f"{_op} {_size} {''.join(_words)}"
            CASES[_name] = (resize(_op, _size, **_words), normal(2, 5, 6, 3))


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_is_what_tensorflow_rounds(name):
    case = Case(*CASES[name])
    ran, meant, draws = case.ran(), case.meant(), case.draws(rounding=True)
    for output in case.outputs:
        assert ran[output].shape == meant[output].shape
        error = rms(ran[output] - meant[output])
        spread = rms(np.stack([draw[output] for draw in draws]) - meant[output])
        assert error <= 1e-6 * rms(meant[output])
        # Interpolation is exact where samples fall on pixels.
        assert error <= 1.2 * spread
        assert spread <= 1e-5 * max(rms(meant[output]), 1e-3)


FAKE = {
    "fixed range": lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.3, 2.1),
    "few bits": lambda x: tf.quantization.fake_quant_with_min_max_vars(
        x, -1.37, 2.11, num_bits=4, narrow_range=True
    ),
    "from zero": lambda x: tf.quantization.fake_quant_with_min_max_vars(x, 0.0, 2.11),
    "by channel": lambda x: tf.quantization.fake_quant_with_min_max_vars_per_channel(
        x, [-1.0, 0.0, -3.0], [2.0, 1.7, 0.5]
    ),
}


@pytest.mark.parametrize("name", FAKE)
def test_fake_quantizers_use_tensorflows_grid(name):
    case = Case(FAKE[name], 2 * normal(60, 3))
    ran, meant = case.ran()["y0"], case.meant()["y0"]
    assert rms(ran - meant) <= 1e-7 * rms(meant)
    assert len(np.unique(np.round(meant, 6))) < meant.size, "nothing was quantized"


@pytest.mark.parametrize("name", FAKE)
def test_an_ideal_quantizer_loses_one_step_and_clips_nothing(name):
    x = 2 * normal(60, 3)
    case = Case(FAKE[name], x)
    ideal = np.stack([draw["y0"] for draw in case.draws(quantizers=True)])
    start = np.where(np.array([False, True, False]), np.maximum(x, 0), x)
    kept = {"from zero": np.maximum(x, 0), "by channel": start}.get(name, x)
    steps = (kept.max() - min(kept.min(), 0)) / (15 if name == "few bits" else 255)
    assert 0 < np.abs(ideal - kept).max() <= steps
    assert np.abs(ideal).max() > np.abs(case.meant()["y0"]).max() or name == "from zero"


def weights(x, *shape):
    """The first elements as a kernel of this shape."""
    return tf.reshape(tf.reshape(x, [-1])[: int(np.prod(shape))], shape)


SEGMENTS = np.sort(np.random.default_rng(0).integers(0, 9, 60)).astype(np.int32)
IN_HALVES = {
    "sigmoid": (tf.sigmoid, (20, 128)),
    "tanh": (tf.tanh, (20, 128)),
    "softsign": (tf.nn.softsign, (20, 128)),
    "softmax": (tf.nn.softmax, (20, 128)),
    "log softmax": (tf.nn.log_softmax, (20, 128)),
    "gelu": (tf.nn.gelu, (20, 128)),
    "product and sum": (lambda x: x * x + x, (20, 128)),
    "sum of tensors": (lambda x: tf.add_n([x[:5], x[5:10], x[10:15], x[15:]]), (20, 128)),
    "mean": (lambda x: tf.reduce_mean(x, 1), (20, 128)),
    "squares": (lambda x: tf.stack([tf.nn.l2_loss(row) for row in tf.unstack(x)]), (20, 128)),
    "running sum": (lambda x: tf.math.cumsum(x, 1), (20, 128)),
    "product": (lambda x: tf.matmul(x, x, transpose_b=True), (20, 128)),
    "products": (lambda x: tf.matmul(x, x, transpose_b=True), (3, 20, 128)),
    "einsum": (lambda x: tf.einsum("ab,cb->ac", x, x), (20, 128)),
    "convolution": (
        lambda x: tf.nn.conv2d(x, weights(x, 3, 3, 8, 8), 1, "SAME"), (2, 12, 12, 8)),
    "by channel": (
        lambda x: tf.nn.depthwise_conv2d(x, weights(x, 7, 7, 8, 1), [1] * 4, "SAME"),
        (2, 12, 12, 8)),
    "transposed": (
        lambda x: tf.nn.conv2d_transpose(x, weights(x, 3, 3, 8, 8), (2, 24, 24, 8), 2),
        (2, 12, 12, 8)),
    "volume": (lambda x: tf.nn.conv3d(x, weights(x, 3, 3, 3, 4, 4), [1] * 5, "SAME"),
               (2, 6, 6, 6, 4)),
    "transposed volume": (
        lambda x: tf.nn.conv3d_transpose(x, weights(x, 3, 3, 3, 4, 4), (2, 12, 12, 12, 4), 2),
        (2, 6, 6, 6, 4)),
    "pool": (lambda x: tf.nn.avg_pool(x, 5, 1, "VALID"), (2, 12, 12, 8)),
    "segments": (lambda x: tf.math.segment_sum(x, SEGMENTS), (60, 8)),
    "means of segments": (lambda x: tf.math.segment_mean(x, SEGMENTS), (60, 8)),
    "unsorted segments": (lambda x: tf.math.unsorted_segment_sum(x, SEGMENTS, 9), (60, 8)),
    "scattered": (lambda x: tf.scatter_nd(SEGMENTS[:, None], x, [9, 8]), (60, 8)),
    "scattered into": (
        lambda x: tf.tensor_scatter_nd_add(x[:9], SEGMENTS[:, None], x), (60, 8)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", sorted(HALVES & {"float16", "bfloat16"}))
@pytest.mark.parametrize("name", IN_HALVES)
def test_halves_are_disturbed_as_tensorflow_rounds_them(name, dtype):
    """Whatever kernel this CPU gets: the coarsest is covered, and the finest is not drowned."""
    function, shape = IN_HALVES[name]
    kind = tf.dtypes.as_dtype(dtype)
    case = Case(lambda x: tf.cast(function(tf.cast(x, kind)), tf.float32), normal(*shape))
    meant = case.meant()["y0"]
    error = rms(case.ran()["y0"] - meant)
    # Rounded once, after exact arithmetic: no kernel does better.
    finest = rms(tf.cast(tf.cast(meant, kind), tf.float64).numpy() - meant)
    spread = rms(np.stack([draw["y0"] for draw in case.draws(rounding=True)]) - meant)
    assert error <= 1.2 * spread
    assert finest >= 0.02 * spread


def fused_graph(op, words, weights, extra, **attributes):
    """One node as TensorFlow's optimizer makes it."""
    names = [f"w{place}" for place in range(len(extra) + 1)]
    made = graph(
        placeholder("x"),
        *(constant(name, value) for name, value in zip(names, [weights, *extra], strict=True)),
        (
            "y",
            op,
            ["x", *names],
            {"T": tf.float32, "num_args": len(extra), "TArgs": [tf.float32] * len(extra)},
        ),
    )
    node = made.node[-1]
    node.attr["fused_ops"].list.s.extend(word.encode() for word in words)
    for name, value in attributes.items():
        if isinstance(value, list):
            node.attr[name].list.i.extend(value)
        else:
            set_attribute(node.attr[name], value)
    return TensorflowFramework().load(made, {})


def test_what_an_optimizer_joined_is_computed_step_by_step():
    x, w, b = normal(2, 6, 6, 3), normal(3, 3, 3, 4), normal(4)
    statistics = [positive(4), normal(4), normal(4), positive(4)]
    place = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    plain = tf.nn.conv2d(x, w, 1, "SAME")
    scale, offset, mean, variance = statistics
    normed = (plain - mean) * scale / np.sqrt(variance + 1e-3) + offset
    for words, extra, wanted in (
        (["BiasAdd", "Relu"], [b], tf.nn.relu(plain + b)),
        (["BiasAdd", "LeakyRelu"], [b], tf.nn.leaky_relu(plain + b, 0.25)),
        (["BiasAdd", "Relu6"], [b], tf.nn.relu6(plain + b)),
        (["FusedBatchNorm", "Elu"], statistics, tf.nn.elu(normed)),
    ):
        model = fused_graph(
            "_FusedConv2D", words, w, extra, **place, epsilon=1e-3, leakyrelu_alpha=0.25
        )
        result = opened(model).run({"x": x}, ["y"])["y"]
        assert rms(result - wanted) < 1e-6 * rms(wanted), words


def test_a_fused_product_is_computed_step_by_step():
    x, w, b = normal(5, 6), normal(6, 4), normal(4)
    model = fused_graph("_FusedMatMul", ["BiasAdd", "Tanh"], w, [b])
    session = opened(model)
    result = session.run({"x": x}, ["y"])["y"]
    assert rms(result - np.tanh(x.astype(np.float64) @ w + b)) < 1e-12
    noisy = session.run({"x": x}, ["y"], noise=Noise(seed=1, rounding=True))["y"]
    assert 0 < rms(noisy - result) < 1e-5
