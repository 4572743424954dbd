"""Operators that move data give what OpenVINO gives."""

import numpy as np
import pytest

pytest.importorskip("openvino")
from openvino_agreement import agrees, op

rng = np.random.default_rng(4)
X = rng.normal(size=(2, 3, 4)).astype(np.float32)
IMAGE = rng.normal(size=(1, 2, 5, 6)).astype(np.float32)


def whole(*values):
    return op.constant(np.array(values, np.int64))


def scalar(value, dtype=np.int64):
    return op.constant(np.array(value, dtype))


def resized(mode, **settings):
    return lambda x: op.interpolate(x, whole(8, 9), mode, "sizes", axes=whole(2, 3), **settings)


CASES = {
    "transpose": (lambda x: op.transpose(x, whole(2, 0, 1)), [X]),
    "gather": (lambda x: op.gather(x, whole(2, 0), scalar(1)), [X]),
    "gather from the end": (lambda x: op.gather(x, whole(-1, 0), scalar(-1)), [X]),
    "gather in batches": (
        lambda x: op.gather(x, op.constant(np.array([[0, 2], [1, 1]])), scalar(1), 1), [X],
    ),
    "split": (lambda x: op.split(x, scalar(2), 2), [X]),
    "split by lengths": (lambda x: op.variadic_split(x, scalar(1), whole(1, -1)), [X]),
    "slice": (lambda x: op.slice(x, whole(3), whole(0), whole(-2), whole(2)), [X]),
    "strided slice": (
        lambda x: op.strided_slice(
            x, whole(0, 1, 0), whole(2, 3, 4), whole(1, 1, 2), [0, 0, 1], [1, 0, 0]
        ),
        [X],
    ),
    "an axis less": (
        lambda x: op.strided_slice(
            x, whole(1, 0, 0), whole(2, 1, 3), whole(1, 1, 1), [0, 0, 0], [0, 0, 0],
            shrink_axis_mask=[1, 0, 0],
        ),
        [X],
    ),
    "an axis more": (
        lambda x: op.strided_slice(
            x, whole(1, 0, 0), whole(2, 1, 3), whole(1, 1, 1), [0, 0, 0], [0, 0, 0],
            new_axis_mask=[0, 1, 0],
        ),
        [X],
    ),
    "broadcast": (lambda x: op.broadcast(x, whole(5, 2, 3, 4)), [X]),
    "broadcast along axes": (
        lambda x: op.broadcast(x, whole(3, 2, 4), whole(0, 2), "explicit"),
        [np.float32([[1, 2, 3, 4]] * 3)],
    ),
    "both broadcast": (
        lambda x: op.broadcast(x, whole(2, 1, 1), broadcast_spec="bidirectional"), [X],
    ),
    "pad": (
        lambda x: op.pad(x, whole(0, 1, 2), whole(1, 0, 0), "constant", scalar(7, np.float32)),
        [X],
    ),
    "pad by an edge": (lambda x: op.pad(x, whole(0, 1, 2), whole(1, 0, 0), "edge"), [X]),
    "pad by a mirror": (lambda x: op.pad(x, whole(0, 1, 2), whole(1, 0, 0), "symmetric"), [X]),
    "shape": (lambda x: op.shape_of(x, "i32"), [X]),
    "one hot": (
        lambda i: op.one_hot(
            i, scalar(3), scalar(2, np.float32), scalar(-1, np.float32), 1
        ),
        [np.array([0, 2, 1])],
    ),
    "largest": (lambda x: op.topk(x, scalar(2), 1, "max", "value"), [X]),
    "smallest in their order": (lambda x: op.topk(x, scalar(3), 2, "min", "index"), [X]),
    "non-zero": (op.non_zero, [np.float32([[0, 1], [2, 0]])]),
    "slices replaced": (
        lambda x, u: op.scatter_update(x, whole(2, 0), u, scalar(1)),
        [X, rng.normal(size=(2, 2, 4)).astype(np.float32)],
    ),
    "elements replaced": (
        lambda x, u: op.scatter_elements_update(
            x, op.constant(np.array([[[1, 0]]])), u, scalar(2)
        ),
        [X, np.float32([[[8, 9]]])],
    ),
    "slices by coordinates": (
        lambda x, u: op.scatter_nd_update(x, op.constant(np.array([[1, 2], [0, 1]])), u),
        [X, rng.normal(size=(2, 4)).astype(np.float32)],
    ),
    "depth to space": (lambda x: op.depth_to_space(x, "blocks_first", 2),
                       [rng.normal(size=(1, 8, 2, 3)).astype(np.float32)]),
    "reverse": (lambda x: op.reverse_sequence(x, whole(2, 3), 0, 1), [X]),
    "sum so far": (lambda x: op.cum_sum(x, scalar(1), True, True), [X]),
    "reshape with a zero": (lambda x: op.reshape(x, whole(0, -1), True), [X]),
    "nearest": (resized("nearest", coordinate_transformation_mode="asymmetric",
                        nearest_mode="floor"), [IMAGE]),
    "linear": (resized("linear_onnx", coordinate_transformation_mode="half_pixel"), [IMAGE]),
    "linear to the corners": (
        resized("linear_onnx", coordinate_transformation_mode="align_corners"), [IMAGE],
    ),
    "cubic": (resized("cubic", coordinate_transformation_mode="half_pixel"), [IMAGE]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_means_what_openvino_computes(case, tmp_path):
    make, inputs = CASES[case]
    agrees(make, inputs, tmp_path)


def test_a_range_of_numbers(tmp_path):
    (meant,) = agrees(
        lambda n: [op.range(scalar(1), n, scalar(2), "f32").output(0)],
        [np.array(8)],
        tmp_path,
    )
    assert meant.tolist() == [1, 3, 5, 7]


def test_an_axis_less_and_one_more(tmp_path):
    """OpenVINO's CPU plugin reads foreign memory here (docs/defects); its folding is right."""
    from openvino_agreement import both

    def cut(x):
        return op.strided_slice(
            x, whole(1, 0, 0), whole(2, 1, 3), whole(1, 1, 1), [0, 0, 0], [0, 0, 0],
            new_axis_mask=[0, 1, 0], shrink_axis_mask=[1, 0, 0],
        )  # fmt: skip

    _, (meant,), _ = both(cut, [X], tmp_path)
    (folded,), _, _ = both(lambda y: op.add(cut(op.constant(X)), y), [np.float32(0)], tmp_path)
    assert np.array_equal(meant, X[1, None, 0:3])
    assert np.array_equal(meant, folded)
