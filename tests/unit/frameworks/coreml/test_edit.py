"""Patches of ML programs: values in the specification and in weight files, in a copy."""

import math

import numpy as np
import pytest

from coreml_building import (
    INPUTS,
    OUTPUTS,
    Block,
    Weights,
    network,
    package,
    small,
    small_package,
    specification,
)
from isomorph.core.errors import UsageError
from isomorph.core.patch import Patch, RemoveNode, SetAttribute, SetConstant
from isomorph.frameworks.coreml.evaluator import Evaluator
from isomorph.frameworks.coreml.framework import CoremlFramework

FRAMEWORK = CoremlFramework()
X = np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)


def patch(*edits):
    return Patch(summary="", edits=edits)


@pytest.fixture(params=["file", "package", "float16"])
def path(request, tmp_path):
    if request.param == "file":
        path = tmp_path / "m.mlmodel"
        path.write_bytes(small())
        return path
    if request.param == "package":
        return small_package(tmp_path / "m.mlpackage")
    weights = Weights()
    block = network(
        held=lambda b, name, array: b.const(name, array, weights.add(array)), dtype="float16"
    )
    data = specification(block, [("x", "float16", (2, 3, 6, 6))], OUTPUTS)
    return package(tmp_path / "m.mlpackage", data, weights)


def both(path, *edits):
    """The patched model as it is written, and in memory."""
    model = FRAMEWORK.load(str(path), {})
    target = path.with_name(f"patched{path.suffix}")
    FRAMEWORK.apply(model, patch(*edits), target)
    return model, FRAMEWORK.load(str(target), {}), FRAMEWORK.apply_in_memory(model, patch(*edits))


def outputs(model):
    return Evaluator(model.native).run({"x": X}, ["c", "logits"])


def test_a_constant_gets_other_numbers(path):
    value = np.linspace(-1, 1, 20).reshape(5, 4)
    model, written, tried = both(path, SetConstant(tensor="k", value=value))
    for each in (written, tried):
        stored = Evaluator(each.native).run({}, ["k"])["k"]
        assert np.allclose(stored, value, atol=1e-3)
        assert not np.array_equal(outputs(each)["logits"], outputs(model)["logits"])
    for name in ("w", "b", "g"):
        assert written.graph.constants[name].digest == model.graph.constants[name].digest


def test_parameters_become_what_the_patch_says(path):
    edits = (
        SetAttribute(node="op_n", name="epsilon", value=0.5),
        SetAttribute(node="op_c", name="pads", value=(2, 0, 0, 2)),
        SetAttribute(node="op_a", name="axes", value=(3, 2)),
    )
    model, written, tried = both(path, *edits)
    nodes = {node.name: node for node in written.graph.nodes}
    assert nodes["op_n"].attributes["epsilon"] == 0.5
    assert nodes["op_c"].attributes["pads"] == (2, 0, 0, 2)
    assert nodes["op_a"].attributes["axes"] == (3, 2)
    assert np.array_equal(outputs(written)["logits"], outputs(tried)["logits"])
    assert not np.array_equal(outputs(written)["c"], outputs(model)["c"])


def test_the_original_stays_as_it_was(path):
    before = FRAMEWORK.load(str(path), {}).digest
    both(path, SetConstant(tensor="h", value=np.zeros(5)))
    assert FRAMEWORK.load(str(path), {}).digest == before


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (SetConstant(tensor="nothing", value=np.zeros(1)), "PATCH_UNKNOWN_NAME"),
        (SetConstant(tensor="k", value=np.zeros(3)), "PATCH_NOT_POSSIBLE"),
        (SetAttribute(node="nothing", name="epsilon", value=1.0), "PATCH_UNKNOWN_NAME"),
        (SetAttribute(node="op_c", name="auto_pad", value="VALID"), "PATCH_NOT_POSSIBLE"),
        (SetAttribute(node="op_n", name="epsilon", value=None), "PATCH_NOT_POSSIBLE"),
        (RemoveNode(node="op_r"), "PATCH_NOT_POSSIBLE"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_with_the_reason(tmp_path, edit, code):
    model = FRAMEWORK.load(str(small_package(tmp_path / "m.mlpackage")), {})
    target = tmp_path / "patched.mlpackage"
    with pytest.raises(UsageError) as caught:
        FRAMEWORK.apply(model, patch(edit), target)
    assert caught.value.code == code
    assert not target.exists()


def test_a_value_that_several_operations_read_is_not_changed_for_one(tmp_path):
    block = network()
    block.op("softmax", "s1", "float32", (2, 5), x="logits", axis=block.const("ax", np.int32(1)))
    block.op("softmax", "s2", "float32", (2, 5), x="logits", axis="ax")
    path = tmp_path / "m.mlmodel"
    path.write_bytes(specification(block, INPUTS, ["s1", "s2"]))
    model = FRAMEWORK.load(str(path), {})
    with pytest.raises(UsageError, match="other operations"):
        FRAMEWORK.apply_in_memory(model, patch(SetAttribute(node="op_s1", name="axis", value=0)))


def patched_words(tmp_path, block, output, edit, feeds):
    """What a patched model of one operation computes, as written and in memory."""
    path = tmp_path / "m.mlmodel"
    given = [(name, "float32", array.shape) for name, array in feeds.items()]
    path.write_bytes(specification(block, given, [output]))
    _, written, tried = both(path, edit)
    found = [Evaluator(each.native).run(feeds, [output])[output] for each in (written, tried)]
    assert np.array_equal(*found)
    (node,) = written.graph.nodes
    assert node.attributes[edit.name] == edit.value
    return found[0]


def test_a_parameter_that_is_a_word_becomes_another(tmp_path):
    block = Block()
    mode = block.const("mode", "TANH_APPROXIMATION")
    block.op("gelu", "y", "float32", (3,), x="x", mode=mode)
    edit = SetAttribute(node="op_y", name="approximate", value="none")
    x = np.float32([-1, 0.5, 2])
    y = patched_words(tmp_path, block, "y", edit, {"x": x})
    assert np.allclose(y, [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x], atol=1e-7)


def test_where_a_picture_is_sampled_is_two_parameters(tmp_path):
    block = Block()
    stated = {
        "scale_factor_height": np.float32(2), "scale_factor_width": np.float32(2),
        "align_corners": np.bool_(True), "half_pixel_centers": np.bool_(False),
    }  # fmt: skip
    read = {name: block.const(name, array) for name, array in stated.items()}
    block.op("upsample_bilinear", "y", "float32", (1, 1, 4, 4), x="x", **read)
    edit = SetAttribute(
        node="op_y", name="coordinate_transformation_mode", value="half_pixel"
    )  # fmt: skip
    x = np.float32([[[[0, 4], [8, 12]]]])
    y = patched_words(tmp_path, block, "y", edit, {"x": x})
    assert y[0, 0, 0].tolist() == [0, 1, 3, 4]
