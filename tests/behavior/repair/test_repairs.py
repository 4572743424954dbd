"""One broken conversion after the other, repaired, and held against the unbroken one."""

import numpy as np
import onnxruntime
import pytest

import faulty
from faulty import attribute, bypassed, drawn, inputs, inserted, network, operator, weight
from isomorph import api

CNN = network(
    "g (float[2,3,8,8] x) => (float[2,5] y) {"
    " [conv] c = Conv<pads: ints = [1,1,1,1]>(x, k, kb)"
    " [norm] n = BatchNormalization<epsilon: float = 0.001>(c, g1, b1, m1, v1)"
    " [leak] l = LeakyRelu<alpha: float = 0.1>(n)"
    " [pool] p = AveragePool<kernel_shape: ints = [3,3], strides: ints = [2,2],"
    " pads: ints = [1,1,1,1], count_include_pad: int = 1>(l)"
    " [flat] f = Flatten(p)"
    " [dense] h = Gemm<transB: int = 1>(f, w, wb)"
    " [soft] y = Softmax<axis: int = 1>(h) }",
    k=drawn(4, 3, 3, 3, scale=0.3), kb=drawn(4), g1=1 + 0.1 * drawn(4), b1=drawn(4, seed=2),
    m1=drawn(4, seed=3), v1=np.abs(drawn(4, seed=4)) * 0.01, w=drawn(5, 64, scale=0.1),
    wb=drawn(5, seed=5),
)  # fmt: skip
IMAGE = {"x": drawn(2, 3, 8, 8, seed=9)}
MIXER = network(
    "g (float[2,6,6] x, float[2,6,6] s) => (float[2,6,6] y) {"
    " [turn] t = Transpose<perm: ints = [0,2,1]>(x)"
    " [product] m = MatMul(t, w)"
    " [gap] d = Sub(m, s)"
    " [norm] n = LayerNormalization<axis: int = -1, epsilon: float = 0.01>(d, g1, b1)"
    " [act] a = Gelu(n)"
    " [limit] c = Clip(a, lo, hi)"
    " [join] j = Concat<axis: int = 2>(c, s)"
    " [mix] q = MatMul(j, v)"
    " [total] r = ReduceMean<keepdims: int = 1>(q, axes)"
    " [out] y = Add(q, r) }",
    w=drawn(6, 6), g1=1 + 0.2 * drawn(6), b1=drawn(6, seed=1), lo=np.float32(-0.1),
    hi=np.float32(0.9), v=drawn(12, 6), axes=np.array([1]),
)  # fmt: skip
PAIR = {"x": drawn(2, 6, 6, seed=3), "s": drawn(2, 6, 6, seed=4)}
RECURRENT = network(
    "g (float[5,2,3] x, float[1,2,4] h) => (float[5,1,2,4] y) {"
    " [rnn] s, last, cell = LSTM<hidden_size: int = 4>(x, w, r, b, , h, c)"
    " [bend] y = Tanh(s) }",
    w=drawn(1, 16, 3), r=drawn(1, 16, 4), b=drawn(1, 32), c=drawn(1, 2, 4),
)  # fmt: skip
SEQUENCE = {"x": drawn(5, 2, 3, seed=1), "h": drawn(1, 2, 4, seed=2)}
DECIDING = network(
    "g (float[4,6] x) => (float[4,6] y) {"
    " [total] t = ReduceSum<keepdims: int = 0>(x)"
    " [test] b = Greater(t, zero)"
    " [choose] c = If(b) <then_branch = a () => (float[4,6] u) { u = Mul(x, two) },"
    " else_branch = o () => (float[4,6] v) { v = Sub(x, two) }>"
    " [mask] p = Less(c, zero)"
    " [pick] y = Where(p, x, c) }",
    zero=np.float32(0), two=np.float32(2),
)  # fmt: skip
TABLE = {"x": drawn(4, 6, seed=5)}
WHOLE = network(
    "g (int64[3,4] i, float[3,4] x) => (int64[3,4] y) {"
    " [quotient] q = Mul(x, seven)"
    " [near] n = Floor(q)"
    " [to_int] k = Cast<to: int = 7>(n)"
    " [big] b = Mul(i, huge)"
    " [sum] y = Add(b, k) }",
    seven=np.float32(7), huge=np.int64(3_000_000_000),
)  # fmt: skip
NUMBERS = {"i": np.arange(12).reshape(3, 4), "x": drawn(3, 4, seed=6)}
PICTURE = network(
    "g (float[1,8,5,5] x) => (float[1,2,22,22] y) {"
    " [up] u = Resize<coordinate_transformation_mode: string = \"half_pixel\","
    " mode: string = \"linear\">(x, , scales)"
    " [frame] p = Pad<mode: string = \"reflect\">(u, pads)"
    " [deep] y = DepthToSpace<blocksize: int = 2, mode: string = \"CRD\">(p) }",
    scales=np.array([1, 1, 1.8, 1.8], np.float32), pads=np.array([0, 0, 1, 1, 0, 0, 1, 1]),
)  # fmt: skip
SMALL = {"x": drawn(1, 8, 5, 5, seed=7)}
NETWORKS = {
    "cnn": (CNN, IMAGE), "mixer": (MIXER, PAIR), "recurrent": (RECURRENT, SEQUENCE),
    "deciding": (DECIDING, TABLE), "whole": (WHOLE, NUMBERS), "picture": (PICTURE, SMALL),
}  # fmt: skip


def reordered_gates(value):
    i, o, f, c = np.split(value, 4, axis=1)
    return np.concatenate([i, f, o, c], axis=1)


def rounded(value):
    return value.astype(np.float16).astype(value.dtype)


def one_spoiled(value):
    value.reshape(-1)[7] += 1
    return value


FAULTS = {
    # attributes
    "epsilon": ("cnn", attribute("norm", "epsilon", 1e-5)),
    "slope": ("cnn", attribute("leak", "alpha", 0.13)),
    "count_include_pad": ("cnn", attribute("pool", "count_include_pad", 0)),
    "uneven_pads": ("cnn", attribute("conv", "pads", [2, 1, 0, 1])),
    "softmax_axis": ("cnn", attribute("soft", "axis", 0)),
    "norm_epsilon": ("mixer", attribute("norm", "epsilon", 1e-5)),
    "gelu": ("mixer", attribute("act", "approximate", "tanh")),
    "upper_bound": ("mixer", weight("hi", lambda _: np.float32(0.5))),
    "reduced_axis": ("mixer", weight("axes", lambda _: np.array([2]))),
    "resize": ("picture", attribute("up", "coordinate_transformation_mode", "align_corners")),
    "pad_mode": ("picture", attribute("frame", "mode", "edge")),
    "depth_to_space": ("picture", attribute("deep", "mode", "DCR")),
    # weights
    "rounded": ("cnn", weight("k", rounded)),
    "one_value": ("cnn", weight("w", one_spoiled)),
    "permuted_channels": ("cnn", weight("k", lambda value: value[[1, 0, 2, 3]])),
    "bias_dropped": ("cnn", inputs("conv", "x", "k")),
    "stale": ("mixer", weight("v", lambda value: value + 0.01 * drawn(12, 6, seed=8))),
    "gates": ("recurrent", weight("w", reordered_gates)),
    # layout
    "transposed_weight": ("mixer", weight("w", lambda value: value.T)),
    "permutation": ("mixer", attribute("turn", "perm", [0, 1, 2])),
    "operands": ("mixer", inputs("gap", "s", "m")),
    "parts": ("mixer", inputs("join", "s", "c")),
    "transpose_lost": ("mixer", bypassed("turn")),
    "transpose_added": ("mixer", inserted("Transpose", "m", perm=[0, 2, 1])),
    # types
    "half": ("mixer", faulty.through_half("m")),
    "rounding": ("whole", operator("near", "Round")),
    "rounding_lost": ("whole", bypassed("near")),
    # decisions
    "branches": ("deciding", faulty.swapped_branches("choose")),
    "selection": ("deciding", inputs("pick", "p", "c", "x")),
    "comparison": ("deciding", operator("mask", "Greater")),
    # what is missing or should not be there
    "state_dropped": ("recurrent", inputs("rnn", "x", "w", "r", "b", "", "", "c")),
    "activation_lost": ("recurrent", operator("bend", "Identity")),
    "slope_lost": ("cnn", bypassed("leak")),
    "another_activation": ("recurrent", operator("bend", "Sigmoid")),
    "activation_added": ("mixer", inserted("Relu", "d")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_repaired_model_is_the_unbroken_one(name, tmp_path):
    which, edit = FAULTS[name]
    clean, given = NETWORKS[which]
    reference = faulty.saved(tmp_path, "reference", clean)
    candidate = faulty.saved(tmp_path, "candidate", faulty.broken(clean, edit))
    before = candidate.read_bytes()
    repair = api.fix(
        reference, candidate, output=tmp_path / "fixed.onnx", inputs=given, in_process=True
    )
    assert repair.repaired, (repair.reason, repair.refused)
    assert repair.applied
    assert candidate.read_bytes() == before
    fresh = {
        key: drawn(*value.shape, seed=77) if value.dtype.kind == "f" else value[::-1].copy()
        for key, value in given.items()
    }
    for feeds in (given, fresh):
        for cand, ref in zip(
            ran(reference, feeds), ran(tmp_path / "fixed.onnx", feeds), strict=True
        ):
            np.testing.assert_allclose(ref, cand, rtol=1e-4, atol=1e-5)


def ran(path, feeds):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)
