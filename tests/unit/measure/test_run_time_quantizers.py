"""Nodes that quantize activations when they run, and what is added to a reference."""

from dataclasses import replace

import pytest

from isomorph import registry
from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.measure.run_time_quantizers import (
    added_run_time_quantizers,
    execution_noise,
    run_time_quantizers,
)
from packed_decoder import NAMES, at, network


def graph(levels, **options):
    return registry.framework("onnx").load(network(levels, **options), {}).graph


def names(nodes):
    return tuple(node.name for node in nodes)


def test_an_accuracy_level_of_4_quantizes():
    assert names(run_time_quantizers(graph(at(4, "up1", "head")))) == ("up1", "head")
    for level in range(4):
        assert not run_time_quantizers(graph(at(level)))


@pytest.mark.parametrize(
    ("reference", "candidate", "added"),
    [
        (at(0), at(4, "up1"), ("up1",)),
        (None, at(4), NAMES),
        (at(4), at(4), ()),
        (at(4), at(4, "up1"), ()),
        (at(4, "up1"), at(4, "up1", "head"), ("head",)),
        (at(4, "up1"), at(4, "head"), ("head",)),
    ],
)
def test_what_the_reference_keeps_in_float_is_added(reference, candidate, added):
    assert names(added_run_time_quantizers(graph(reference), graph(candidate))) == added


def test_a_product_that_was_split_is_not_added():
    both = graph(at(4, "up0", "up1")), graph(at(4, "up0"))
    # As if one product of packed weights had become two, which read parts of them.
    renamed = {
        name: replace(each, digest=f"part of {each.digest}")
        for name, each in both[0].constants.items()
    }
    split = replace(both[0], constants=renamed)
    assert names(added_run_time_quantizers(both[0], split)) == ()


def test_weights_in_packed_blocks_are_stored_and_not_quantized_by_a_run():
    noise = execution_noise(graph(at(4)), 7)
    assert (noise.quantizers, noise.run_time, noise.seed) == (False, True, 7)


def fully_connected(activation, stored):
    """A layer of a TFLite model with these types."""
    x, y = (TensorSpec(name=name, dtype=activation, shape=(1, 4)) for name in "xy")
    weight = Constant(name="w", dtype=stored, shape=(4, 4), digest="d", value_digest="v")
    layer = Node(
        name="layer", op="Gemm", native_op="FULLY_CONNECTED", inputs=("x", "w"), outputs=("y",)
    )
    return Graph(
        name="g", inputs=(x,), outputs=(y,), nodes=(layer,), tensors={"x": x, "y": y},
        constants={"w": weight}, framework="tflite",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("activation", "stored", "quantizes"),
    [
        ("float32", "int8", True),
        ("float32", "int4", True),
        ("float32", "float32", False),
        ("int8", "int8", False),
    ],
)
def test_a_float_activation_that_meets_stored_integers_is_quantized(activation, stored, quantizes):
    assert bool(run_time_quantizers(fully_connected(activation, stored))) == quantizes


def test_a_run_may_leave_out_other_roundings_that_a_graph_states():
    assert execution_noise(fully_connected("float32", "int8"), 7).quantizers
