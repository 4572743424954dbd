"""Single edits of a TFLite file: what is written runs, and contains the patch."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

import tflite_building
from isomorph import registry
from isomorph.core import patch as edits
from isomorph.core.errors import IsomorphError
from isomorph.core.patch import Patch


@pytest.fixture(scope="module")
def small():
    return registry.framework("tflite").load(tflite_building.small().data(), {})


def patched(model, tmp_path, *changes):
    """The model read back from a patched copy; LiteRT has prepared and run it."""
    framework = registry.framework("tflite")
    path = tmp_path / "patched.tflite"
    framework.apply(model, Patch(summary="", edits=changes), path)
    session = Interpreter(str(path))
    session.allocate_tensors()
    session.invoke()
    return framework.load(path, {})


def node(model, op):
    return next(each for each in model.graph.nodes if each.native_op == op)


def test_an_empty_patch_is_a_copy(small, tmp_path):
    copy = patched(small, tmp_path)
    assert copy.graph.nodes == small.graph.nodes
    assert {n: c.digest for n, c in copy.graph.constants.items()} == {
        n: c.digest for n, c in small.graph.constants.items()
    }


def test_options_are_set_by_their_words(small, tmp_path):
    conv = node(small, "CONV_2D").name
    after = patched(
        small,
        tmp_path,
        edits.SetAttribute(node=conv, name="fused_activation_function", value="RELU6"),
    )
    assert node(after, "CONV_2D").attributes["fused_activation_function"] == "RELU6"
    assert node(small, "CONV_2D").attributes["fused_activation_function"] != "RELU6"


def test_a_constant_keeps_its_type(small, tmp_path):
    kernel = node(small, "CONV_2D").inputs[1]
    after = patched(small, tmp_path, edits.SetConstant(tensor=kernel, value=np.zeros((4, 3, 3, 3))))
    assert after.graph.constants[kernel].dtype == "float32"
    assert after.graph.constants[kernel].digest != small.graph.constants[kernel].digest


def test_a_node_is_inserted_where_it_can_run(small, tmp_path):
    conv = node(small, "CONV_2D").outputs[0]
    added = (
        edits.AddConstant(name="more", value=np.ones(4, np.float32)),
        edits.InsertBehind(tensor=conv, op="Add", name="added", inputs=("", "more")),
    )
    after = patched(small, tmp_path, *added)
    assert [each.native_op for each in after.graph.nodes][:2] == ["CONV_2D", "ADD"]
    assert after.graph.nodes[1].outputs == (conv,)


def test_a_transpose_carries_its_permutation_as_a_constant(small, tmp_path):
    reader = node(small, "MEAN")
    ahead = edits.InsertAhead(
        node=reader.name, index=0, op="Transpose", name="turn", attributes={"perm": (0, 2, 1, 3)}
    )
    after = patched(small, tmp_path, ahead)
    turned = node(after, "TRANSPOSE")
    assert after.graph.constants[turned.inputs[1]].values == (0, 2, 1, 3)


def test_a_node_is_taken_out_or_becomes_another(small, tmp_path):
    relu = next(each for each in small.graph.nodes if each.op in {"Relu", "Sigmoid"})
    gone = patched(small, tmp_path, edits.RemoveNode(node=relu.name))
    assert len(gone.graph.nodes) == len(small.graph.nodes) - 1
    other = patched(small, tmp_path, edits.SetOp(node=relu.name, op="Tanh"))
    assert node(other, "TANH").outputs == relu.outputs


def test_a_constant_inside_a_branch_is_set_there_alone(tmp_path):
    model = tflite_building.Building()
    main, yes, no = (model.graph(name) for name in ("main", "yes", "no"))
    test, x = main.tensor("test", (), "bool"), main.tensor("x", (2,))
    y = main.tensor("y", (2,))
    main.op("IF", [test, x], [y], "If", thenSubgraphIndex=1, elseSubgraphIndex=2)
    main.ends([test, x], [y])
    for graph, value in ((yes, 3.0), (no, 5.0)):
        given, made = graph.tensor("in", (2,)), graph.tensor("out", (2,))
        factor = graph.tensor("factor", (2,), value=[value, value])
        graph.op("MUL", [given, factor], [made], "Mul")
        graph.ends([given], [made])
    branching = registry.framework("tflite").load(model.data(), {})
    edit = edits.SetConstant(tensor="IF:0/then#0/factor", value=np.array([7.0, 8.0]))
    (after,) = patched(branching, tmp_path, edit).graph.nodes
    assert after.bodies["then"].constants["factor"].values == (7.0, 8.0)
    assert after.bodies["else"].constants["factor"].values == (5.0, 5.0)


@pytest.mark.parametrize(
    "edit",
    [
        edits.SetAttribute(node="CONV_2D:0", name="flavor", value=1),
        edits.SetAttribute(node="CONV_2D:99", name="padding", value="SAME"),
        edits.SetConstant(tensor="nothing", value=np.zeros(1)),
        edits.SetOp(node="CONV_2D:0", op="Einsum"),
        edits.InsertAhead(
            node="CONV_2D:0", index=0, op="Softmax", name="s", attributes={"axis": 1}
        ),
        edits.SwapBodies(node="CONV_2D:0"),
    ],
    ids=["option", "node", "constant", "operator", "axis", "branches"],
)
def test_what_tflite_does_not_have_is_refused(small, tmp_path, edit):
    with pytest.raises(IsomorphError):
        patched(small, tmp_path, edit)
