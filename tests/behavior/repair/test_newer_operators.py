"""Repairs that one operator set has no word for, or reads otherwise than another."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tests.behavior.repair.test_special_repairs import fixed

import faulty
from isomorph.core import patch as edits
from isomorph.frameworks.onnx.opset_upgrade import in_turn

PLACES = {
    "i": np.array([[0, 0, 1], [3, 3, 3]]),
    "u": np.array([[1, 2, -3], [6, 5, -4]], np.float32),
}
SCATTER = "[act] r = Relu(x) [pick] z = ScatterElements<axis=1{}>(r, i, u) [out] y = Tanh(z)"


def at(opset, body, sizes="[2,4]", **weights):
    """A small network in an operator set of its own."""
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float{sizes} x) => (float{sizes} y)'
    proto = onnx.parser.parse_model(f"{text} {{ {body} }}")
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return proto


def opset_of(path):
    return onnx.load(path).opset_import[0].version


@pytest.mark.parametrize(("before", "word", "after"), [(11, "add", 16), (16, "max", 18)])
def test_a_word_of_a_newer_operator_set_raises_the_model(tmp_path, before, word, after):
    attribute = f', reduction="{word}"'
    repair, output = fixed(
        tmp_path,
        at(18, SCATTER.format(attribute), **PLACES),
        at(before, SCATTER.format(""), **PLACES),
        {"x": faulty.drawn(2, 4)},
    )
    assert repair.repaired, (repair.reason, repair.refused)
    assert opset_of(output) == after
    [only] = repair.applied
    assert only.patch.summary.endswith(f"raises the model from operator set {before} to {after})")
    assert only.patch.edits[-1] == edits.RaiseOpset(version=after)


def test_a_missing_operator_that_only_newer_sets_have_is_put_back(tmp_path):
    repair, output = fixed(
        tmp_path,
        at(20, "[a] r = Neg(x) [b] h = Mish(r) [out] y = Sin(h)"),
        at(13, "[a] r = Neg(x) [out] y = Sin(r)"),
        {"x": faulty.drawn(2, 4)},
    )
    assert repair.repaired, (repair.reason, repair.refused)
    assert opset_of(output) == 18


def test_what_every_operator_set_has_raises_no_opset():
    ops = {"act": ("", "LeakyRelu"), "own": ("com.microsoft", "Gelu")}
    wanted = [
        edits.SetAttribute(node="act", name="alpha", value=0.5),
        edits.SetAttribute(node="own", name="fresh", value="word"),
        edits.InsertAhead(node="act", index=0, op="Transpose", name="t"),
    ]
    assert in_turn(wanted, ops, 11) == (wanted, 11, [])
    newer = [edits.InsertAhead(node="act", index=0, op="Gelu", name="g"),
             edits.SetAttribute(node="g", name="approximate", value="tanh")]  # fmt: skip
    assert in_turn([*newer, *wanted], ops, 11) == (wanted, 20, newer)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize(("cand", "ref"), [(13, 11), (11, 13)])
def test_axes_are_read_as_by_the_references_operator_set(tmp_path, op, cand, ref):
    body = f"[a] r = Mul(x, x) [soft] s = {op}<axis=1>(r) [out] y = Exp(s)"
    repair, output = fixed(
        tmp_path,
        at(ref, body, "[N,3,4]"),
        at(cand, body, "[N,3,4]"),
        {"x": faulty.drawn(2, 3, 4)},
    )
    assert repair.repaired, (repair.reason, repair.refused)
    assert opset_of(output) == cand
    assert any(node.op_type == op for node in onnx.load(output).graph.node)


ROUNDINGS = {
    "to even": "[r] r = Round(x)",
    "up": "[m] m = Add(x, half) [r] r = Floor(m)",
    "away from zero": "[b] b = Abs(x) [m] m = Add(b, half) [f] f = Floor(m) [s] s = Sign(x)"
    " [r] r = Mul(f, s)",
}


@pytest.mark.parametrize(
    ("cand", "ref"),
    [("to even", "up"), ("to even", "away from zero"), ("up", "to even")],
)
def test_halves_are_rounded_as_the_reference_rounds_them(tmp_path, cand, ref):
    given = np.random.default_rng(0).integers(-40, 40, (8, 16)).astype(np.float32) / 4
    models = [
        at(13, f"{ROUNDINGS[way]} [out] y = Sin(r)", "[8,16]", half=np.float32(0.5))
        for way in (ref, cand)
    ]
    repair, _ = fixed(tmp_path, *models, {"x": given})
    assert repair.repaired, (repair.reason, repair.refused)
    [only] = repair.applied
    assert f"halves {ref}" in only.patch.summary
    assert f"are rounded {cand}" in only.finding.summary
