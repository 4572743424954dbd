"""Weights that differ are found without an input that shows them, and rewrites make no finding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import isomorph
from isomorph.core.errors import UsageError
from isomorph.core.limits import MISSING_VECTORS, noted_limits
from isomorph.core.model import Constant, Node, TensorSpec
from isomorph.match import concatenated_weights
from isomorph.match.stored_weights import Weights
from isomorph.match.weight_differences import compared_weights
from weight_pairs import (
    F32,
    dequantized,
    floats,
    linear,
    model,
    node,
    normal,
    spoiled,
)

DEAD = -np.ones((4, 8), F32)
"""With positive weights, an input that leaves every ReLU shut."""
POSITIVE = np.abs(normal(8, 6)) + F32(0.1)


def checked(reference, candidate, **options):
    return isomorph.check(reference, candidate, in_process=True, **options)


def differing(report):
    return [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]


def test_a_weight_behind_a_dead_relu_is_found_and_an_input_that_shows_it():
    report = checked(linear(POSITIVE), linear(spoiled(POSITIVE, (2, 3), 1.01)), inputs={"x": DEAD})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert report.reason.startswith("the same on the given input, but weight 'w' differs (1 of 48")
    (finding,) = differing(report)
    assert (finding.cause, finding.status, finding.node) == ("weight", "confirmed", "MatMul_h")
    assert finding.evidence["elements"][0]["index"] == [2, 3]
    assert finding.evidence["inputs"].keys() == {"x"}


def test_the_input_in_the_report_shows_it(tmp_path):
    candidate = linear(spoiled(POSITIVE, (2, 3), 1.01))
    report = checked(linear(POSITIVE), candidate, inputs={"x": DEAD})
    path = tmp_path / "report.json"
    path.write_text(isomorph.registry.reporter("json").render(report))
    shown = checked(linear(POSITIVE), candidate, inputs=path)
    assert any(each.verdict is isomorph.Verdict.DIVERGENT for each in shown.outputs)
    assert not differing(shown), "what running proves is not told twice"


def test_only_given_restricts_the_question():
    candidate = linear(spoiled(POSITIVE, (2, 3), 1.01))
    report = checked(
        linear(POSITIVE),
        candidate,
        inputs={"x": DEAD},
        options=isomorph.CheckOptions(only_given=True),
    )
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert report.only_given
    assert differing(report)
    page = isomorph.registry.reporter("terminal").render(report)
    assert page.startswith("EQUIVALENT on 1 given input only")


def test_only_given_needs_inputs():
    with pytest.raises(UsageError, match="none are given"):
        checked(linear(POSITIVE), linear(POSITIVE), options=isomorph.CheckOptions(only_given=True))


def test_a_stated_budget_that_holds_is_not_overruled():
    candidate = linear(spoiled(POSITIVE, (2, 3), 1.0001))
    report = checked(linear(POSITIVE), candidate, inputs={"x": DEAD}, budget=1e3)
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_rows_of_a_table_that_no_index_selects():
    table = normal(500, 4)
    other = table.copy()
    other[333] += 1
    shapes = {"i": (TensorProto.INT64, [3])}, {"y": floats(3, 4)}
    sides = [model([node("Gather", "t i", "y")], *shapes, {"t": each}) for each in (table, other)]
    report = checked(*sides, inputs={"i": np.array([1, 2, 3], np.int64)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert "row 333" in finding.evidence["reached_by"]


def test_one_element_of_a_bias_of_zeros():
    zeros = np.zeros(6, F32)
    wrong = zeros.copy()
    wrong[4] = -0.25
    kernel = normal(8, 6)
    report = checked(linear(kernel, zeros), linear(kernel, wrong), inputs={"x": DEAD * 0})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert finding.evidence["constant"] == finding.evidence["reference_constant"] == "b"
    assert finding.evidence["difference"] == "1 of 6 elements, which should be zero"


def test_one_float16_weight():
    kernel = normal(16, 8)
    narrow = spoiled(kernel, (3, 1), 1.1).astype(np.float16)
    nodes = [node("Cast", "w", "v", to=TensorProto.FLOAT), node("MatMul", "x v", "h"),
             node("Relu", "h", "y")]  # fmt: skip
    constants = {"w": narrow}
    candidate = model(nodes, {"x": floats(4, 16)}, {"y": floats(4, 8)}, constants)
    report = checked(linear(kernel), candidate, inputs={"x": normal(4, 16, seed=1)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    constants["w"] = kernel.astype(np.float16)
    clean = model(nodes, {"x": floats(4, 16)}, {"y": floats(4, 8)}, constants)
    report = checked(linear(kernel), clean, inputs={"x": normal(4, 16, seed=1)})
    assert report.verdict is not isomorph.Verdict.DIVERGENT


@pytest.mark.parametrize("channels", [False, True])
def test_one_int8_weight_twelve_steps_off(channels):
    kernel = normal(32, 8)
    largest = np.abs(kernel).max(axis=0) if channels else np.abs(kernel).max()
    scale = (largest / 127).astype(F32)
    integers = np.rint(kernel / scale).astype(np.int8)
    zero = np.zeros_like(scale, np.int8)
    wrong = integers.copy()
    place = tuple(np.argwhere(np.abs(integers) < 100)[5])
    wrong[place] += 12
    inputs = {"x": normal(4, 32, seed=2)}
    report = checked(linear(kernel), dequantized(wrong, scale, zero), inputs=inputs)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert any(each.cause == "weight" for each in report.findings)
    report = checked(linear(kernel), dequantized(integers, scale, zero), inputs=inputs)
    assert report.verdict is not isomorph.Verdict.DIVERGENT
    assert not differing(report)


def test_a_weight_that_reaches_no_output_is_nobodys_business():
    def net(factor):
        nodes = [node("MatMul", "x w", "y"), node("MatMul", "x v", "unused")]
        constants = {"w": POSITIVE, "v": spoiled(normal(8, 6, seed=5), (1, 1), factor)}
        return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, 6)}, constants)

    report = checked(net(1), net(3), inputs={"x": DEAD})
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_a_channel_scaled_here_and_unscaled_behind_is_the_same_function():
    """What another constant makes up for is refuted by putting the reference's numbers in."""
    kernel, factors = normal(8, 6), np.ones(6, F32)
    factors[2] = 4
    shapes = {"x": floats(4, 8)}, {"y": floats(4, 6)}
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "r"), node("Mul", "r f", "y")]
    plain = model(nodes, *shapes, {"w": kernel, "f": factors})
    constants = {"w": kernel * factors, "f": np.ones(6, F32)}
    moved = model(nodes, *shapes, constants)
    report = checked(plain, moved, inputs={"x": normal(4, 8, seed=1)})
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_masks_that_stand_for_infinity_are_alike():
    def masked(lowest):
        mask = np.zeros((8, 8), F32) + normal(8, 8) * F32(0.1)
        mask[0, 5:] = lowest
        nodes = [node("Add", "x m", "s"), node("Softmax", "s", "y", axis=-1)]
        return model(nodes, {"x": floats(8, 8)}, {"y": floats(8, 8)}, {"m": mask})

    for lowest in (-3.4028235e38, -np.inf, -65504.0, -1e4):
        report = checked(masked(-1e9), masked(lowest), inputs={"x": normal(8, 8, seed=3)})
        assert not differing(report), lowest


@pytest.mark.parametrize(("behind", "found"), [("Relu", True), ("Softmax", False)])
def test_a_very_negative_bias_vanishes_before_a_softmax_only(behind, found):
    def shut(lowest):
        bias = normal(6, seed=5)
        bias[2] = lowest
        nodes = [node("Add", "x b", "s"), node("Mul", "s f", "h"), node(behind, "h", "y")]
        constants = {"b": bias, "f": F32(2)}
        return model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, constants)

    report = checked(shut(-1000), shut(-1100), inputs={"x": normal(4, 6, seed=3)})
    assert bool(differing(report)) is found


def test_weights_clipped_to_a_narrower_grid_are_no_spoiled_ones():
    kernel = normal(64, 8)
    scale = F32(np.abs(kernel).max() / 127 * 0.8)
    integers = np.clip(np.rint(kernel / scale), -127, 127).astype(np.int8)
    assert (np.abs(kernel) > 127.5 * scale).any()
    candidate = dequantized(integers, scale, np.int8(0))
    assert not differing(checked(linear(kernel), candidate, inputs={"x": normal(4, 64, seed=2)}))


def test_learned_roundings_are_no_spoiled_ones():
    """As many between one and two steps as beyond: the whole weight was rounded another way."""
    random = np.random.default_rng(4)
    kernel = normal(64, 16)
    scale = F32(np.abs(kernel).max() / 127)
    moved = np.rint(kernel / scale + random.normal(size=kernel.shape) * 0.6)
    candidate = dequantized(np.clip(moved, -128, 127).astype(np.int8), scale, np.int8(0))
    assert not differing(checked(linear(kernel), candidate, inputs={"x": normal(4, 64, seed=2)}))


def test_a_folded_normalization_is_computed_again_and_its_damage_seen():
    random = np.random.default_rng(6)
    kernel, bias = normal(8, 4, 3, 3), normal(8, seed=1)
    norm = {"g": normal(8, seed=2), "o": normal(8, seed=3), "m": normal(8, seed=4),
            "v": random.uniform(0.5, 2, 8).astype(F32)}  # fmt: skip
    factor = norm["g"] / np.sqrt(norm["v"] + F32(1e-5))
    folded = kernel * factor[:, None, None, None]
    shift = (bias - norm["m"]) * factor + norm["o"]
    shapes = {"x": floats(1, 4, 6, 6)}, {"y": floats(1, 8, 4, 4)}
    whole = model(
        [node("Conv", "x w b", "h"), node("BatchNormalization", "h g o m v", "z", epsilon=1e-5),
         node("Relu", "z", "y")],
        *shapes, {"w": kernel, "b": bias, **norm})  # fmt: skip

    def fused(kernel, bias):
        nodes = [node("Conv", "x w b", "h"), node("Relu", "h", "y")]
        return model(nodes, *shapes, {"w": kernel, "b": bias})

    inputs = {"x": np.zeros((1, 4, 6, 6), F32)}
    assert not differing(checked(whole, fused(folded, shift), inputs=inputs))
    report = checked(whole, fused(spoiled(folded, (2, 1, 0, 1), 1.2), shift), inputs=inputs)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert finding.evidence["elements"][0]["index"] == [2, 1, 0, 1]
    report = checked(whole, fused(folded, spoiled(shift, (3,), 1.2)), inputs=inputs)
    assert report.verdict is isomorph.Verdict.DIVERGENT


def test_a_normalization_that_float16_weights_behind_it_hold_is_no_difference():
    """A fresh normalization is a factor close to 1: most rounded numbers stay as they were."""
    kernel = normal(16, 8, 3, 3)
    factor = np.full(8, 1 / np.sqrt(1.001), F32)
    ones, zeros = np.ones(8, F32), np.zeros(8, F32)
    shapes = {"x": floats(1, 8, 6, 6)}, {"y": floats(1, 16, 4, 4)}
    whole = model(
        [node("Relu", "x", "a"), node("BatchNormalization", "a g o m v", "z", epsilon=1e-3),
         node("Conv", "z w", "y")],
        *shapes, {"w": kernel, "g": ones, "o": zeros, "m": zeros, "v": ones})  # fmt: skip

    def fused(kernel):
        nodes = [node("Relu", "x", "a"), node("Cast", "k", "w", to=TensorProto.FLOAT),
                 node("Conv", "a w", "y")]  # fmt: skip
        return model(nodes, *shapes, {"k": kernel.astype(np.float16)})

    inputs = {"x": normal(1, 8, 6, 6, seed=3)}
    faithful = fused(kernel * factor[None, :, None, None])
    report = checked(whole, faithful, inputs=inputs)
    assert report.verdict is isomorph.Verdict.DEGRADED, report.reason
    assert not differing(report)
    wrong = fused(spoiled(kernel * factor[None, :, None, None], (2, 1, 0, 1), 1.2))
    assert checked(whole, wrong, inputs=inputs).verdict is isomorph.Verdict.DIVERGENT


@pytest.mark.parametrize("grid", [False, True])
def test_a_weight_that_no_given_input_shows_is_repaired(tmp_path, grid):
    kernel = POSITIVE
    scale = F32(np.abs(kernel).max() / 127)
    integers = np.rint(kernel / scale).astype(np.int8)
    wrong = integers.copy()
    wrong[2, 3] = wrong[2, 3] - 30 if wrong[2, 3] > 60 else wrong[2, 3] + 30
    damaged = spoiled(kernel, (2, 3), 1.05)
    candidate = dequantized(wrong, scale, np.int8(0)) if grid else linear(damaged)
    for name, each in (("reference", linear(kernel)), ("candidate", candidate)):
        onnx.save(each, tmp_path / f"{name}.onnx")
    pair = tmp_path / "reference.onnx", tmp_path / "candidate.onnx"
    done = isomorph.fix(*pair, output=tmp_path / "fixed.onnx", inputs={"x": DEAD}, in_process=True)
    assert done.repaired, done.reason
    assert any(each.origin.startswith("found") for each in done.proof.after)
    constants = {e.name: numpy_helper.to_array(e) for e in onnx.load(done.output).graph.initializer}
    if grid:
        assert np.array_equal(constants["q"], integers)
    else:
        assert np.array_equal(constants["w"], kernel)


def test_gates_in_another_order_are_the_same_weights_and_one_number_is_not():
    """What PyTorch keeps apart stands joined and reordered in an LSTM of ONNX."""
    hidden, width = 5, 7
    parts = [normal(hidden, width, seed=n) for n in range(4)]
    inner = [normal(hidden, hidden, seed=10 + n) for n in range(4)]
    reference = Graph(parts, inner, (0, 1, 2, 3))
    order = (0, 3, 1, 2)
    clean = Graph(parts, inner, order)
    damaged = Graph(parts, inner, order, place=(8, 3))
    assert not compared_weights(*(Weights(e.graph, e) for e in (reference, clean))).differences
    (found,) = compared_weights(*(Weights(e.graph, e) for e in (reference, damaged))).differences
    assert np.argwhere(found.beyond).tolist() == [[0, 8, 3]]


def test_a_joined_weight_with_more_wrong_vectors_than_are_examined_is_noted(monkeypatch):
    monkeypatch.setattr(concatenated_weights, "MISSING_VECTORS", replace(MISSING_VECTORS, most=0))
    parts = [normal(5, 7, seed=n) for n in range(4)]
    inner = [normal(5, 5, seed=10 + n) for n in range(4)]
    reference, damaged = (
        Graph(parts, inner, (0, 1, 2, 3)),
        Graph(parts, inner, (0, 3, 1, 2), (8, 3)),
    )
    with noted_limits() as hit:
        assert not compared_weights(
            *(Weights(e.graph, e) for e in (reference, damaged))
        ).differences
    assert [each.left_out for each in hit] == [MISSING_VECTORS.left_out]


class Graph:
    """A graph with a joined weight, and the session that reads it."""

    def __init__(self, parts, inner, order, place=None):
        joined = np.concatenate([parts[n] for n in order])[None]
        if place is not None:
            joined[(0, *place)] *= 1.5
        self.values = {"w": joined, "r": np.concatenate([inner[n] for n in order])[None]}
        self.graph = model_graph(self.values)

    def run(self, _feeds, fetch):
        return {name: np.asarray(self.values[name], np.float64) for name in fetch}


def model_graph(values):
    def spec(name):
        return TensorSpec(name=name, dtype="float32", shape=None)

    constants = {
        name: Constant(
            name=name, dtype="float32", shape=value.shape, digest=str(value.tobytes()),
            value_digest=str(np.sort(value, axis=None).tobytes()),
        )
        for name, value in values.items()
    }  # fmt: skip
    lstm = Node(name="lstm", op="LSTM", native_op="LSTM", inputs=("x", *values), outputs=("y",))
    return isomorph.core.model.Graph(
        name="g",
        inputs=(spec("x"),),
        outputs=(spec("y"),),
        nodes=(lstm,),
        tensors={},
        constants=constants,
    )


def test_a_weight_of_zeros_is_known_by_being_the_only_one():
    def net(slope):
        nodes = [node("MatMul", "x w", "h"), node("PRelu", "h", "y")]
        nodes[1].input.append("a")
        constants = {"w": normal(8, 6), "a": slope}
        return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, 6)}, constants)

    zeros = np.zeros(6, F32)
    wrong = zeros.copy()
    wrong[1] = 0.25
    always_positive = {"x": np.zeros((4, 8), F32)}
    report = checked(net(zeros), net(wrong), inputs=always_positive)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert finding.evidence["constant"] == "a"


def scaled(kernel, bias, *, gemm):
    """The same product with its factors as attributes or in the weights, shut by a ReLU."""
    if gemm:
        nodes = [node("Gemm", "x w b", "h", alpha=0.75, beta=1.25)]
    else:
        kernel, bias = kernel * F32(0.75), bias * F32(1.25)
        nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "h")]
    nodes += [node("Relu", "h", "y")]
    return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, 6)}, {"w": kernel, "b": bias})


@pytest.mark.parametrize(("place", "name"), [((2, 3), "w"), ((4,), "b")])
def test_a_wrong_number_where_the_factors_of_a_product_were_folded(place, name):
    constants = {"w": POSITIVE, "b": -(normal(6, seed=8) ** 2) - F32(1)}
    right = scaled(*constants.values(), gemm=True)
    clean = checked(right, scaled(*constants.values(), gemm=False), inputs={"x": DEAD})
    assert clean.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(clean)
    constants[name] = spoiled(constants[name], place, 1.01)
    (finding,) = differing(
        checked(right, scaled(*constants.values(), gemm=False), inputs={"x": DEAD})
    )
    assert finding.evidence["constant"] == name


def test_a_wrong_number_where_a_division_became_a_product():
    def net(op, factors):
        nodes = [node(op, "x f", "h"), node("Relu", "h", "y")]
        return model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, {"f": factors})

    factors, dead = POSITIVE[0], -np.ones((4, 6), F32)
    right, times = net("Div", factors), F32(1) / factors
    assert not differing(checked(right, net("Mul", times), inputs={"x": dead}))
    wrong = net("Mul", spoiled(times, (2,), 1.1))
    (finding,) = differing(checked(right, wrong, inputs={"x": dead}))
    assert finding.evidence["elements"][0]["index"] == [2]


def split(kernel, edges, *, nested=False):
    """A product in blocks of columns, joined and shut by a ReLU."""
    parts = np.split(kernel, edges, axis=1)
    constants = {f"w{place}": np.ascontiguousarray(part) for place, part in enumerate(parts)}
    nodes = [node("MatMul", f"x {name}", f"p{name}") for name in constants]
    names = [f"p{name}" for name in constants]
    if nested:
        nodes.append(node("Concat", " ".join(names[:2]), "inner", axis=-1))
        names = ["inner", *names[2:]]
    nodes += [node("Concat", " ".join(names), "h", axis=-1), node("Relu", "h", "y")]
    return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, kernel.shape[1])}, constants)


@pytest.mark.parametrize(("edges", "nested"), [([1], False), ([2], False), ([1, 5], True)])
def test_a_wrong_number_in_columns_that_were_split_off(edges, nested):
    clean = checked(linear(POSITIVE), split(POSITIVE, edges, nested=nested), inputs={"x": DEAD})
    assert clean.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(clean)
    wrong = split(spoiled(POSITIVE, (2, 0), 1.01), edges, nested=nested)
    (finding,) = differing(checked(linear(POSITIVE), wrong, inputs={"x": DEAD}))
    assert finding.node == "MatMul_pw0"
    assert finding.evidence["elements"][0]["index"] == [2, 0]


def test_a_wrong_number_in_a_weight_that_was_joined():
    whole = linear(POSITIVE), linear(spoiled(POSITIVE, (2, 3), 1.01))
    clean, report = (checked(split(POSITIVE, [1]), each, inputs={"x": DEAD}) for each in whole)
    assert clean.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(clean)
    (finding,) = differing(report)
    assert finding.evidence["elements"][0]["index"] == [2, 3]


def test_a_weight_that_is_masked_when_it_is_loaded_is_explained():
    """The reference keeps a mask beside its weight, and a converter multiplied them."""
    kernel, mask = normal(8, 6), np.ones((8, 6), F32)
    mask[2, 3] = 0
    shapes = {"x": floats(4, 8)}, {"y": floats(4, 6)}
    nodes = [node("Mul", "w m", "v"), node("MatMul", "x v", "y")]
    reference = model(nodes, *shapes, {"w": kernel, "m": mask})
    candidate = model([node("MatMul", "x v", "y")], *shapes, {"v": kernel * mask})
    report = checked(reference, candidate, inputs={"x": np.zeros((4, 8), F32)})
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_a_sample_of_a_test_set_is_not_generated_whatever_its_file_is_called(tmp_path):
    np.savez(tmp_path / "generated.npz", x=DEAD)
    report = checked(linear(POSITIVE), linear(spoiled(POSITIVE, (2, 3), 1.01)), data=tmp_path)
    assert report.reason.startswith("the same on the given input, but weight 'w' differs")
