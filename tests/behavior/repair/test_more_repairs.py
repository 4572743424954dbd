"""Other operators and other mechanisms: what known conversions got wrong, repaired and verified."""

import numpy as np
import onnxruntime
import pytest

import faulty
from faulty import attribute, bypassed, drawn, inputs, network, operator, weight
from isomorph import api

POOLED = network(
    "g (float[2,4,9,9] x) => (float[2,3,7] y) {"
    " [conv] c = Conv<pads: ints = [1,1,1,1], group: int = 2>(x, k, kb)"
    " [most] m = MaxPool<kernel_shape: ints = [2,2], strides: ints = [2,2], ceil_mode: int = 1>(c)"
    " [norm] n = InstanceNormalization<epsilon: float = 0.01>(m, g1, b1)"
    " [hard] h = HardSigmoid<alpha: float = 0.3, beta: float = 0.4>(n)"
    " [back] t = ConvTranspose<strides: ints = [2,2], pads: ints = [1,1,1,1],"
    " output_padding: ints = [1,1]>(h, tk, tb)"
    " [elu] e = Elu<alpha: float = 0.7>(t)"
    " [lrn] l = LRN<size: int = 3, alpha: float = 0.1, beta: float = 0.6, bias: float = 1.5>(e)"
    " [slope] p = PRelu(l, slope) [mean] q = GlobalAveragePool(p) [flat] f = Flatten(q)"
    " [dense] d = Gemm<alpha: float = 0.5, beta: float = 2.0, transB: int = 1>(f, w, wb)"
    " [shape] r = Reshape(d, sizes) [out] y = LogSoftmax<axis: int = 2>(r) }",
    k=drawn(6, 2, 3, 3), kb=drawn(6), g1=1 + 0.2 * drawn(6), b1=drawn(6, seed=1),
    tk=drawn(6, 5, 3, 3, scale=0.4), tb=drawn(5, seed=3), slope=np.abs(drawn(5, 1, 1)),
    w=drawn(21, 5), wb=drawn(21, seed=2), sizes=np.array([2, 3, 7]),
)  # fmt: skip
ANGLES = np.outer(np.arange(5), np.tile(np.logspace(0, -2, 4), 2))
ATTENTION = network(
    "g (float[2,5,8] x) => (float[2,5,8] y) {"
    " [square] s = Mul(x, x) [mean] v = ReduceMean<keepdims: int = 1>(s, last)"
    " [plus] a = Add(v, eps) [root] r = Sqrt(a) [divide] n = Div(x, r) [gain] g = Mul(n, gamma)"
    " [q] qq = MatMul(g, wq) [k] kk = MatMul(g, wk) [v] vv = MatMul(g, wv)"
    " [cosine] qc = Mul(qq, cos) [halves] q1, q2 = Split<axis: int = -1, num_outputs: int = 2>(qq)"
    " [minus] qn = Neg(q2) [turned] qr = Concat<axis: int = -1>(qn, q1) [sine] qs = Mul(qr, sin)"
    " [rope] qp = Add(qc, qs) [kt] kT = Transpose<perm: ints = [0,2,1]>(kk)"
    " [score] z = MatMul(qp, kT) [scaled] zz = Mul(z, scale)"
    " [lower] mk = Trilu<upper: int = 0>(ones) [mask] mc = Cast<to: int = 9>(mk)"
    " [masked] zm = Where(mc, zz, far) [soft] p = Softmax<axis: int = -1>(zm)"
    " [mix] o = MatMul(p, vv) [back] oo = MatMul(o, wo) [rest] y = Add(oo, x) }",
    last=np.array([-1]), eps=np.float32(1e-3), gamma=1 + 0.2 * drawn(8), wq=drawn(8, 8),
    wk=drawn(8, 8, seed=2), wv=drawn(8, 8, seed=3), wo=drawn(8, 8, seed=4),
    cos=np.cos(ANGLES).astype(np.float32), sin=np.sin(ANGLES).astype(np.float32),
    scale=np.float32(8**-0.5), ones=np.ones((5, 5), np.float32), far=np.float32(-1e4),
)  # fmt: skip
INDEXED = network(
    "g (float[4,6,5] x, int64[3] i) => (float[4,3,2] y) {"
    " [sums] c = CumSum<exclusive: int = 0, reverse: int = 1>(x, axis)"
    " [pick] g = Gather<axis: int = 1>(c, i) [part] s = Slice(g, start, end, axes, step)"
    " [top] t, places = TopK<axis: int = -1, largest: int = 1>(s, most)"
    " [cube] p = Pow(t, three) [gap] b = Sub(p, one) [rest] y = Mod<fmod: int = 1>(b, modulus) }",
    axis=np.array(1), start=np.array([0]), end=np.array([5]), axes=np.array([2]),
    step=np.array([2]), most=np.array([2]), three=np.float32(3), one=np.float32(1),
    modulus=np.float32(1.7),
)  # fmt: skip
SAMPLED = network(
    "g (float[1,3,6,6] x, float[1,5,5,2] g) => (float[1,3,8,8] y) {"
    ' [grid] s = GridSample<mode: string = "linear", padding_mode: string = "border",'
    " align_corners: int = 0>(x, g)"
    ' [up] y = Resize<mode: string = "nearest",'
    ' coordinate_transformation_mode: string = "asymmetric", nearest_mode: string = "floor">'
    "(s, , , sizes) }",
    sizes=np.array([1, 3, 8, 8]),
)
GATED = network(
    "g (float[6,2,3] x) => (float[6,2,2,4] y) {"
    ' [rnn] s, last = GRU<hidden_size: int = 4, direction: string = "bidirectional",'
    " linear_before_reset: int = 1>(x, w, r, b) [bend] y = Tanh(s) }",
    w=drawn(2, 12, 3), r=drawn(2, 12, 4), b=drawn(2, 24),
)  # fmt: skip
HASHED = network(
    "g (int64[6] i) => (float[6,3] y) {"
    " [hash] h = Mul(i, prime) [keep] w = Cast<to: int = 7>(h) [back] v = Cast<to: int = 7>(w)"
    " [bucket] b = Mod(v, buckets) [rows] r = Gather<axis: int = 0>(table, b) [bend] y = Tanh(r) }",
    prime=np.array(2654435761), buckets=np.array(11), table=drawn(11, 3),
)  # fmt: skip
WINDOWS = network(
    "g (float[1,8,8,5] x) => (float[1,8,8,5] y) {"
    " [mix] m = MatMul(x, w) [cut] c = Reshape(m, cuts)"
    " [turn] t = Transpose<perm: ints = [0,1,3,2,4,5]>(c) [join] j = Reshape(t, whole)"
    " [bend] b = Tanh(j) [out] y = MatMul(b, o) }",
    w=drawn(5, 5), o=drawn(5, 5, seed=1), cuts=np.array([1, 4, 4, 2, 2, 5]),
    whole=np.array([1, 8, 8, 5]),
)  # fmt: skip
NETWORKS = {
    "windows": (WINDOWS, {"x": drawn(1, 8, 8, 5, seed=2)}),
    "hashed": (HASHED, {"i": np.array([3, 17, 29, 101, 64, 7])}),
    "pooled": (POOLED, {"x": drawn(2, 4, 9, 9, seed=5)}),
    "attention": (ATTENTION, {"x": drawn(2, 5, 8, seed=6)}),
    "indexed": (INDEXED, {"x": drawn(4, 6, 5, seed=7), "i": np.array([4, 0, 2])}),
    "sampled": (SAMPLED, {"x": drawn(1, 3, 6, 6), "g": np.clip(drawn(1, 5, 5, 2), -1.3, 1.3)}),
    "gated": (GATED, {"x": drawn(6, 2, 3, seed=4)}),
}


def other_gates(value):
    z, r, h = np.split(value, 3, axis=1)
    return np.concatenate([r, z, h], axis=1)


FAULTS = {
    "windows_in_another_order": ("windows", attribute("turn", "perm", [0, 1, 3, 4, 2, 5])),
    "ceil": ("pooled", attribute("most", "ceil_mode", 0)),
    "hard_alpha": ("pooled", attribute("hard", "alpha", 1 / 6)),
    "flipped_kernel": ("pooled", weight("tk", lambda value: value[:, :, ::-1, ::-1])),
    "elu": ("pooled", attribute("elu", "alpha", 1.0)),
    "lrn_bias": ("pooled", attribute("lrn", "bias", 1.0)),
    "prelu": ("pooled", weight("slope", lambda value: value * 0 + 0.25)),
    "gemm_beta": ("pooled", attribute("dense", "beta", 1.0)),
    "bias_of_transposed": ("pooled", inputs("back", "h", "tk")),
    "rms_epsilon": ("attention", weight("eps", lambda _: np.float32(1e-6))),
    "gain_lost": ("attention", bypassed("gain")),
    "rope_sign": ("attention", bypassed("minus")),
    "sine_for_cosine": ("attention", inputs("cosine", "qq", "sin")),
    "scale_lost": ("attention", bypassed("scaled")),
    "mask_inverted": ("attention", inputs("masked", "mc", "far", "zz")),
    "mask_upper": ("attention", attribute("lower", "upper", 1)),
    "heads": ("attention", weight("wq", lambda v: v.reshape(8, 2, 4)[:, ::-1].reshape(8, 8))),
    "subtracted": ("attention", operator("rest", "Sub")),
    "cumsum": ("indexed", attribute("sums", "reverse", 0)),
    "cumsum_axis": ("indexed", weight("axis", lambda _: np.array([0]))),
    "slice_start": ("indexed", weight("start", lambda _: np.array([1]))),
    "smallest": ("indexed", attribute("top", "largest", 0)),
    "exponent": ("indexed", weight("three", lambda _: np.float32(2))),
    "operands": ("indexed", inputs("gap", "one", "p")),
    "grid_padding": ("sampled", attribute("grid", "padding_mode", "zeros")),
    "grid_corners": ("sampled", attribute("grid", "align_corners", 1)),
    "nearest": ("sampled", attribute("up", "nearest_mode", "round_prefer_floor")),
    "narrow_cast": ("hashed", attribute("keep", "to", 6)),
    "reset": ("gated", attribute("rnn", "linear_before_reset", 0)),
    "gates": ("gated", weight("w", other_gates)),
    "directions": ("gated", weight("r", lambda value: value[::-1])),
    "no_bias": ("gated", inputs("rnn", "x", "w", "r")),
}


def outputs(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options).run(None, feeds)[0]


@pytest.mark.parametrize("name", FAULTS)
def test_the_repaired_model_is_the_unbroken_one(tmp_path, name):
    which, edit = FAULTS[name]
    proto, given = NETWORKS[which]
    clean = faulty.saved(tmp_path, "clean", proto)
    broken = faulty.saved(tmp_path, "broken", faulty.broken(proto, edit))
    fixed = tmp_path / "fixed.onnx"
    repair = api.fix(clean, broken, output=fixed, inputs=given, in_process=True)
    assert repair.repaired, (repair.reason, repair.refused)
    assert repair.applied
    random = np.random.default_rng(1)
    fresh = {name: random.permutation(value.reshape(-1)).reshape(value.shape)
             for name, value in given.items()}  # fmt: skip
    np.testing.assert_allclose(outputs(fixed, fresh), outputs(clean, fresh), rtol=1e-3, atol=1e-5)
