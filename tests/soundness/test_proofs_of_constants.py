"""Masks, tables and numbers that two sides write differently: only equal ones are proven."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import isomorph

LOWEST = float(np.finfo(np.float32).min)
HIDING = np.triu(np.ones((4, 4)), 1) > 0
ANGLES = np.arange(4, dtype=np.float32) * np.float32(0.7)
COSINES = np.cos(ANGLES.astype(np.float64))
NEIGHBORS = np.nextafter(COSINES.astype(np.float32), np.float32(2))
SIXTH, ROOT = np.float32(1 / 6), np.float32(np.sqrt(0.5))


def mask(number, hiding=HIDING):
    return np.where(hiding, number, 0.0)


CONSTANTS = {
    "lowest": mask(LOWEST), "higher": mask(LOWEST / 2), "infinite": mask(-np.inf),
    "fifty": mask(-50.0),
    "others": mask(LOWEST, HIDING.T), "row": mask(LOWEST, HIDING | (np.arange(4) == 0)[:, None]),
    "infinite_row": mask(-np.inf, HIDING | (np.arange(4) == 0)[:, None]),
    "huge": 1.8e38, "angles": ANGLES, "part": ANGLES / 2, "cosines": COSINES,
    "wrong": COSINES * (1 + 40 * 2.0**-24), "neighbors": NEIGHBORS, "sines": np.sin(COSINES),
    "half": 0.5, "many": 2.0**24, "two": 2.0, "six": 6.0, "sixth": 1 / 6, "zero": 0.0,
    "zeros": np.zeros(4),
    "more_zeros": np.zeros((3, 4, 4)), "ones": np.ones((1, 1)),
    "third": 2 * SIXTH, "sixths": np.full(4, SIXTH), "below": np.nextafter(SIXTH, np.float32(0)),
    "root": np.nextafter(ROOT, np.float32(2)), "roots": np.full(4, ROOT), "one": 1.0,
    "twice": 2 * COSINES.astype(np.float32), "much": 1e9, "limit": 1e12,
}  # fmt: skip
# Behind a bound that no sample reaches, what is left of two numbers that cancel.
REST = "d = Sub(p, q) m = Mul(d, much) e = Sub(m, limit) r = Relu(e) y = Add(x, r)"
BELL = (
    "a{1} = Mul(x, {0}) e{1} = Erf(a{1}) f{1} = Add(e{1}, one) g{1} = Mul(x, f{1})"
    " {1} = Mul(g{1}, half) "
)
SOFT = "t = Tanh(x) s = Add(t, {}) y = Softmax(s)"
WEIGHTS = "t = Tanh(x) s = Add(t, {}) w = Softmax(s) "
PAIRS = {
    "scores without a bound": ("s = Add(x, lowest) y = Softmax(s)",
                               "s = Add(x, infinite) y = Softmax(s)"),
    "scores as large as the mask": (
        "t = Tanh(x) h = Mul(t, huge) s = Add(h, lowest) y = Softmax(s)",
        "t = Tanh(x) h = Mul(t, huge) s = Add(h, infinite) y = Softmax(s)",
    ),
    "a mask that leaves something": (SOFT.format("fifty"), SOFT.format("infinite")),
    "a mask of other elements": (SOFT.format("lowest"), SOFT.format("others")),
    "a row that is hidden as a whole": (SOFT.format("row"), SOFT.format("infinite_row")),
    "logarithms of hidden weights": tuple(
        WEIGHTS.format(each) + "y = Log(w)" for each in ("lowest", "higher")
    ),
    "quotients by a hidden weight": tuple(
        WEIGHTS.format(each) + "m = MatMul(w, w) y = Div(x, m)" for each in ("lowest", "higher")
    ),
    "roots of a weight that is zero": tuple(
        WEIGHTS.format(each) + "v = Mul(w, x) r = Sqrt(v) y = Mul(r, two)"
        for each in ("lowest", "infinite")
    ),
    "another table": ("c = Cos(angles) y = Mul(x, c)", "y = Mul(x, sines)"),
    "a table that is off": ("c = Cos(angles) y = Mul(x, c)", "y = Mul(x, wrong)"),
    "a table and its neighbor that cancel": (
        "a = Mul(part, two) c = Cos(a) z = Mul(x, c) y = Sub(z, z)",
        "a = Mul(part, two) c = Cos(a) z = Mul(x, c) w = Mul(x, neighbors) y = Sub(z, w)",
    ),
    "a stored table and its neighbor that cancel": (
        "c = Cos(angles) z = Mul(x, c) y = Sub(z, z)",
        "z = Mul(x, cosines) w = Mul(x, neighbors) y = Sub(z, w)",
    ),
    "a quotient and its neighbor that cancel": (
        "z = Div(x, six) y = Sub(z, z)", "z = Div(x, six) w = Mul(x, sixth) y = Sub(z, w)",
    ),
    "a quotient beside a number that is computed": (
        "p = Div(x, six) b = Mul(third, half) q = Mul(x, b) " + REST,
        "p = Mul(x, below) b = Mul(third, half) q = Mul(x, b) " + REST,
    ),
    "a quotient beside a tensor of the number": (
        "p = Div(x, six) q = Mul(x, sixths) " + REST,
        "p = Mul(x, below) q = Mul(x, sixths) " + REST,
    ),
    "a table beside one that is computed": (
        "c = Cos(angles) p = Mul(x, c) b = Mul(twice, half) q = Mul(x, b) " + REST,
        "p = Mul(x, neighbors) b = Mul(twice, half) q = Mul(x, b) " + REST,
    ),
    "a number that is implied beside a tensor of it": (
        "p = Gelu(x) " + BELL.format("roots", "q") + REST,
        BELL.format("root", "p") + BELL.format("roots", "q") + REST,
    ),
    "zeros of a larger shape": ("y = Identity(x)", "y = Add(x, more_zeros)"),
}  # fmt: skip
FAITHFUL = {
    "hidden by the lowest number": (SOFT.format("lowest"), SOFT.format("infinite")),
    "hidden behind a normalization": (
        "n = LayerNormalization(x, ones) s = Add(n, lowest) y = Softmax(s)",
        "n = LayerNormalization(x, ones) s = Add(n, infinite) y = Softmax(s)",
    ),
    "hidden before a normalization": tuple(
        WEIGHTS.format(each) + "v = MatMul(w, x) y = LayerNormalization(v, ones)"
        for each in ("lowest", "higher")
    ),
    "hidden before a softmax": tuple(
        WEIGHTS.format(each) + "v = MatMul(w, x) u = Sigmoid(v) y = LogSoftmax(u)"
        for each in ("lowest", "infinite")
    ),
    "hidden alike before a logarithm": (WEIGHTS.format("lowest") + "y = Log(w)",) * 2,
    "a table of cosines": ("c = Cos(angles) y = Mul(x, c)", "y = Mul(x, cosines)"),
    "a neighbor of a table": ("c = Cos(angles) y = Mul(x, c)", "y = Mul(x, neighbors)"),
    "a quotient by a bound": (
        "c = Clip(x, zero, six) y = Div(c, six)", "c = Clip(x, zero, six) y = Mul(c, sixth)",
    ),
    "zeros": ("y = Relu(x)", "z = Add(x, zeros) y = Relu(z)"),
    "a number with axes": ("y = Mul(x, two)", "o = Add(ones, ones) y = Mul(x, o)"),
}  # fmt: skip


def model(body, kind="float"):
    made = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]> g ({kind}[4,4] x) => (float[N,M] y) {{ {body} }}'
    )
    read = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value, np.float32), name)
        for name, value in CONSTANTS.items()
        if name in read
    )
    del made.graph.output[:]
    made.graph.output.append(onnx.helper.make_tensor_value_info("y", 1, None))
    return made


def proof(one, other):
    return isomorph.prove(model(one), model(other), in_process=True)


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_what_differs_is_not_proven(name):
    one, other = PAIRS[name]
    assert not proof(one, other).whole
    assert not proof(other, one).whole


@pytest.mark.parametrize("name", sorted(FAITHFUL))
def test_what_is_equal_is_proven(name):
    one, other = FAITHFUL[name]
    for left, right in ((one, other), (other, one)):
        found = proof(left, right)
        assert found.whole, found.outputs
        assert found.assumptions.vanishing == ("hidden" in name)
        rounded = "neighbor" in name or "quotient" in name
        assert (found.assumptions.largest_rounding > 0) == rounded


CHOSEN = (
    "f = Cast<to=1>(x) b = Less(f, {bound}) s = Add(x, x) c = Cast<to=6>(b) p = Mul(c, s)"
    " n = Not(b) d = Cast<to=6>({other}) q = Mul(x, d) t = Add(p, q) y = Cast<to=1>(t)"
)
DIRECT = "w = Cast<to=6>({bound}) b = Less(x, w) s = Add(x, x) t = Where(b, s, x) y = Cast<to=1>(t)"


def chosen(bound="two", other="n"):
    return model(CHOSEN.format(bound=bound, other=other), "int32")


def test_a_choice_that_is_written_as_arithmetic_is_proven():
    direct = model(DIRECT.format(bound="two"), "int32")
    assert isomorph.prove(direct, chosen(), in_process=True).whole
    assert isomorph.prove(chosen(), direct, in_process=True).whole


@pytest.mark.parametrize("changes", [{"bound": "six"}, {"bound": "half"}, {"other": "b"}])
def test_another_choice_is_not(changes):
    direct = model(DIRECT.format(bound="two"), "int32")
    assert not isomorph.prove(direct, chosen(**changes), in_process=True).whole


def test_a_bound_that_rounding_reaches_is_not_compared_with_whole_numbers():
    direct = model(DIRECT.format(bound="many"), "int32")
    assert not isomorph.prove(direct, chosen(bound="many"), in_process=True).whole
