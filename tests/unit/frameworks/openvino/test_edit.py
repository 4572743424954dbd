"""Edits of a copy: attributes, constants, inputs and operators, each read again afterwards."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.patch import (
    AddConstant,
    InsertAhead,
    InsertBehind,
    KeepFloat,
    Patch,
    RemoveNode,
    SetAttribute,
    SetConstant,
    SetInput,
    SetOp,
)
from isomorph.core.trace import Environment
from openvino_building import network

FRAMEWORK = registry.framework("openvino")
X = np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    return FRAMEWORK.load(network(tmp_path / "m.xml"), {})


def patched(model, tmp_path, *edits):
    path = tmp_path / "patched.xml"
    FRAMEWORK.apply(model, Patch(summary="", edits=edits), path)
    return FRAMEWORK.load(path, {})


def run(model, *names):
    name = FRAMEWORK.oracle
    session = registry.runtime(name).open(model, Environment(runtime=name, settings={}))
    return session.run({"x": X}, names)


def node(model, name):
    return next(each for each in model.graph.nodes if each.name == name)


def test_an_attribute(model, tmp_path):
    edit = SetAttribute(node="conv", name="pads", value=(0, 0, 2, 2))
    assert node(patched(model, tmp_path, edit), "conv").attributes["pads"] == (0, 0, 2, 2)
    assert node(model, "conv").attributes["pads"] == (1, 1, 1, 1)


def test_the_weights_of_a_constant(model, tmp_path):
    value = np.full((5, 4), 7, np.int8)
    changed = patched(model, tmp_path, SetConstant(tensor="q", value=value))
    assert np.array_equal(run(changed, "q")["q"], value)
    assert np.allclose(run(changed, "w")["w"], run(model, "w")["w"])
    with pytest.raises(UsageError):
        patched(model, tmp_path, SetConstant(tensor="q", value=np.full((5, 4), 0.5)))


def test_another_input(model, tmp_path):
    changed = patched(model, tmp_path, SetInput(node="product", index=0, tensor="biased"))
    found = run(changed, "product", "biased", "gate")
    assert np.allclose(found["product"], found["biased"] * found["gate"])


def test_another_operator(model, tmp_path):
    changed = patched(model, tmp_path, SetOp(node="relu", op="Elu", attributes={"alpha": 0.5}))
    assert node(changed, "relu").op == "Elu"
    assert run(changed, "relu")["relu"].min() < 0
    changed = patched(model, tmp_path, SetOp(node="product", op="Add"))
    found = run(changed, "product", "relu", "gate")
    assert np.allclose(found["product"], found["relu"] + found["gate"])


def test_a_node_taken_out(model, tmp_path):
    changed = patched(model, tmp_path, RemoveNode(node="relu"))
    found = run(changed, "product", "biased", "gate")
    assert np.allclose(found["product"], found["biased"] * found["gate"])


def test_a_node_behind_and_one_ahead(model, tmp_path):
    behind = InsertBehind(tensor="pool", op="Tanh", name="squashed")
    changed = patched(model, tmp_path, behind)
    assert node(changed, "logits").inputs[0] == "squashed"
    scale = AddConstant(name="half", value=np.float32(0.5))
    ahead = InsertAhead(node="logits", index=0, op="Mul", name="halved", inputs=("", "half"))
    changed = patched(model, tmp_path, scale, ahead)
    found = run(changed, "halved", "pool")
    assert np.allclose(found["halved"], found["pool"] / 2)


def test_behind_an_output_its_name_goes_to_what_callers_get_now(tmp_path):
    path = network(tmp_path / "m.xml")
    text = path.read_text(encoding="utf-8")
    assert text.count('names="logits"') == 1
    text = text.replace('names="logits"', 'names="scores"')
    path.write_text(text, encoding="utf-8")
    model = FRAMEWORK.load(path, {})
    names = [each.name for each in model.graph.outputs]
    assert "scores" in names
    before = run(model, "scores")["scores"]
    one = AddConstant(name="one", value=np.float32(1.0))
    behind = InsertBehind(tensor="scores", op="Add", name="plus", inputs=("", "one"))
    changed = patched(model, tmp_path, one, behind)
    assert [each.name for each in changed.graph.outputs] == names
    assert np.allclose(run(changed, "scores")["scores"], before + 1)


def test_in_memory(model):
    edit = SetConstant(tensor="b", value=np.zeros((1, 4, 1, 1), np.float32))
    changed = FRAMEWORK.apply_in_memory(model, Patch(summary="", edits=(edit,)))
    found = run(changed, "biased", "conv")
    assert np.array_equal(found["biased"], found["conv"])
    assert not np.array_equal(*run(model, "biased", "conv").values())


@pytest.mark.parametrize(
    "edit",
    [
        SetAttribute(node="conv", name="alpha", value=1.0),
        SetAttribute(node="conv", name="pads", value=None),
        SetAttribute(node="nothing", name="pads", value=1),
        SetConstant(tensor="conv", value=1),
        SetInput(node="relu", index=3, tensor="x"),
        SetInput(node="relu", index=0, tensor="nothing"),
        SetOp(node="relu", op="Frobnicate"),
        SetOp(node="logits", op="Relu"),
        KeepFloat(node="logits"),
        AddConstant(name="conv", value=np.float32(1)),
    ],
    ids=str,
)
def test_what_the_format_cannot_hold_is_refused(model, tmp_path, edit):
    with pytest.raises(UsageError) as caught:
        patched(model, tmp_path, edit)
    assert caught.value.code.startswith("PATCH_")


def test_a_patch_that_makes_a_cycle_is_refused(model, tmp_path):
    from isomorph.core.errors import UnreadableModelError

    with pytest.raises(UnreadableModelError) as caught:
        patched(model, tmp_path, SetInput(node="biased", index=0, tensor="relu"))
    assert caught.value.code == "GRAPH_CYCLE"
    assert not (tmp_path / "patched.xml").exists()
