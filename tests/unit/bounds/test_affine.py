"""Affine forms: what moves together stays together, and every value lies within its bounds."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from isomorph.api.environment import open_model
from isomorph.bounds import affine, affine_walk
from isomorph.bounds.interval import within
from isomorph.bounds.sample_values import SampleValues
from isomorph.bounds.walk import GraphWalk, moving_tensors

INPUTS = 6
LAYERS = """
    a{i} = Gemm <transB = 1> ({x}, w{i}, b{i})
    r{i} = {function} (a{i})
"""


def saved(path, body, *, out="y", constants=(), size=INPUTS):
    text = (
        '<ir_version: 9, opset_import: ["": 18]> '
        f"g (float[1, {size}] x) => (float[1, n] {out}) {{ {body} }}"
    )
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value, np.float32), name)
        for name, value in dict(constants).items()
    )
    onnx.save(model, path)
    return str(path)


def bounds(path, low, high, *, target=None, size=INPUTS, draws=40):
    """The bounds of every tensor; and they hold for inputs that are drawn."""
    with open_model(path, in_process=True) as (handle, _):
        graph, session = handle.model.graph, handle.oracle()
        first = {"x": np.zeros((1, size), np.float32)}
        sample = SampleValues(graph, session, first, moving_tensors(graph))
        walk = GraphWalk(graph=graph, session=session, sample=sample, target=target)
        found = walk.bounds({"x": within((1, size), low, high)})
        random = np.random.default_rng(0)
        for place in range(draws):
            x = random.uniform(low, high, (1, size))
            x = np.where(random.random((1, size)) < 0.5, low, high) if place % 2 else x
            for name, value in session.run({"x": x.astype(np.float32)}, list(found)[1:]).items():
                assert found[name].lower <= value.min(), name
                assert value.max() <= found[name].upper, name
    return found


def layers(seed, count, function="Relu", width=8):
    """A chain of layers with a residual sum behind each."""
    random, constants, body, before = np.random.default_rng(seed), {}, "", "x"
    sizes = [INPUTS, *[width] * count]
    for place in range(count):
        constants[f"w{place}"] = random.normal(size=(sizes[place + 1], sizes[place])) / 2.0
        constants[f"b{place}"] = random.normal(size=sizes[place + 1]) / 4.0
        body += LAYERS.format(i=place, x=before, function=function)
        before = f"r{place}"
        if place:
            body += f" s{place} = Add (r{place}, r{place - 1})"
            before = f"s{place}"
    return body + f" y = Identity ({before})", constants


@pytest.fixture
def plainly(monkeypatch):
    """Bounds by intervals alone."""

    def found(*given, **more):
        with monkeypatch.context() as patch:
            patch.setattr(affine_walk, "AFFINE_ELEMENTS", 0)
            return bounds(*given, **more)

    return found


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ("n = Neg (x) y = Add (x, n)", 0.01),
        ("y = Sub (x, x)", 0.01),
        ("t = Add (x, x) y = Sub (t, x)", 1.01),
        ("c = Concat <axis = 1> (x, x) h, k = Split <num_outputs = 2, axis = 1> (c) y = Sub (h, k)",
         0.01),
        ("m = Mul (x, f) k = Mul (x, g) y = Sub (m, k)", 0.51),
        ("a = Gemm (x, w) y = Gemm (a, v)", 1.1),
    ],
    ids=["sum with its opposite", "difference with itself", "sums", "parts", "factors", "inverse"],
)  # fmt: skip
def test_what_moves_together_cancels(tmp_path, plainly, body, most):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(INPUTS, INPUTS)))[0] * 3.0
    constants = {"w": turn, "v": np.linalg.inv(turn), "f": [2.5], "g": [2.0]}
    path = saved(tmp_path / "m.onnx", body, constants=constants)
    found, plain = (way(path, -1.0, 1.0)["y"] for way in (bounds, plainly))
    assert max(abs(found.lower), abs(found.upper)) <= most
    assert not max(abs(plain.lower), abs(plain.upper)) < 1.5 * most


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("function", ["Relu", "LeakyRelu <alpha = 0.1>", "Abs", "Sigmoid", "Tanh"])
def test_values_of_deep_networks_lie_within_narrower_bounds(tmp_path, plainly, seed, function):
    # An attribute stands between the operator and its operand.
    word, _, attributes = function.partition(" ")
    body, constants = layers(seed, 5, f"{word} {attributes}".strip())
    path = saved(tmp_path / "m.onnx", body, constants=constants)
    found, plain = bounds(path, -1.0, 1.0), plainly(path, -1.0, 1.0)
    width, before = (each["y"].upper - each["y"].lower for each in (found, plain))
    assert width <= before
    if word == "Relu":
        assert width < 0.8 * before, "correlation is kept"


@pytest.mark.parametrize("target", [None, "float16"])
def test_rounding_is_part_of_the_rest(tmp_path, target):
    body = "t = Add (x, x) y = Sub (t, x)"
    found = bounds(saved(tmp_path / "m.onnx", body), 0.1, 0.9, target=target)["y"]
    unit = 2.0**-11 if target else 2.0**-24
    assert found.upper >= 0.9 * (1.0 + unit)


def test_clip_bends_where_its_bounds_are(tmp_path, plainly):
    body = "m = Mul (x, f) c = Clip (m, low, high) y = Sub (m, c)"
    constants = {"f": [4.0], "low": np.float32(0.0), "high": np.float32(6.0)}
    path = saved(tmp_path / "m.onnx", body, constants=constants)
    found, plain = (way(path, -1.0, 1.0)["y"] for way in (bounds, plainly))
    assert found.upper < plain.upper
    assert found.lower >= -4.01


def test_a_form_that_is_too_narrow_is_noticed(tmp_path, monkeypatch):
    """The assertion of ``bounds`` can fail."""
    whole = affine.AffineForm.interval.fget

    def half(form):
        found = whole(form)
        return type(found)(0.5 * found.lower, 0.5 * found.upper)

    monkeypatch.setattr(affine.AffineForm, "interval", property(half))
    body, constants = layers(0, 2)
    with pytest.raises(AssertionError):
        bounds(saved(tmp_path / "m.onnx", body, constants=constants), -1.0, 1.0)


def test_many_inputs_have_intervals_alone(tmp_path):
    path = saved(tmp_path / "m.onnx", "n = Neg (x) y = Add (x, n)", size=300)
    assert bounds(path, -1.0, 1.0, size=300)["y"].upper > 1.9
