"""Pairs of inputs and outputs that are one cache: by name, data flow, order, or as stated."""

from dataclasses import replace

import pytest

from described_decoders import model, node, spec
from isomorph.core.decoding import CachedBy
from isomorph.core.errors import UsageError
from isomorph.core.model import Node, OutputOrder
from isomorph.decoding.caches import (
    constant_caches,
    only_read,
    recognized_caches,
    refuse_unknown_names,
    unpaired_inputs,
)

TAKEN, RETURNED = ("batch", 2, "past", 8), ("batch", 2, "total", 8)


def pairs(*taken_and_returned, nodes=(), **stated):
    taken = [spec(name, TAKEN) for name, _ in taken_and_returned]
    returned = [spec(name, RETURNED) for _, name in taken_and_returned]
    return model([spec("input_ids", ("batch", "n"), "int64"), *taken], returned, nodes, **stated)


@pytest.mark.parametrize(
    ("names", "layers", "parts"),
    [
        ([("past_key_values.3.key", "present.3.key"),
          ("past_key_values.3.value", "present.3.value")], [3, 3], ["key", "value"]),
        ([("past_key_values.0.decoder.key", "present.0.decoder.key"),
          ("past_key_values.0.encoder.key", "present.0.encoder.key")],
         [0, 0], ["decoder key", "encoder key"]),
        ([("past_0", "present_0"), ("past_1", "present_1")], [0, 1], ["", ""]),
        ([("past_key_0", "present_key_0"), ("past_value_0", "present_value_0")],
         [0, 0], ["key", "value"]),
        ([("k_cache_in", "k_cache_out"), ("v_cache_in", "v_cache_out")],
         [0, 0], ["key", "value"]),
        ([("past.1", "present.1"), ("past.0", "present.0")], [1, 0], ["", ""]),
    ],
)  # fmt: skip
def test_names_that_differ_in_before_and_after_are_a_pair(names, layers, parts):
    found = recognized_caches(pairs(*names), {})
    assert [(pair.input, pair.output) for pair in found] == names
    assert [pair.layer for pair in found] == layers
    assert [pair.part for pair in found] == parts
    assert {pair.how for pair in found} == {CachedBy.NAME}
    assert {pair.axis for pair in found} == {2}


def test_without_names_the_data_flow_decides_and_not_the_order():
    nodes = [
        node("Concat", ["a", "x"], "joined", axis=2),
        node("Transpose", ["joined"], "second"),
        node("Concat", ["y", "b"], "first", axis=-2),
    ]
    found = recognized_caches(
        pairs(("a", "first"), ("b", "second"), nodes=nodes, order=OutputOrder.UNNAMED), {}
    )
    assert [(pair.input, pair.output) for pair in found] == [("a", "second"), ("b", "first")]
    assert {pair.how for pair in found} == {CachedBy.DATA_FLOW}
    assert {pair.axis for pair in found} == {2}


def test_an_attention_returns_its_caches_in_the_order_it_takes_them():
    attention = Node(
        name="gqa", op="GroupQueryAttention", native_op="com.microsoft.GroupQueryAttention",
        inputs=("q", "k", "v", "a", "b"), outputs=("out", "first", "second"),
    )  # fmt: skip
    found = recognized_caches(pairs(("a", "first"), ("b", "second"), nodes=[attention]), {})
    assert [(pair.input, pair.output) for pair in found] == [("a", "first"), ("b", "second")]
    assert {pair.how for pair in found} == {CachedBy.DATA_FLOW}


def test_what_is_left_is_paired_in_order_if_it_fits():
    unnamed = pairs(("a", "x"), ("b", "y"), order=OutputOrder.UNNAMED)
    assert [(p.input, p.output, p.how) for p in recognized_caches(unnamed, {})] == [
        ("a", "x", CachedBy.ORDER),
        ("b", "y", CachedBy.ORDER),
    ]
    other = model([spec("a", TAKEN)], [spec("x", ("batch", 4, "total", 16))])
    assert recognized_caches(other, {}) == ()
    assert unpaired_inputs(other.graph, ()) == ["a"]


def test_a_stated_pair_comes_first():
    found = recognized_caches(pairs(("past_0", "present_0"), ("past_1", "present_1")),
                              {"past_0": "present_1"})  # fmt: skip
    assert [(pair.input, pair.output, pair.how) for pair in found] == [
        ("past_0", "present_1", CachedBy.USER),
        ("past_1", "present_0", CachedBy.ORDER),
    ]


def test_a_stated_name_that_no_model_has_is_an_error():
    with pytest.raises(UsageError) as caught:
        refuse_unknown_names({"past_0": "nothing"}, pairs(("past_0", "present_0")))
    assert caught.value.code == "UNKNOWN_NAME"


def test_a_cache_that_is_returned_as_it_is_belongs_to_an_encoder():
    nodes = [node("Identity", ["past.encoder"], "present.encoder")]
    found = pairs(("past.encoder", "present.encoder"), nodes=nodes)
    assert constant_caches(found.graph) == ["past.encoder"]
    assert recognized_caches(found, {}) == ()


def test_inputs_that_nothing_writes_to_are_distinguished_from_those_without_their_output():
    taken = [
        spec(name, TAKEN) for name in ("read", "begun", "joined", "attended", "returned", "lost")
    ]
    nodes = [
        node("Transpose", ["read"], "turned"),
        node("MatMul", ["query", "turned"], "scores"),
        node("Concat", ["nothing", "begun"], "whole", axis=2),
        node("MatMul", ["query", "whole"], "more scores"),
        node("Transpose", ["joined"], "other way"),
        node("Concat", ["other way", "new"], "longer", axis=2),
        node("Attention", ["query", "attended", "attended"], "context"),
        Node(name="with cache", op="Attention", native_op="Attention",
             inputs=("query", "new", "new", "returned"), outputs=("out", "kept")),
    ]  # fmt: skip
    graph = model(taken, [], nodes).graph
    graph = replace(graph, tensors={**graph.tensors, "nothing": spec("nothing", (0,))})
    names = [each.name for each in taken]
    assert only_read(graph, names) == ["read", "begun", "attended"]


def test_an_output_that_joins_two_caches_is_neither_of_them_by_data_flow():
    nodes = [node("Concat", ["a", "b"], "x", axis=2)]
    found = recognized_caches(pairs(("a", "x"), ("b", "y"), nodes=nodes), {})
    assert {pair.how for pair in found} == {CachedBy.ORDER}
