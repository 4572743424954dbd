"""Right values in the wrong place: named where they are made, and put back."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from isomorph import api

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'


def drawn(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


W = {
    "first": np.array([0]),
    "third": np.array([2]),
    "w": drawn(6, 6),
    "v": -drawn(6, 6)[::-1],
    "far": np.float32(-1e4),
    "cut": np.array([4, 3, 6]),
    "none": np.int64(0),
    "single": np.int64(1),
    "near": np.float32(0.5),
    "u": drawn(6, 4),
    "u4": drawn(4, 5),
    "first2": np.array([2]),
    "second": np.array([1]),
    "fanned": np.array([3, 4, 4, 6]),
    "joined": np.array([3, 16, 6]),
    "mean": drawn(6),
    "nothing": np.zeros(6, np.float32),
    "early": np.arange(4) < 1,
    "late": np.arange(4) > 2,
    "scale": drawn(6) + 3,
}
X, M = drawn(3, 4, 6), np.arange(4) < np.array([[4], [2], [3]])
SPLIT = """
 [split] a, b = Split <axis = 2, num_outputs = 2> (x) [exp] c = Exp (a) [tanh] d = Tanh (b)
 [cat] h = Concat <axis = 2> (c, d) [out] y = MatMul (h, w) """
CROSSED = SPLIT.replace("Exp (a)", "Exp (b)").replace("Tanh (b)", "Tanh (a)")
TWICE = """
 [one] p = MatMul (x, w) [two] q = MatMul (x, v) [cat] h = Concat <axis = 0> (p, q)
 [out] y = Tanh (h) """
BOUNDED = TWICE.replace("q = MatMul (x, v)", "z = MatMul (x, v) [keep] q = Max (z, far)")
TURNED = """
 [turn] t = Transpose <perm = [1, 0, 2]> (x) [cut] r = Reshape (t, cut) [out] y = MatMul (r, w) """
MASKED = """
 [all] one = ReduceMean <keepdims = 0, axes = [2]> (x) [not] n = Not (m)
 [mask] k = Where (n, far, one) [out] y = Softmax <axis = 1> (k) """
BARE = """
 [relu] r = Relu (x) [turn] t = Transpose <perm = [1, 0, 2]> (r) [out] y = MatMul (t, w) """

PICKED = """
 [one] p = Gather <axis = 1> (x, first) [two] q = Gather <axis = 1> (x, third)
 [wide] e = Unsqueeze (q, first) [thin] t = Squeeze (e, first)
 [minus] d = Sub (p, t) [out] y = MatMul (d, w) """
JOINED = """
 [sin] a = Sin (x) [cos] b = Cos (x) [cat] h = Concat <axis = 0> (a, b) [out] y = MatMul (h, w) """
EARLY = """
 [mix] p = MatMul (x, u) [turn] t = Transpose <perm = [0, 2, 1]> (p) [exp] e = Exp (t)
 [bend] a = Tanh (e) [out] y = MatMul (a, u4) """
SPREAD = """
 [wide] e = Unsqueeze (x, first2) [fan] f = Expand (e, fanned) [join] j = Reshape (f, joined)
 [out] y = MatMul (j, w) """
SHIFTED = """
 [less] d = Sub (x, mean) [part] p = Mul (d, scale) [out] y = MatMul (p, w) """
DECIDED = """
 [whole] i = Cast <to = 7> (m) [more] k = Greater (i, none) [pick] y = Where (k, near, far) """
HIDDEN = """
 [not] n = Not (m) [some] o = Or (n, early) [wide] e = Unsqueeze (o, first2) [sin] s = Sin (x)
 [pick] y = Where (e, far, s) """
HIDDEN_TWICE = HIDDEN.replace(
    "[wide] e = Unsqueeze (o,", "[also] l = Or (o, late) [wide] e = Unsqueeze (l,"
)

FAULTS = {
    "before it is passed on": (
        HIDDEN, HIDDEN.replace("[some] o = Or (n, early)", "").replace("(o,", "(n,"), "wide",
        "missing_op",
    ),
    "the second time by one operator": (
        HIDDEN_TWICE, HIDDEN_TWICE.replace("[also] l = Or (o, late)", "").replace("(l,", "(o,"),
        "wide", "missing_op",
    ),
    "decided": (DECIDED, DECIDED.replace("none", "single"), "more", "attribute"),
    "operator": (JOINED, JOINED.replace("= Sin (x)", "= Cos (x)"), "sin", "missing_op"),
    "idle": (SHIFTED, SHIFTED.replace("mean", "nothing"), "less", "weight"),
    "still": (TURNED, TURNED.replace("[1, 0, 2]", "[0, 1, 2]"), "turn", "layout"),
    "early": (EARLY, EARLY.replace("[0, 2, 1]", "[0, 1, 2]"), "turn", "layout"),
    "spread": (SPREAD, SPREAD.replace("first2", "second"), "wide", "attribute"),
    "joined": (JOINED, JOINED.replace("[sin] a = Sin (x)", "").replace("(a, b)", "(x, b)"), "cat",
               "missing_op"),
    "picked": (PICKED, PICKED.replace("first) [two]", "third) [two]"), "one", "attribute"),
    "outputs": (SPLIT, CROSSED, "split", "layout"),
    "twice, before an idle bound": (
        BOUNDED, BOUNDED.replace("MatMul (x, v)", "MatMul (x, w)"), "two", "weight",
    ),
    "twice": (TWICE, TWICE.replace("MatMul (x, v)", "MatMul (x, w)"), "two", "weight"),
    "turned": (TURNED, TURNED.replace("[1, 0, 2]", "[1, 2, 0]"), "turn", "layout"),
    "mask": (MASKED, MASKED.replace("[mask] k = Where (n, far, one)", "").replace("(k)", "(one)"),
             "out", "missing_op"),
    "bare": (BARE, BARE.replace("[relu] r = Relu (x)", "").replace("(r)", "(x)"), "turn",
             "missing_op"),
}  # fmt: skip


def saved(path, body):
    opset = 17 if "axes = " in body else 18
    head = HEAD.replace("18", str(opset))
    proto = onnx.parser.parse_model(
        f"{head} g (float[3,4,6] x, bool[3,4] m) => (float y) {{ {body} }}"
    )
    del proto.graph.output[:]
    proto.graph.output.append(helper.make_empty_tensor_value_info("y"))
    read = {name for node in proto.graph.node for name in node.input}
    proto.graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in W.items() if name in read
    )
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize(("right", "wrong", "node", "cause"), FAULTS.values(), ids=FAULTS)
def test_it_is_named_and_put_back(tmp_path, right, wrong, node, cause):
    pair = saved(tmp_path / "r.onnx", right), saved(tmp_path / "c.onnx", wrong)
    given = {"x": X, "m": M}
    first = api.check(*pair, inputs=given, in_process=True).findings[0]
    assert (first.node, first.cause, first.status) == (node, cause, "confirmed")
    assert api.fix(*pair, output=tmp_path / "f.onnx", inputs=given, in_process=True).repaired
