"""Every parameter that converters get wrong: named, with the right value, and confirmed."""

import numpy as np
import pytest

from cause_examples import drawn
from faulty_pairs import IMAGES, believed, chain, on_images

KERNEL = {"w": drawn(3, 4, 3, 3)}
NORM = {"s": drawn(4), "o": drawn(4), "m": drawn(4), "v": np.abs(drawn(4)) * 0.01}
DOUBLE, HALF = np.array([1, 1, 2, 2], np.float32), np.array([1, 1, 0.5, 0.5], np.float32)
BORDER = np.array([0, 0, 1, 1, 0, 0, 1, 1])
SCATTERED = {"i": np.array([[[[0, 2, 0]]]]), "u": drawn(1, 1, 1, 3)}
POOL = "kernel_shape=[3,3], pads=[1,1,1,1]"


def resize(modes, factors=DOUBLE):
    return on_images("Resize", modes, "", "f", f=factors)


def conv(attributes):
    return on_images("Conv", attributes, "w", **KERNEL)


IN_IMAGES = {
    "count_include_pad": (
        on_images("AveragePool", f"{POOL}, count_include_pad=1"),
        on_images("AveragePool", POOL),
        "count_include_pad is 0, not 1",
    ),
    "epsilon": (
        on_images("BatchNormalization", "epsilon=0.001", *NORM, **NORM),
        on_images("BatchNormalization", "epsilon=0.00001", *NORM, **NORM),
        "epsilon is 1e-05, not 0.001",
    ),
    "a word that the old operator set lacks": (
        on_images("ScatterElements", 'axis=3, reduction="add"', "i", "u", **SCATTERED),
        on_images("ScatterElements", "axis=3", "i", "u", opset=11, **SCATTERED),
        "reduction is not given, not add",
    ),
    "default of an attribute": (
        on_images("LeakyRelu", "alpha=0.2"),
        on_images("LeakyRelu", ""),
        "alpha is 0.01, not 0.2",
    ),
    "elu": (on_images("Elu", ""), on_images("Elu", "alpha=0.5"), "alpha is 0.5, not 1"),
    "hard sigmoid": (
        on_images("HardSigmoid", "alpha=0.2"),
        on_images("HardSigmoid", "alpha=0.1666667"),
        "alpha is 0.1666667, not 0.2",
    ),
    "softmax before opset 13": (
        on_images("Softmax", "axis=1", opset=11),
        on_images("Softmax", "axis=2", opset=11),
        "axis is 2, not 1",
    ),
    "pads": (conv("pads=[1,1,1,1]"), conv("pads=[0,0,2,2]"), "pads is (0, 0, 2, 2)"),
    "SAME": (
        conv('auto_pad="SAME_UPPER", strides=[2,2]'),
        conv('auto_pad="SAME_LOWER", strides=[2,2]'),
        "auto_pad is SAME_LOWER, not SAME_UPPER",
    ),
    "two together": (
        conv("pads=[1,1,1,1], dilations=[1,1]"),
        conv("pads=[2,2,2,2], dilations=[2,2]"),
        "dilations is (2, 2), not (1, 1); pads is",
    ),
    "coordinates": (
        resize('mode="linear"'),
        resize('mode="linear", coordinate_transformation_mode="asymmetric"'),
        "asymmetric, not half_pixel",
    ),
    "corners": (
        resize('mode="linear", coordinate_transformation_mode="align_corners"'),
        resize('mode="linear"'),
        "half_pixel, not align_corners",
    ),
    "nearest": (
        resize('nearest_mode="floor", coordinate_transformation_mode="asymmetric"'),
        resize('nearest_mode="ceil", coordinate_transformation_mode="asymmetric"'),
        "nearest_mode is ceil, not floor",
    ),
    "cubic": (
        resize('mode="cubic", cubic_coeff_a=-0.5'),
        resize('mode="cubic"'),
        "cubic_coeff_a is -0.75, not -0.5",
    ),
    "antialias": (
        resize('mode="linear", antialias=1', HALF),
        resize('mode="linear"', HALF),
        "antialias is 0, not 1",
    ),
    "outside": (
        resize('mode="cubic", exclude_outside=1'),
        resize('mode="cubic"'),
        "exclude_outside is 0, not 1",
    ),
    "pad mode": (
        on_images("Pad", 'mode="reflect"', "p", p=BORDER),
        on_images("Pad", 'mode="edge"', "p", p=BORDER),
        "mode is edge, not reflect",
    ),
    "pad value": (
        on_images("Pad", "", "p", "v", p=BORDER, v=np.float32(0)),
        on_images("Pad", "", "p", "v", p=BORDER, v=np.float32(1)),
        "constant_value is 1, not 0",
    ),
    "bounds": (
        on_images("Clip", "", "lo", "hi", lo=np.float32(0), hi=np.float32(1)),
        on_images("Clip", "", "lo", "hi", lo=np.float32(0), hi=np.float32(0.5)),
        "max is 0.5, not 1",
    ),
    "reduced axes": (
        on_images("ReduceMean", "keepdims=0", "a", gives="float[P,Q,R] y", a=np.array([2])),
        on_images("ReduceMean", "keepdims=0", "a", gives="float[P,Q,R] y", a=np.array([3])),
        "axes is 3, not 2",
    ),
    "cumulative": (
        on_images("CumSum", "", "a", a=np.int64(1)),
        on_images("CumSum", "exclusive=1", "a", a=np.int64(1)),
        "exclusive is 1, not 0",
    ),
    "gelu": (
        on_images("Gelu", ""),
        on_images("Gelu", 'approximate="tanh"'),
        "approximate is tanh, not none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_IMAGES)
def test_the_parameter_and_its_right_value_are_named_and_confirmed(name):
    reference, candidate, expected = IN_IMAGES[name]
    answer = believed(reference, candidate, x=IMAGES)
    assert (answer.cause, answer.certainty) == ("attribute", 3)
    assert expected in answer.summary
    assert answer.experiments[0].agrees
    assert answer.fix.startswith("set ")


def test_gates_that_are_reset_before_or_behind_the_linear_step():
    weights = {"w": drawn(1, 12, 3), "r": drawn(1, 12, 4), "b": drawn(1, 24)}
    shapes = {"takes": "float[5,2,3] x", "gives": "float[5,1,2,4] y"}
    pair = [
        chain(
            f"h = GRU <hidden_size=4, linear_before_reset={flag}> (x, w, r, b)", "y = Tanh (h)",
            **shapes, **weights,
        )
        for flag in (1, 0)
    ]  # fmt: skip
    answer = believed(*pair, x=drawn(5, 2, 3))
    assert "linear_before_reset is 0, not 1" in answer.summary


@pytest.mark.parametrize("flag", ["select_last_index", "transB"])
def test_flags(flag):
    if flag == "transB":
        steps = ["h = Gemm <transB={}> (x, w)", "y = Tanh (h)"]
        more = {"takes": "float[3,5] x", "gives": "float[3,5] y", "w": drawn(5, 5)}
        x = drawn(3, 5)
    else:
        steps = ["y = ArgMax <axis=1, keepdims=0, select_last_index={}> (x)"]
        more = {"takes": "float[3,6] x", "gives": "int64[3] y"}
        x = np.array([[1, 2, 2, 0, 2, 1]] * 3, np.float32)
    pair = [chain(*(step.format(value) for step in steps), **more) for value in (1, 0)]
    answer = believed(*pair, x=x)
    assert (answer.cause, answer.certainty) == ("attribute", 3)
    assert f"{flag} is 0, not 1" in answer.summary


def spelled_out():
    numbers = {"a": 0.044715, "b": np.sqrt(2 / np.pi), "c": 1.0, "d": 0.5}
    return chain(
        "h = Mul (x, k)", "p = Mul (h, h)", "q = Mul (p, h)", "r = Mul (q, a)", "s = Add (h, r)",
        "t = Mul (s, b)", "u = Tanh (t)", "v = Add (u, c)", "w = Mul (v, h)", "g = Mul (w, d)",
        "y = Exp (g)", takes="float[4,6] x", gives="float[4,6] y", k=drawn(6),
        **{name: np.float32(value) for name, value in numbers.items()},
    )  # fmt: skip


def test_a_form_without_attributes_in_common_is_recognized_by_its_values():
    whole = chain(
        "h = Mul (x, k)", "g = Gelu (h)", "y = Exp (g)", takes="float[4,6] x",
        gives="float[4,6] y", k=drawn(6),
    )  # fmt: skip
    answer = believed(whole, spelled_out(), x=drawn(4, 6))
    assert (answer.cause, answer.certainty) == ("attribute", 3)
    assert "GELU in its tanh form, the reference GELU in its erf form" in answer.summary


def test_a_number_of_a_spelled_out_operator_is_found_among_the_references():
    def scaled(number):
        return chain(
            "h = Mul (x, k)", "s = Sigmoid (h)", "y = Mul (s, n)", takes="float[4,6] x",
            gives="float[4,6] y", k=drawn(6), n=np.float32(number),
        )  # fmt: skip

    answer = believed(scaled(1.702), scaled(1.5), x=drawn(4, 6))
    assert answer.cause in {"attribute", "weight"}
    assert answer.certainty == 3


def test_a_formula_that_only_looks_near_because_values_are_small_is_not_believed():
    def bent(op):
        steps = ["h = Mul (x, k)", f"a = {op} (h)", "y = Mul (a, k)"]
        return chain(*steps, takes="float[8,8] x", gives="float[8,8] y", k=np.float32(1e-6))

    answer = believed(bent("Relu"), bent("LeakyRelu"), x=drawn(8, 8))
    assert "ReLU6" not in answer.summary


def test_a_number_that_an_operator_holds_within_is_known_where_it_is_spelled_out():
    reference = chain("h = Gelu (x)", "y = Tanh (h)")
    candidate = chain(
        "a = Div (x, k)", "b = Erf (a)", "c = Add (b, one)", "d = Mul (x, c)", "h = Mul (d, half)",
        "y = Tanh (h)", k=np.float32(2), one=np.float32(1), half=np.float32(0.5),
    )  # fmt: skip
    answer = believed(reference, candidate, x=drawn(3, 8))
    assert (answer.cause, answer.certainty) == ("attribute", 3)
    assert "k is 2, not 1.41421" in answer.summary
    assert answer.node == "Div@a"


def test_a_slope_that_was_learned_is_a_weight():
    pair = [on_images("PRelu", "", "s", s=np.full(1, slope, np.float32)) for slope in (0.25, -0.25)]
    assert believed(*pair, x=IMAGES).cause == "weight"
