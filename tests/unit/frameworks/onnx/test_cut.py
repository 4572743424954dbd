"""What a cut contains, and what it leaves out."""

import onnx
import pytest
from onnx import TensorProto, helper

from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.cut import Cutter, rename_duplicates
from isomorph.frameworks.onnx.model import model_of

FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)


def cutter(text):
    head = '<ir_version: 9, opset_import: ["" : 17]>'
    return Cutter(model_of(onnx.parser.parse_model(f"{head} {text}")))


def ops(found, piece):
    return [found.model.proto.graph.node[index].op_type for index in piece.nodes]


CHAIN = cutter(
    "g (float[2] x, float[2] u) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}>"
    "{ a = Relu(x) b = Add(a, w) c = Mul(b, u) y = Sub(c, v) }"
)


def test_only_what_lies_between_is_kept():
    piece = CHAIN.slice({"b", "u"}, ["c"])
    assert ops(CHAIN, piece) == ["Mul"]
    assert piece.stored == frozenset()
    piece = CHAIN.slice({"a"}, ["b"])
    assert ops(CHAIN, piece) == ["Add"]
    assert piece.stored == {"w"}


def test_inputs_that_nobody_feeds_are_listed():
    assert CHAIN.slice(set(), ["y"]).inputs == ("u", "x")
    assert CHAIN.slice({"c"}, ["y"]).inputs == ()


def test_an_initializer_can_be_replaced():
    piece = CHAIN.slice({"a", "w"}, ["b"])
    assert piece.stored == frozenset()
    built = CHAIN.build(piece, {"a": FLOAT, "w": FLOAT}, ["b"])
    assert [value.name for value in built.graph.input] == ["a", "w"]
    assert not built.graph.initializer


def test_the_model_that_was_cut_is_not_changed():
    before = CHAIN.model.proto.SerializeToString(deterministic=True)
    CHAIN.build(CHAIN.slice({"a"}, ["y"]), {"a": FLOAT}, ["y"])
    assert CHAIN.model.proto.SerializeToString(deterministic=True) == before


def test_what_a_body_captures_is_needed():
    found = cutter(
        "g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {"
        "h = Neg(x) unused = Abs(x) y = If (c) <"
        "then_branch = t () => (float[2] p) { p = Add(h, w) },"
        "else_branch = e () => (float[2] q) { q = Identity(h) }> }"
    )
    piece = found.slice({"x", "c"}, ["y"])
    assert ops(found, piece) == ["Neg", "If"]
    assert piece.stored == {"w"}
    piece = found.slice({"h", "c"}, ["y"])
    assert ops(found, piece) == ["If"]


def test_a_captured_value_two_levels_down_is_needed():
    found = cutter(
        "g (float[2] x, bool c) => (float[2] y) { h = Neg(x) y = If (c) <"
        "then_branch = t () => (float[2] p) { p = If (c) <"
        "  then_branch = tt () => (float[2] pp) { pp = Relu(h) },"
        "  else_branch = te () => (float[2] pq) { pq = Relu(x) }> },"
        "else_branch = e () => (float[2] q) { q = Identity(x) }> }"
    )
    assert ops(found, found.slice({"x", "c"}, ["y"])) == ["Neg", "If"]


def test_a_replaced_output_of_a_needed_node_is_renamed_and_not_removed():
    found = cutter(
        "g (float[4] x, int64[1] k) => (float[1] v, int64[1] y) { v, i = TopK(x, k) y = Neg(i) }"
    )
    piece = found.slice({"x", "k", "v"}, ["y"])
    built = found.build(piece, {"x": FLOAT, "v": FLOAT}, ["y"])
    assert list(built.graph.node[0].output) == ["v.replaced", "i"]


def test_an_unknown_tensor_suggests_the_nearest():
    with pytest.raises(UsageError) as caught:
        CHAIN.check(["bb"])
    assert caught.value.code == "UNKNOWN_TENSOR"
    assert "'b'" in caught.value.fix


def test_every_node_has_its_own_name_afterwards():
    graph = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]>'
        "g (float[2] x) => (float[2] y) { [n] a = Relu(x) [n] b = Abs(a) y = Neg(b) }"
    ).graph
    assert rename_duplicates(graph) == 1
    assert graph.node[0].name == "n"
    assert len({node.name for node in graph.node}) == 3
