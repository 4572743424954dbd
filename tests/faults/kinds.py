"""Every kind of fault that a cause has to recognize, planted in small networks.

Each is a reference, a candidate, inputs, the cause, and words that the finding must say.
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper


def network(text, opset=20, **weights):
    head = f'<ir_version: 9, opset_import: ["" : {opset}, "com.microsoft" : 1]>'
    proto = onnx.parser.parse_model(f"{head} {text}")
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return proto


def drawn(*shape, seed=0, scale=1.0):
    values = scale * np.random.default_rng([seed, *shape]).standard_normal(shape)
    return values.astype(np.float32)


def on_image(step, gives="float[A,B,C,D] y", opset=20, **weights):
    """A convolution, the step in question from ``t`` to ``h``, and a curve."""
    body = f"t = Conv <pads=[1,1,1,1]> (x, k) [it] {step} y = Tanh (h)"
    text = f"g (float[2,4,6,6] x) => ({gives}) {{ {body} }}"
    return network(text, opset, k=drawn(4, 4, 3, 3, scale=0.3), **weights)


def in_table(*steps, takes="float[3,5] x", gives="float[A,B] y", **weights):
    return network(f"g ({takes}) => ({gives}) {{ {' '.join(steps)} }}", **weights)


IMAGE = {"x": drawn(2, 4, 6, 6, seed=3)}
TABLE = {"x": drawn(3, 5, seed=2)}
SQUARE = {"x": drawn(4, 4, seed=3)}
SEQUENCE = {"x": drawn(5, 2, 3, seed=1)}
W, WIDE = drawn(5, 5, seed=7), drawn(5, 40, seed=9)
POOL = "kernel_shape=[2,2], strides=[2,2], pads=[1,1,0,0]"
DOUBLE = np.array([1, 1, 2, 2], np.float32)
GATES = drawn(1, 16, 3)


def conv(attributes):
    return on_image(f"h = Conv <{attributes}> (t, w)", w=drawn(3, 4, 3, 3, seed=5))


def resized(attributes):
    return on_image(f"h = Resize <{attributes}> (t, , f)", f=DOUBLE)


def peak(keep):
    return in_table(
        "a = Neg (x)", f"[it] m = ReduceMax <keepdims={keep}> (a, axes)", "y = Sub (a, m)",
        takes="float[4,4] x", axes=np.array([1]),
    )  # fmt: skip


def dense(weight, *, adds=True):
    add = ["h = Add (t, b)"] if adds else ["h = Identity (t)"]
    return in_table("t = MatMul (x, w)", *add, "y = Tanh (h)", w=np.ascontiguousarray(weight),
                    b=drawn(5))  # fmt: skip


def spoiled(weight):
    weight = weight.copy()
    weight.reshape(-1)[3] += 0.5
    return weight


def cut_off(weight):
    return (weight.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def recurrent(kernel):
    return network(
        "g (float[5,2,3] x) => (float[5,1,2,4] y)"
        " { h = LSTM <hidden_size=4> (x, w, r, b) y = Tanh (h) }",
        w=kernel, r=drawn(1, 16, 4), b=drawn(1, 32),
    )  # fmt: skip


def stateful(*reads):
    return network(
        "g (float[5,2,3] x, float[1,2,4] s) => (float[5,1,2,4] y)"
        f" {{ h = GRU <hidden_size=4> ({', '.join(reads)}) y = Tanh (h) }}",
        w=drawn(1, 12, 3), r=drawn(1, 12, 4), b=drawn(1, 24),
    )  # fmt: skip


def reordered(kernel):
    i, o, f, c = np.split(kernel, 4, axis=1)
    return np.concatenate([i, f, o, c], axis=1)


def whole(*steps, gives="int64[6] y", **weights):
    return in_table(*steps, takes="int64[6] x", gives=gives, **weights)


QUOTIENT = "f = Cast <to=1> (x) v = Div (f, k)"
LARGE = {"x": np.array([1, 3, 10**5, 7 * 10**5, 10**6, 2 * 10**6])}
SMALL = {"x": np.array([-7, -5, 1, 2, 4, 8])}


def through(number, large=1.0):
    """A detour through another type, number 1 being float itself."""
    detour = f"c = Cast <to={number}> (m) h = Cast <to=1> (c)" if number != 1 else "h = Neg (m)"
    back = 1 / large if number != 1 else -1 / large
    return in_table("m = Mul (x, n)", detour, "y = Mul (h, o)", takes="float[4,4] x",
                    n=np.float32(large), o=np.float32(back))  # fmt: skip


def quantized(**other):
    stored = {"xs": np.float32(5 / 255), "xz": np.uint8(128), "ws": np.float32(0.3 / 40),
              "wz": np.int8(0), "bs": np.float32(5 / 255) * np.float32(0.3 / 40),
              "rs": np.float32(8 / 255), "rz": np.uint8(0), "ds": np.float32(8 / 255),
              "dz": np.uint8(0), "bz": np.int32(0),
              "wq": np.clip(np.rint(drawn(5, 3, 3, 3) * 40), -127, 127).astype(np.int8),
              "bq": (drawn(5) * 1000).astype(np.int32)}  # fmt: skip
    return network(
        "g (float[4,3,6,6] x) => (float[4,5,6,6] y) {"
        " q = QuantizeLinear (x, xs, xz) d = DequantizeLinear (q, xs, xz)"
        " w = DequantizeLinear (wq, ws, wz) b = DequantizeLinear (bq, bs, bz)"
        " c = Conv <pads=[1,1,1,1]> (d, w, b) r = Relu (c)"
        " rq = QuantizeLinear (r, rs, rz) y = DequantizeLinear (rq, ds, dz) }",
        **{**stored, **other},
    )


def unquantized():
    raw = {t.name: numpy_helper.to_array(t) for t in quantized().graph.initializer}
    return network(
        "g (float[4,3,6,6] x) => (float[4,5,6,6] y)"
        " { c = Conv <pads=[1,1,1,1]> (x, k, b) y = Relu (c) }",
        k=raw["wq"].astype(np.float32) * raw["ws"], b=raw["bq"].astype(np.float32) * raw["bs"],
    )  # fmt: skip


STORED = {t.name: numpy_helper.to_array(t) for t in quantized().graph.initializer}
CALIBRATED = {"x": np.clip(drawn(4, 3, 6, 6), -2.5, 2.5)}


def rounding(*, away):
    steps = ["a = Abs (v)", "p = Add (a, half)", "f = Floor (p)", "g = Sign (v)", "r = Mul (f, g)"]
    return in_table(
        "v = Div (x, s)", *(steps if away else ["r = Round (v)"]), "y = Mul (r, s)",
        takes="float[64] x", gives="float[64] y", s=np.float32(0.25), half=np.float32(0.5),
    )  # fmt: skip


def deciding(test="Greater", *, swapped=False):
    one, other = ("v = Sub (x, two)", "v = Mul (x, two)") if swapped else (
        "v = Mul (x, two)", "v = Sub (x, two)")  # fmt: skip
    return in_table(
        "t = ReduceSum <keepdims=0> (x)", f"b = {test} (t, zero)",
        f"c = If (b) <then_branch = a () => (float[4,4] v) {{ {one} }},"
        f" else_branch = o () => (float[4,4] v) {{ {other} }}>", "y = Tanh (c)",
        takes="float[4,4] x", zero=np.float32(0), two=np.float32(2),
    )  # fmt: skip


def looping(rounds):
    body = ("b (int64 i, bool c, float[4] s) => (bool c2, float[4] s2)"
            " { c2 = Identity (c) e = Sin (s) s2 = Add (s, e) }")  # fmt: skip
    return in_table(f"h = Loop (n, t, x) <body = {body}>", "y = Tanh (h)", takes="float[4] x",
                    gives="float[4] y", n=np.int64(rounds), t=np.array(True))  # fmt: skip


def following(step, sizes="n = Shape <start=0, end=1> (x)", **weights):
    return in_table(sizes, step, "y = Tanh (r)", takes="float[N,6] x", **weights)


def activated(*step):
    return in_table("m = MatMul (x, w)", *step, "y = Exp (h)", takes="float[4,4] x", w=drawn(4, 4))


def drawing(*noise):
    return in_table("h = MatMul (x, w)", *noise, "y = Tanh (d)", takes="float[4,4] x",
                    w=drawn(4, 4), rate=np.float32(0.5), mode=np.array(True))  # fmt: skip


def two_outputs(first="a", second="b"):
    return in_table(f"{first} = MatMul (x, w)", f"{second} = Sin (x)", takes="float[4,4] x",
                    gives="float[4,4] a, float[4,4] b", w=drawn(4, 4))  # fmt: skip


def described(proto):
    helper.set_model_props(proto, {"labels": "cat, dog"})
    proto.doc_string = "what it does"
    return proto


ATTRIBUTES = {
    "ceil_mode": (on_image(f"h = MaxPool <{POOL}, ceil_mode=1> (t)"),
                  on_image(f"h = MaxPool <{POOL}> (t)"), IMAGE, "ceil_mode is 0, not 1"),
    "keepdims": (peak(1), peak(0), SQUARE, "keepdims is 0, not 1"),
    "dilations": (conv("pads=[1,1,1,1]"), conv("pads=[2,2,2,2], dilations=[2,2]"), IMAGE,
                  "dilations is (2, 2), not (1, 1); pads is (2, 2, 2, 2), not (1, 1, 1, 1)"),
    "SAME": (conv('auto_pad="SAME_UPPER", strides=[2,2]'), conv("pads=[1,1,0,0], strides=[2,2]"),
             IMAGE, "auto_pad is NOTSET, not SAME_UPPER"),
    "cubic": (resized('mode="cubic", cubic_coeff_a=-0.5'), resized('mode="cubic"'), IMAGE,
              "cubic_coeff_a is -0.75, not -0.5"),
    "outside": (resized('mode="cubic", exclude_outside=1'), resized('mode="cubic"'), IMAGE,
                "exclude_outside is 0, not 1"),
    "axes": (on_image("h = ReduceMean (t, a)", a=np.array([2])),
             on_image("h = ReduceMean (t, a)", a=np.array([3])), IMAGE, "axes is 3, not 2"),
    "fmod": (whole("h = Mod <fmod=1> (x, n)", "y = Neg (h)", n=np.array(5)),
             whole("h = Mod <fmod=0> (x, n)", "y = Neg (h)", n=np.array(5)), SMALL,
             "fmod is 0, not 1"),
}  # fmt: skip
ATTRIBUTES["softmax before opset 13"] = (
    on_image("h = Softmax <axis=1> (t)", opset=13), on_image("h = Softmax <axis=1> (t)", opset=11),
    IMAGE, "it uses all axes from it on as one, the reference uses this axis only",
)  # fmt: skip
WEIGHTS = {
    "permuted": (dense(W), dense(W[:, [1, 0, 2, 3, 4]]), TABLE, "channels 0 and 1 along axis 1"),
    "bfloat16": (dense(W), dense(W.astype(ml_dtypes.bfloat16).astype(np.float32)), TABLE,
                 "rounded to bfloat16"),
    "cut off": (dense(W), dense(cut_off(W)), TABLE, "cut off to bfloat16, not rounded"),
    "few": (dense(W), dense(spoiled(W)), TABLE, "1 of 25 values differ"),
    "stale": (dense(W), dense(W + 0.05 * drawn(5, 5, seed=11)), TABLE,
              "as from another checkpoint"),
    "bias": (dense(W), dense(W, adds=False), TABLE, "bias 'b' is not added"),
    "gates": (recurrent(GATES), recurrent(reordered(GATES)), SEQUENCE,
              "its gate blocks are in the order (0, 2, 1, 3)"),
}  # fmt: skip
TYPES = {
    "division": (whole(QUOTIENT, "y = Tanh (v)", gives="float[6] y", k=np.float32(3)),
                 whole("d = Div (x, n) h = Cast <to=1> (d)", "y = Tanh (h)", gives="float[6] y",
                       n=np.array(3)), SMALL, "truncates its quotient"),
    "rounding": (whole(QUOTIENT, "r = Round (v) h = Cast <to=7> (r)", "y = Neg (h)",
                       k=np.float32(3)),
                 whole(QUOTIENT, "h = Cast <to=7> (v)", "y = Neg (h)", k=np.float32(3)), SMALL,
                 "the cast truncates the values, the reference rounds"),
    "narrow product": (whole("h = Mul (x, n)", "y = Neg (h)", n=np.array(5000)),
                       whole("s = Cast <to=6> (x) m = Mul (s, n) h = Cast <to=7> (m)",
                             "y = Neg (h)", n=np.array(5000, np.int32)), LARGE,
                       "leave the range of int32 and wrap around"),
    "int16": (whole("h = Mul (x, n)", "y = Neg (h)", n=np.array(5000)),
              whole("m = Mul (x, n) s = Cast <to=5> (m) h = Cast <to=7> (s)", "y = Neg (h)",
                    n=np.array(5000)), LARGE, "the range of int16"),
}  # fmt: skip
QUANTIZERS = {
    "clipped": (unquantized(), quantized(rs=np.float32(1.5 / 255), ds=np.float32(1.5 / 255)),
                CALIBRATED, "clips"),
    "wasted": (unquantized(), quantized(rs=np.float32(0.25), ds=np.float32(0.25)), CALIBRATED,
               "of its steps"),
    "zero point": (unquantized(), quantized(dz=np.uint8(9)), CALIBRATED, "shifted by -9 steps"),
    "scale": (unquantized(), quantized(ds=np.float32(12 / 255)), CALIBRATED, "the scale is"),
    "bias scale": (unquantized(), quantized(bs=STORED["bs"] * np.float32(4)), CALIBRATED,
                   "4 times"),
    "other sign": (unquantized(), quantized(wq=STORED["wq"].view(np.uint8), wz=np.uint8(0)),
                   CALIBRATED, "int8 is read as uint8"),
}  # fmt: skip
SHAPES = {
    "reshaped": (following("t = Concat <axis=0> (n, k) r = Reshape (x, t)", k=np.array([6])),
                 following("r = Reshape (x, t)", "", t=np.array([2, -1])), {"x": drawn(4, 6)},
                 "sizes [2, -1] that were frozen; for this input they are [4, 6]"),
    "sliced": (following("r = Slice (x, z, n, z)", z=np.array([0])),
               following("r = Slice (x, z, e, z)", "", z=np.array([0]), e=np.array([3])),
               {"x": drawn(5, 6)}, "sizes [3] that were frozen; for this input they are [5]"),
    "expanded": (following("t = Concat <axis=0> (n, k) e = Expand (c, t) r = Mul (x, e)",
                           k=np.array([6]), c=drawn(1, 6)),
                 following("e = Expand (c, t) r = Mul (x, e)", "", t=np.array([2, 6]),
                           c=drawn(1, 6)), None, "for this input they are [1"),
}  # fmt: skip
OTHERS = {
    "half": ("precision", through(1, 1e5), through(10, 1e5), SQUARE, "overflow float16"),
    "branches": ("control_flow", deciding(), deciding(swapped=True), SQUARE, "other branch"),
    "condition": ("control_flow", deciding(), deciding("Less"), SQUARE, "condition is inverted"),
    "rounds": ("control_flow", looping(3), looping(4), {"x": drawn(4)}, "runs 4 rounds"),
    "dropout": ("nondeterminism", drawing("d = Identity (h)"),
                drawing("d = Dropout (h, rate, mode)"), SQUARE, "draws random numbers"),
    "left out": ("missing_op", activated("h = Relu (m)"), activated("h = Identity (m)"), SQUARE,
                 "the reference's Relu is missing"),
    "approximated": ("missing_op", activated("h = Sigmoid (m)"), activated("h = HardSigmoid (m)"),
                     SQUARE, "a hard sigmoid with slope 0.2, the reference a sigmoid"),
    "state": ("missing_op", stateful("x", "w", "r", "b", "", "s"), stateful("x", "w", "r", "b"),
              {**SEQUENCE, "s": drawn(1, 2, 4)}, "lacks 1 of the inputs"),
    "transposed": ("layout", dense(W), dense(W.T), TABLE, "it is transposed"),
    "cut otherwise": ("layout",
                      on_image("r = Reshape (t, s) h = Transpose <perm=[0,2,1]> (r)",
                               gives="float[2,36,4] y", s=np.array([2, 4, 36])),
                      on_image("h = Reshape (t, s)", gives="float[2,36,4] y",
                               s=np.array([2, 36, 4])), IMAGE, "values stand in the wrong places"),
    "each other's": ("interface", two_outputs(), two_outputs("b", "a"), SQUARE,
                     "holds the values of the reference's"),
}  # fmt: skip
KINDS = {
    **{f"attribute: {name}": ("attribute", *each) for name, each in ATTRIBUTES.items()},
    **{f"weight: {name}": ("weight", *each) for name, each in WEIGHTS.items()},
    **{f"dtype: {name}": ("dtype", *each) for name, each in TYPES.items()},
    **{f"quantization: {name}": ("quantization", *each) for name, each in QUANTIZERS.items()},
    **{f"shape: {name}": ("shape", *each) for name, each in SHAPES.items()},
    **{f"{each[0]}: {name}": each for name, each in OTHERS.items()},
}
"""By name: cause, reference, candidate, inputs (None: made up), words; all can be repaired."""
NOT_REPAIRED = {
    "quantization: ties": ("quantization", rounding(away=True), rounding(away=False),
                           {"x": (np.arange(64, dtype=np.float32) - 32) / 8},
                           "are rounded to even, and by the reference away from zero"),
    "control_flow: frozen": ("control_flow", deciding(), in_table(
        "c = Mul (x, two)", "y = Tanh (c)", takes="float[4,4] x", two=np.float32(2)),
        {"x": np.abs(drawn(4, 4))}, "differs on the given inputs times -1"),
    "interface: words": ("interface", described(two_outputs()), two_outputs(), SQUARE,
                         "lost metadata of the reference: 'labels', 'doc_string'"),
    "interface: axis": ("interface", in_table("y = Tanh (x)", takes="float[N,4] x"),
                        in_table("y = Tanh (x)", takes="float[4,4] x"), SQUARE,
                        "axis 0 was free and is 4"),
}  # fmt: skip
"""What no patch mends, or what needs none."""
