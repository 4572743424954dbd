"""Weights, types, layouts, decisions and quantizers: the diagnosis names what happened."""

import ml_dtypes
import numpy as np
import pytest

from cause_examples import chosen, drawn, edited, place
from faulty_pairs import believed, chain
from isomorph.diagnose.diagnose import diagnoses

SQUARE = {"takes": "float[3,5] x", "gives": "float[3,5] y"}
X = drawn(3, 5)


def dense(weight, bias=None, *, adds=True):
    steps = ["t = MatMul (x, w)", "h = Add (t, b)"] if adds else ["h = MatMul (x, w)"]
    stored = {"w": weight, "b": drawn(5) if bias is None else bias}
    return chain(*steps, "y = Tanh (h)", **SQUARE, **stored)


W = drawn(5, 5)
WEIGHTS = {
    "transposed": (W.T, "layout", "it is transposed"),
    "permuted": (W[:, [1, 0, 2, 3, 4]], "weight", "channels 0 and 1 along axis 1"),
    "bfloat16": (W.astype(ml_dtypes.bfloat16).astype(np.float32), "weight", "rounded to bfloat16"),
    "float16": (W.astype(np.float16).astype(np.float32), "weight", "rounded to float16"),
    "scaled": (W * np.float32(1.25), "weight", "multiplied by 1.25"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_what_happened_to_a_weight_is_reported(name):
    wrong, cause, expected = WEIGHTS[name]
    answer = believed(dense(W), dense(np.ascontiguousarray(wrong)), x=X)
    assert (answer.cause, answer.certainty) == (cause, 3)
    assert expected in answer.summary


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (dense(W, adds=False), "bias 'b' is not added"),
        (dense(W, np.zeros(5, np.float32)), "it is all zeros"),
    ],
)
def test_a_bias_that_is_not_added_is_a_weight_that_is_lost(candidate, expected):
    answer = believed(dense(W), candidate, x=X)
    assert (answer.cause, answer.certainty) == ("weight", 3)
    assert expected in answer.summary


def pair(reference, candidate, **more):
    return tuple(chain(*steps, **more) for steps in (reference, candidate))


LAYOUTS = {
    "operands": (["a = Exp (x)", "t = MatMul (a, x)", "y = Tanh (t)"],
                 ["a = Exp (x)", "t = MatMul (x, a)", "y = Tanh (t)"], "operands of MatMul"),
    "parts": (["a = Exp (x)", "b = Sin (x)", "t = Concat <axis=0> (a, b)", "y = Tanh (t)"],
              ["a = Exp (x)", "b = Sin (x)", "t = Concat <axis=0> (b, a)", "y = Tanh (t)"],
              "parts of Concat"),
    "axes": (["t = Transpose <perm=[1,0]> (x)", "y = Tanh (t)"],
             ["t = Identity (x)", "y = Tanh (t)"], "the axes belong in the order (1, 0)"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_in_the_wrong_place_is_reported(name):
    reference, candidate, expected = LAYOUTS[name]
    found = believed(*pair(reference, candidate, takes="float[4,4] x"), x=drawn(4, 4))
    assert (found.cause, found.certainty) == ("layout", 3)
    assert expected in found.summary


TYPES = {
    "division": (["f = Cast <to=1> (x)", "h = Div (f, k)", "y = Tanh (h)"],
                 ["d = Div (x, n)", "h = Cast <to=1> (d)", "y = Tanh (h)"],
                 "truncates its quotient", np.array([-7, -5, 1, 2, 4, 8]), "float[6] y"),
    "rounding": (["f = Cast <to=1> (x)", "v = Div (f, k)", "r = Round (v)", "h = Cast <to=7> (r)",
                  "y = Neg (h)"],
                 ["f = Cast <to=1> (x)", "v = Div (f, k)", "h = Cast <to=7> (v)", "y = Neg (h)"],
                 "rounds the values", np.array([-7, -5, 1, 2, 4, 8]), "int64[6] y"),
    "overflow": (["h = Mul (x, n)", "y = Neg (h)"],
                 ["m = Mul (x, n)", "s = Cast <to=3> (m)", "h = Cast <to=7> (s)", "y = Neg (h)"],
                 "leave the range of int8 and wrap around", np.arange(6) * 30, "int64[6] y"),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_what_a_type_does_to_the_values_is_reported(name):
    reference, candidate, expected, x, gives = TYPES[name]
    more = {"takes": "int64[6] x", "gives": gives, "k": np.float32(3), "n": np.int64(3)}
    found = believed(*pair(reference, candidate, **more), x=x)
    assert (found.cause, found.certainty) == ("dtype", 3)
    assert expected in found.summary


def test_a_comparison_that_is_turned_round_is_an_inverted_condition():
    def turned(proto):
        for node in proto.graph.node:
            node.op_type = "Less" if node.op_type == "Greater" else node.op_type

    found = believed(chosen(), edited(chosen(), turned), x=drawn(4, 4))
    assert (found.cause, found.certainty) == ("control_flow", 3)
    assert "Less instead of Greater" in found.summary


def test_a_loop_that_runs_too_often():
    def loop(rounds):
        body = (
            "b (int64 i, bool c, float[4] s) => (bool c2, float[4] s2) "
            "{ c2 = Identity (c) e = Sin (s) s2 = Add (s, e) }"
        )
        return chain(
            f"h = Loop (n, t, x) <body = {body}>", "y = Tanh (h)", takes="float[4] x",
            gives="float[4] y", n=np.int64(rounds), t=np.array(True),
        )  # fmt: skip

    found = believed(loop(3), loop(4), x=drawn(4))
    assert (found.cause, found.certainty) == ("control_flow", 3)
    assert "runs 4 rounds, the reference's 3" in found.summary


def quantized(**other):
    stored = {"s": np.float32(0.02), "z": np.int8(0), "s2": np.float32(0.02), "z2": np.int8(0)}
    return chain(
        "q = QuantizeLinear (x, s, z)", "h = DequantizeLinear (q, s2, z2)", "y = Tanh (h)",
        takes="float[8,6] x", gives="float[8,6] y", **{**stored, **other},
    )  # fmt: skip


GRIDS = {
    "scale": ({"s2": np.float32(0.03)}, "1.5 times the right ones"),
    "zero point": ({"z2": np.int8(9)}, "shifted by -9 steps"),
    "range": ({"s": np.float32(0.004), "s2": np.float32(0.004)}, "clips"),
}


@pytest.mark.parametrize("name", GRIDS)
def test_the_wrong_parameter_of_a_quantizer_is_reported(name):
    other, expected = GRIDS[name]
    found = believed(quantized(), quantized(**other), x=drawn(8, 6))
    assert (found.cause, found.certainty >= 3) == ("quantization", True)
    assert expected in found.summary


def test_a_scale_that_is_infinite_is_no_step():
    infinite = {"s": np.float32(np.inf), "s2": np.float32(np.inf)}
    found = believed(quantized(), quantized(**infinite), x=drawn(8, 6))
    assert (found.cause, found.certainty) == ("quantization", 4)
    assert "scale is inf" in found.summary


def stored_weight(axis, **other):
    codes = np.random.default_rng(0).integers(-100, 100, (8, 8)).astype(np.int8)
    scales = np.geomspace(0.01, 0.1, 8).astype(np.float32)
    weights = {"c": codes, "s": scales, "z": np.zeros(8, np.int8), **other}
    return chain(
        f"w = DequantizeLinear <axis={axis}> (c, s, z)", "h = MatMul (x, w)", "y = Tanh (h)",
        takes="float[4,8] x", gives="float[4,8] y", **weights,
    ), weights  # fmt: skip


def test_scales_along_another_axis():
    found = believed(stored_weight(1)[0], stored_weight(0)[0], x=drawn(4, 8))
    assert (found.cause, found.certainty) == ("quantization", 3)
    assert "axis 0, not 1" in found.summary


def test_a_few_integers_that_are_corrupted_are_a_weight():
    right, weights = stored_weight(1)
    codes = weights["c"].copy()
    codes[2, 7] = -codes[2, 7]
    found = believed(right, stored_weight(1, c=codes)[0], x=drawn(4, 8))
    assert (found.cause, found.certainty) == ("weight", 3)
    assert "1 of 64 values" in found.summary


def test_an_operator_that_is_left_out_is_confirmed():
    more = {"takes": "float[4,6] x", "gives": "float[4,6] y", "k": drawn(6)}
    whole = chain("h = Mul (x, k)", "a = Relu (h)", "y = Tanh (a)", **more)
    without = chain("h = Mul (x, k)", "y = Tanh (h)", **more)
    found = believed(whole, without, x=drawn(4, 6))
    assert (found.cause, found.certainty) == ("missing_op", 3)
    assert "Relu" in found.summary


def test_a_narrow_float_is_confirmed_by_widening_it():
    more = {"takes": "float[4,6] x", "gives": "float[4,6] y", "k": drawn(6)}
    wide = chain("h = Mul (x, k)", "y = Tanh (h)", **more)
    narrow = chain("m = Mul (x, k)", "c = Cast <to=10> (m)", "h = Cast <to=1> (c)", "y = Tanh (h)",
                   **more)  # fmt: skip
    answers = diagnoses(place(wide, narrow, x=drawn(4, 6)))
    assert (answers[0].cause, answers[0].certainty) == ("precision", 3)
    assert answers[0].experiments[0].agrees


def test_a_permuted_weight_is_known_behind_a_norm_that_was_folded_into_it():
    norm = {"s": drawn(4) + 2, "o": drawn(4), "m": drawn(4), "v": np.abs(drawn(4)) + 0.5}
    kernel = drawn(4, 4, 3, 3, seed=5)
    shapes = {"takes": "float[2,4,6,6] x", "gives": "float[2,4,4,4] y"}
    apart = chain(
        "c = Conv (x, w)", "h = BatchNormalization (c, s, o, m, v)", "y = Tanh (h)",
        **shapes, w=kernel, **norm,
    )  # fmt: skip
    scale = norm["s"] / np.sqrt(norm["v"] + 1e-5)
    whole = (kernel * scale[:, None, None, None]).astype(np.float32)[[1, 0, 2, 3]]
    bias = (norm["o"] - norm["m"] * scale).astype(np.float32)
    folded = chain("h = Conv (x, w, b)", "y = Tanh (h)", **shapes, w=whole, b=bias)
    found = believed(apart, folded, x=drawn(2, 4, 6, 6))
    assert (found.cause, found.certainty) == ("weight", 3)
    assert "along axis 0 are swapped" in found.summary
