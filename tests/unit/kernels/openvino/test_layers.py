"""Operators whose attributes or inputs are OpenVINO's own give what OpenVINO gives."""

import numpy as np
import pytest

pytest.importorskip("openvino")
from openvino_agreement import agrees, op

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def const(value, dtype=None):
    return op.constant(np.asarray(value, dtype))


POOL = {"auto_pad": "explicit", "rounding_type": "floor"}
CASES = {
    "a slope for all": (lambda x: op.prelu(x, const([0.2], np.float32)), [normal(2, 3, 4)]),
    "a slope for each channel": (
        lambda x: op.prelu(x, const([0.2, -0.1, 2.0], np.float32)), [normal(2, 3, 4, 3)],
    ),
    "slopes with all axes": (
        lambda x: op.prelu(x, const(normal(1, 3, 1, 2))), [normal(2, 3, 4, 2)],
    ),
    "response to channels around": (
        lambda x: op.lrn(x, const([1]), 0.5, 0.75, 2.0, 3), [normal(2, 5, 3, 3)],
    ),
    "response to pixels around": (
        lambda x: op.lrn(x, const([2, 3]), 0.5, 0.75, 1.0, 3), [normal(1, 2, 5, 4)],
    ),
    "sampled at a grid": (
        lambda x, g: op.grid_sample(x, g, {"mode": "bilinear", "padding_mode": "border"}),
        [normal(1, 2, 4, 5), 1.5 * normal(1, 3, 3, 2)],
    ),
    "sampled to the corners": (
        lambda x, g: op.grid_sample(x, g, {"mode": "nearest", "align_corners": True}),
        [normal(1, 2, 4, 5), 0.5 * normal(1, 3, 3, 2)],
    ),
    "group convolution": (
        lambda x: op.group_convolution(
            x, const(normal(2, 3, 2, 3, 3)), [2, 1], [1, 0], [1, 2], [1, 1]
        ),
        [normal(2, 4, 7, 8)],
    ),
    "same padding": (
        lambda x: op.convolution(
            x, const(normal(3, 2, 3, 3)), [2, 2], [0, 0], [0, 0], [1, 1], "same_lower"
        ),
        [normal(1, 2, 8, 8)],
    ),
    "transposed convolution": (
        lambda x: op.convolution_backprop_data(
            x, const(normal(3, 2, 3, 3)), [2, 2], None, [1, 1], [1, 1], [1, 1], "explicit", [1, 1]
        ),
        [normal(1, 3, 5, 5)],
    ),
    "transposed convolution by groups": (
        lambda x: op.group_convolution_backprop_data(
            x, const(normal(2, 2, 3, 3, 3)), [2, 2], None, [0, 0], [0, 0], [1, 1]
        ),
        [normal(1, 4, 5, 5)],
    ),
    "adaptive average": (
        lambda x: op.adaptive_avg_pool(x, const([3, 2], np.int64)), [normal(1, 2, 7, 5)],
    ),
    "average without padding": (
        lambda x: op.avg_pool(x, [2, 2], [1, 1], [1, 1], [3, 3], exclude_pad=True, **POOL),
        [normal(1, 2, 6, 6)],
    ),
    "average with padding": (
        lambda x: op.avg_pool(x, [2, 2], [1, 1], [1, 1], [3, 3], exclude_pad=False, **POOL),
        [normal(1, 2, 6, 6)],
    ),
    "largest and its place": (
        lambda x: op.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], axis=2),
        [normal(2, 3, 6, 6)],
    ),
    "product of transposed": (
        lambda a, b: op.matmul(a, b, True, True), [normal(2, 4, 3), normal(2, 5, 4)],
    ),
    "whole division": (
        op.divide, [np.array([7, -8, 5]), np.array([2, 2, 3])],
    ),
    "floor mod": (op.floor_mod, [normal(5), normal(5)]),
    "squared difference": (
        op.squared_difference, [normal(2, 3), normal(3)],
    ),
    "not equal": (lambda a: op.not_equal(a, const(1.0, np.float32)), [np.float32([1, 2])]),
    "finite": (op.is_finite, [np.float32([1, np.inf, np.nan])]),
    "rounding to even": (lambda a: op.round(a, "half_to_even"), [np.float32([0.5, 1.5, -2.5])]),
    "rounding away": (
        lambda a: op.round(a, "half_away_from_zero"), [np.float32([0.5, 1.5, -2.5])],
    ),
    "selu": (
        lambda x: op.selu(x, const([1.6], np.float32), const([1.1], np.float32)), [normal(9)],
    ),
    "hard sigmoid": (
        lambda x: op.hard_sigmoid(x, const(0.3, np.float32), const(0.4, np.float32)),
        [normal(9)],
    ),
    "hard sigmoid of a sixth": (op.hsigmoid, [3 * normal(9)]),
    "swish": (lambda x: op.swish(x, const(1.3, np.float32)), [normal(9)]),
    "gelu": (lambda x: op.gelu(x, "tanh"), [normal(9)]),
    "mean": (
        lambda x: op.reduce_mean(x, const([0, -1], np.int64), True), [normal(2, 3, 4)],
    ),
    "l2": (lambda x: op.reduce_l2(x, const([1], np.int64), False), [normal(2, 3)]),
    "all": (
        lambda x: op.reduce_logical_and(x, const([1], np.int64), False),
        [np.array([[True, False], [True, True]])],
    ),
    "mvn inside": (
        lambda x: op.mvn(x, const([-1], np.int64), True, 1e-3, "INSIDE_SQRT"), [normal(2, 9)],
    ),
    "mvn outside": (
        lambda x: op.mvn(x, const([1], np.int64), True, 1e-1, "OUTSIDE_SQRT"), [normal(2, 9)],
    ),
    "mean taken off": (
        lambda x: op.mvn(x, const([1], np.int64), False, 1e-1, "INSIDE_SQRT"), [normal(2, 9)],
    ),
    "l2 normalization": (
        lambda x: op.normalize_l2(x, const([1], np.int64), 1e-1, "add"), [normal(2, 9)],
    ),
    "l2 normalization from a bound": (
        lambda x: op.normalize_l2(x, const([1], np.int64), 20.0, "max"), [normal(2, 9)],
    ),
    "batch normalization": (
        lambda x: op.batch_norm_inference(
            x, const(normal(3)), const(normal(3)), const(normal(3)),
            const(rng.uniform(0.5, 2, 3), np.float32), 1e-3,
        ),
        [normal(2, 3, 4)],
    ),
    "attention": (
        lambda q, k, v: op.scaled_dot_product_attention(q, k, v, causal=True),
        [normal(1, 2, 4, 8), normal(1, 2, 4, 8), normal(1, 2, 4, 8)],
    ),
    "attention with a mask": (
        lambda q, k, v, m: op.scaled_dot_product_attention(q, k, v, m, const(0.5, np.float32)),
        [normal(1, 2, 4, 8), normal(1, 2, 4, 8), normal(1, 2, 4, 8), normal(1, 1, 4, 4)],
    ),
    "fake quantizer": (
        lambda x: op.fake_quantize(
            x, const(-1.0, np.float32), const(1.0, np.float32), const(-2.0, np.float32),
            const(3.0, np.float32), 16,
        ),
        [normal(40)],
    ),
    "fake quantizer by channel": (
        lambda x: op.fake_quantize(
            x, const([[-1.0], [-2.0]], np.float32), const([[1.0], [2.0]], np.float32),
            const([[-1.0], [-2.0]], np.float32), const([[1.0], [2.0]], np.float32), 256,
        ),
        [normal(2, 20)],
    ),
    "stored bytes": (
        lambda x: op.matmul(
            x,
            op.multiply(
                op.subtract(
                    op.convert(const(rng.integers(0, 255, (5, 4)), np.uint8), "f32"),
                    op.convert(const(rng.integers(100, 150, (5, 1)), np.uint8), "f32"),
                ),
                const(rng.uniform(0.01, 0.02, (5, 1)), np.float32),
            ),
            False,
            True,
        ),
        [normal(2, 4)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_means_what_openvino_computes(case, tmp_path):
    make, inputs = CASES[case]
    agrees(make, inputs, tmp_path)


def test_quantizers_that_are_disturbed_leave_their_grid(tmp_path):
    from isomorph import registry
    from isomorph.core.trace import Noise
    from openvino_agreement import opened, ov, parameter

    x = np.linspace(-1, 1, 50).astype(np.float32)
    ends = [const(each, np.float32) for each in (-1.0, 1.0, -1.0, 1.0)]
    port = parameter(x, "x")
    path = tmp_path / "model.xml"
    ov.save_model(ov.Model([op.fake_quantize(port, *ends, 256)], [port], "q"), path)
    model = registry.framework("openvino").load(str(path), {})
    name = model.graph.outputs[0].name
    (grid,) = model.graph.quantization
    session = opened(model)
    clean = session.run({"x": x}, [name])[name]
    drawn = session.run({"x": x}, [name], noise=Noise(seed=1, quantizers=True))[name]
    steps = (clean + 1) / grid.scale[0]
    assert np.allclose(steps, np.rint(steps), atol=1e-4)
    off = (drawn + 1) / grid.scale[0]
    assert not np.allclose(off, np.rint(off), atol=1e-2)
    assert np.abs(drawn - x).max() <= 0.51 * grid.scale[0]


def test_a_whole_quotient_is_rounded_down(tmp_path):
    """OpenVINO's CPU plugin cuts it off (docs/defects), and its folding rounds it down."""
    from openvino_agreement import both

    a, b = np.array([7, -7, 5, -9]), np.array([2, 2, -3, -4])
    _, (meant,), _ = both(lambda x: op.divide(x, op.constant(b)), [a], tmp_path)
    (folded,), _, _ = both(
        lambda x: op.add(op.divide(op.constant(a), op.constant(b)), x), [np.array(0)], tmp_path
    )
    assert meant.tolist() == folded.tolist() == [3, -4, -2, 2]


def test_no_axis_is_reduced_where_none_is_given():
    from isomorph.kernels.openvino.layers import reduce
    from isomorph.oracle.call import Call

    x, none = normal(2, 3).astype(float), np.zeros(0, np.int64)
    call = Call(op="ReduceSum", attributes={"keepdims": 0})
    assert np.array_equal(reduce(call, x, none), x)
    assert reduce(call, x, np.array([1])).shape == (2,)
