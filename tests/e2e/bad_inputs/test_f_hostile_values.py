"""F: values on which two models agree whatever they compute. What is not known is never fine."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

import isomorph
from isomorph.core.divergence import Verdict

NAN, INF = float("nan"), float("inf")
EQUIVALENT, DIVERGENT, UNKNOWN = Verdict.EQUIVALENT, Verdict.DIVERGENT, Verdict.UNKNOWN


def net(body, kind="float[4]", out=None, **constants):
    words = (
        f'<ir_version: 9, opset_import: ["": 18]> g ({kind} x) => ({out or kind} y) {{ {body} }}'
    )
    made = parser.parse_model(words)
    for name, array in constants.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made.SerializeToString()


def f32(number):
    return np.float32(number)


def checked(reference, candidate, inputs=None, **words):
    return isomorph.check(reference, candidate, inputs=inputs, in_process=True, **words)


def both(body, first, second, **words):
    """Two models that differ in one weight."""
    return net(body, w=f32(first), **words), net(body, w=f32(second), **words)


HIDDEN = {
    "nan": ("a = Mul (x, w) y = Add (a, c)", NAN),
    "infinity": ("a = Mul (x, w) y = Add (a, c)", INF),
    "root_of_negative": ("a = Mul (x, x) b = Mul (a, w) d = Sub (c, b) y = Sqrt (d)", -1.0),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_outputs_without_a_finite_number_are_unknown(case):
    """The same model twice: even that shows nothing, and no weight is wrong."""
    body, constant = HIDDEN[case]
    report = checked(*both(body, 2, 2, c=f32(constant)))
    assert report.verdict is UNKNOWN
    assert "NaN or infinite" in report.reason
    assert report.coverage.generated == 0


@pytest.mark.parametrize("case", HIDDEN)
def test_a_wrong_weight_behind_them_is_not_hidden(case):
    body, constant = HIDDEN[case]
    assert checked(*both(body, 2, 3, c=f32(constant))).verdict is DIVERGENT


def test_other_operators_behind_a_nan_are_unknown():
    first, second = net("y = Add (x, c)", c=f32(NAN)), net("y = Mul (x, c)", c=f32(NAN))
    assert checked(first, second).verdict is UNKNOWN


@pytest.mark.parametrize(("first", "second"), [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (INF, -INF)])
def test_a_constant_that_is_no_number_on_one_side_is_divergent(first, second):
    report = checked(*both("y = Add (x, w)", first, second))
    assert report.verdict is DIVERGENT


@pytest.mark.parametrize(
    ("first", "second", "given"),
    [
        (net("a = Mul (x, x) y = Mul (a, w)", w=f32(2)),
         net("a = Mul (x, x) y = Mul (a, w)", w=f32(3)), 1e30),
        (net("a = Mul (x, x) y = Mul (a, a)"), net("a = Mul (x, x) y = Mul (a, x)"), 1e30),
        (net("y = Sin (x)"), net("y = Cos (x)"), NAN),
        (net("y = Relu (x)"), net("y = Identity (x)"), INF),
    ],
    ids=["weight", "operator", "nan_in", "infinity_in"],
)  # fmt: skip
def test_inputs_on_which_both_sides_overflow_alike_are_unknown(first, second, given):
    report = checked(first, second, {"x": np.full(4, given, np.float32)}, only_given=True)
    assert report.verdict is UNKNOWN
    assert "NaN or infinite" in report.reason


def test_float16_that_overflows_on_both_sides_is_unknown():
    body, kind = "a = Cast <to = 10> (x) y = Mul (a, w)", "float16[4]"
    first, second = (net(body, out=kind, w=np.float16(number)) for number in (60000, 50000))
    given = {"x": np.full(4, 100, np.float32)}
    assert checked(first, second, given, only_given=True).verdict is UNKNOWN


def test_one_finite_element_among_nan_decides():
    def masked(last):
        return net("y = Mul (x, w)", w=np.array([NAN, NAN, NAN, last], np.float32))

    assert checked(masked(2), masked(2)).verdict is EQUIVALENT
    assert checked(masked(2), masked(3)).verdict is DIVERGENT


def test_an_output_of_nan_beside_a_sound_one_is_named():
    words = """<ir_version: 9, opset_import: ["": 18]> g (float[4] x) => (float[4] y, float[4] z)
    { y = Relu (x) z = Add (x, c) }"""
    made = parser.parse_model(words)
    made.graph.initializer.append(numpy_helper.from_array(f32(NAN), "c"))
    report = checked(made.SerializeToString(), made.SerializeToString())
    assert report.verdict is UNKNOWN
    assert report.reason.startswith("output 'z' was not compared")


@pytest.mark.parametrize(("second", "verdict"), [(1e-42, EQUIVALENT), (2e-42, DIVERGENT)])
def test_nothing_but_subnormal_numbers(second, verdict):
    assert checked(*both("y = Mul (x, w)", 1e-42, second)).verdict is verdict


def test_a_zero_of_the_other_sign_is_reported():
    given = {"x": np.zeros(4, np.float32)}
    report = checked(net("y = Identity (x)"), net("y = Neg (x)"), given, only_given=True)
    assert "SIGNED_ZERO" in {each.code for each in report.findings}
    assert checked(net("y = Identity (x)"), net("y = Neg (x)"), given).verdict is DIVERGENT


INTEGERS = {
    "int64_beyond_2_to_53": ("int64[4]", np.int64(2**53 + 2), np.int64(1)),
    "int64_largest": ("int64[4]", np.int64(2**63 - 2), np.int64(1)),
    "int64_smallest": ("int64[4]", np.int64(-(2**63)), np.int64(1)),
    "uint64_largest": ("uint64[4]", np.uint64(2**64 - 2), np.uint64(1)),
}


@pytest.mark.parametrize("case", INTEGERS)
def test_integer_extremes_that_differ_by_one_are_divergent(case):
    kind, given, one = INTEGERS[case]
    same, next_one = net("y = Identity (x)", kind), net("y = Add (x, c)", kind, c=one)
    inputs = {"x": np.full(4, given)}
    assert checked(same, same, inputs, only_given=True).verdict is EQUIVALENT
    assert checked(same, next_one, inputs, only_given=True).verdict is DIVERGENT


def test_integers_that_wrap_around_are_compared_as_they_wrap():
    body, kind, one = "y = Add (x, c)", "int32[4]", np.int32(1)
    inputs = {"x": np.full(4, 2**31 - 1, np.int32)}
    wraps, holds = net(body, kind, c=one), net("y = Max (x, c)", kind, c=one)
    assert checked(wraps, wraps, inputs, only_given=True).verdict is EQUIVALENT
    assert checked(wraps, holds, inputs, only_given=True).verdict is DIVERGENT


@pytest.mark.parametrize(("words", "verdict"), [("ab", EQUIVALENT), ("aB", DIVERGENT)])
def test_words_are_compared_letter_by_letter(words, verdict):
    kind, given = "string[2]", np.array(["a", "b"], object)
    constant = net("y = Identity (c)", kind, c=np.array(list(words), object))
    report = checked(net("y = Identity (x)", kind), constant, {"x": given}, only_given=True)
    assert report.verdict is verdict


@pytest.mark.parametrize("side", ["reference", "candidate"])
def test_a_side_that_fails_on_one_sample_alone_is_never_fine(isomorph, tmp_path, side):
    """Only the third sample has an index that the smaller table does not have."""
    for name, rows in (("large", 8), ("small", 4)):
        table = np.arange(rows, dtype=np.float32)
        body = net("y = Gather (c, x)", "int64[2]", "float[2]", c=table)
        (tmp_path / f"{name}.onnx").write_bytes(body)
    np.savez(tmp_path / "set.npz", x=np.array([[0, 1], [2, 3], [0, 6], [1, 1]]))
    pair = ["large.onnx", "small.onnx"]
    ran = isomorph("check", *(pair if side == "candidate" else pair[::-1]), "--data", "set.npz",
                   "--format", "json")  # fmt: skip
    assert ran.exit in (1, 3), ran
    assert ran.report["verdict"] in {"divergent", "unknown"}
    assert ran.report["coverage"]["from_set"] < 4
