import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, Quantization, TensorSpec
from isomorph.match.quantized_regions import QuantizedRegions
from isomorph.match.quantizers import changed_parameters, match_quantized_tensors, real_values
from isomorph.match.weight_origin import FloatWeights

WEIGHT = np.arange(-12, 12, dtype=np.int8).reshape(4, 6)


def entry(tensor, scale=(0.5,), zero=(0,), dtype="int8", axis=None):
    return Quantization(tensor=tensor, dtype=dtype, scale=scale, zero_point=zero, axis=axis)


def graph(prefix, weight, *, weight_scale=(0.5,), dtype="int8"):
    """input → q0 → (weight) → q1 → q2, under names that no other graph has."""

    def name(word):
        return f"{prefix}{word}"

    spec = TensorSpec(name=name("x"), dtype="float32", shape=(2, 4))
    nodes = (
        Node(name=name("n0"), op="QuantizeLinear", native_op="", inputs=(name("x"),),
             outputs=(name("q0"),)),
        Node(name=name("n1"), op="QLinearMatMul", native_op="",
             inputs=(name("q0"), name("w")), outputs=(name("q1"),)),
        Node(name=name("n2"), op="Relu", native_op="", inputs=(name("q1"),),
             outputs=(name("q2"),)),
    )  # fmt: skip
    return Graph(
        name="g", inputs=(spec,), outputs=(), nodes=nodes, tensors={spec.name: spec},
        constants={name("w"): constant_of(name("w"), weight)},
        quantization=(
            entry(name("w"), weight_scale, (0,) * len(weight_scale), dtype),
            *(entry(name(word), dtype=dtype) for word in ("q0", "q1", "q2")),
        ),
    )  # fmt: skip


def test_names_come_first():
    one = graph("", WEIGHT)
    assert match_quantized_tensors(one, graph("", WEIGHT + 1)) == {
        word: word for word in ("w", "q0", "q1", "q2")
    }


@pytest.mark.parametrize("other", [WEIGHT, WEIGHT.T.copy()])
def test_digests_pair_weights_and_weights_pair_what_is_computed_from_them(other):
    pairs = match_quantized_tensors(graph("a_", WEIGHT), graph("b_", other))
    assert pairs == {f"b_{word}": f"a_{word}" for word in ("w", "q0", "q1", "q2")}


def test_other_integers_for_the_same_numbers_are_paired_by_value():
    doubled = (2 * WEIGHT.T).copy()
    one, other = graph("a_", WEIGHT), graph("b_", doubled, weight_scale=(0.25,))
    assert "b_w" not in match_quantized_tensors(one, other)
    pairs = match_quantized_tensors(
        one, other, reference_value=lambda _: WEIGHT, candidate_value=lambda _: doubled
    )
    assert pairs["b_w"] == "a_w"
    assert pairs["b_q1"] == "a_q1"


def test_unrelated_weights_are_not_paired():
    noise = np.random.default_rng(0).integers(-100, 100, (4, 6)).astype(np.int8)
    pairs = match_quantized_tensors(
        graph("a_", WEIGHT), graph("b_", noise),
        reference_value=lambda _: WEIGHT, candidate_value=lambda _: noise,
    )  # fmt: skip
    assert "b_w" not in pairs


def test_what_changed_is_named():
    assert changed_parameters(entry("t"), entry("t", (0.5 * (1 + 1e-8),))) == ()
    assert changed_parameters(entry("t"), entry("t", (0.6,), (1,))) == ("scale", "zero_point")
    assert changed_parameters(entry("t"), entry("t", zero=(128,), dtype="uint8")) == ("dtype",)
    sliced = entry("t", (0.5, 0.5), (0, 0), axis=1)
    assert changed_parameters(entry("t"), sliced) == ("axis", "scale", "zero_point")


def test_scales_that_do_not_fit_give_no_values():
    assert real_values(WEIGHT, entry("w", (0.5,) * 3, (0,) * 3, axis=0)) is None
    found = real_values(WEIGHT, entry("w", (1.0, 2.0, 3.0, 4.0), (1,) * 4, axis=0))
    assert np.array_equal(found[3], 4.0 * (WEIGHT[3].astype(float) - 1))


def test_a_float_region_ends_at_quantized_tensors():
    whole = graph("", WEIGHT)
    regions = QuantizedRegions(whole, frozenset({"q0", "q1", "q2", "w"}))
    assert regions.of("q1").feeds == ("q0",)
    assert regions.of("q1").constants == ("w",)
    assert regions.of("q0").feeds == ("x",)
    wider = QuantizedRegions(whole, frozenset({"q2"}))
    assert wider.of("q2").feeds == ("x",)
    assert set(wider.of("q2").nodes) == {"n0", "n1", "n2"}


def test_a_quantized_weight_finds_its_float_original_in_any_arrangement():
    draw = np.random.default_rng(0)
    values = {name: draw.standard_normal((5, 3)).astype(np.float32) for name in ("v", "w", "u")}
    one = graph("", WEIGHT)
    graph_of_weights = Graph(
        name="g", inputs=(), outputs=(), nodes=(), tensors={},
        constants={name: constant_of(name, value) for name, value in values.items()},
    )  # fmt: skip
    coarse = np.rint(values["w"].T / 0.1) * 0.13
    found = FloatWeights(graph_of_weights, values.get).of(coarse, "some_quantized_thing")
    assert np.allclose(found, values["w"].T)
    assert FloatWeights(graph_of_weights, values.get).of(draw.standard_normal((3, 5)), "w") is None
    assert FloatWeights(one, values.get).of(np.ones((2, 2)), "w") is None


def test_of_many_weights_of_a_size_the_right_one_is_tried():
    draw = np.random.default_rng(1)
    values = {f"layer_{place}": draw.standard_normal((20, 30)) for place in range(40)}
    graph = Graph(
        name="g", inputs=(), outputs=(), nodes=(), tensors={},
        constants={name: constant_of(name, value) for name, value in values.items()},
    )  # fmt: skip
    for value in values.values():
        step = 3.0 * np.abs(value).max() / 127  # and a scale that is off
        found = FloatWeights(graph, values.get).of(
            np.rint(value.T / step) * step * 2.0, "MatMul_584"
        )
        assert np.array_equal(found, value.T)


@pytest.mark.parametrize("way", ["normalized", "multiplied", "behind a bias"])
def test_a_weight_with_folded_factors_finds_its_original_in_them(way):
    draw = np.random.default_rng(3)
    weight = draw.standard_normal((3, 3, 4, 6)).astype(np.float32)
    scale, variance = draw.uniform(0.01, 4.0, (2, 6)).astype(np.float32)
    values = {"w": weight, "s": scale, "o": scale, "m": scale, "v": variance, "b": scale}
    convolution = Node(name="c", op="Conv", native_op="", inputs=("x", "w"), outputs=("c",))
    bias = Node(name="a", op="Add", native_op="", inputs=("c", "b"), outputs=("a",))
    norm = Node(name="n", op="BatchNormalization", native_op="", outputs=("y",),
                inputs=("c", "s", "o", "m", "v"), attributes={"epsilon": 1e-3})  # fmt: skip
    product = Node(name="p", op="Mul", native_op="", outputs=("y",),
                   inputs=("f", "a" if way == "behind a bias" else "c"))  # fmt: skip
    factor = scale / np.sqrt(variance.astype(np.float64) + 1e-3)
    nodes = {
        "normalized": (convolution, norm),
        "multiplied": (convolution, product),
        "behind a bias": (convolution, bias, product),
    }[way]
    graph = Graph(
        name="g", inputs=(), outputs=(), nodes=nodes, tensors={},
        constants={name: constant_of(name, value) for name, value in values.items()},
    )  # fmt: skip
    read = {**values, "f": factor}.get
    folded = np.moveaxis(weight * factor, 3, 0)
    found = FloatWeights(graph, read).of(np.rint(folded / 0.01) * 0.01, "any")
    assert np.allclose(found, folded)
