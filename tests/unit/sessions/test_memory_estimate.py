"""What declared shapes foretell."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, Model, Node, TensorSpec
from isomorph.sessions.memory_estimate import largest, readable, refuse_without_space


def spec(name, shape, dtype="float32"):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def model(*tensors):
    nodes = tuple(
        Node(name=f"makes_{each.name}", op="Neg", native_op="Neg", inputs=("x",),
             outputs=(each.name,))
        for each in tensors
    )  # fmt: skip
    given = spec("x", ("batch", 4))
    graph = Graph(
        name="g", inputs=(given,), outputs=tensors[-1:], nodes=nodes,
        tensors={each.name: each for each in (given, *tensors)}, constants={},
    )  # fmt: skip
    return Model(framework="onnx", location="m.onnx", digest="", graph=graph)


FEEDS = {"x": np.zeros((3, 4), np.float32)}


def test_named_axes_are_bound_by_what_is_fed():
    found = largest(model(spec("a", ("batch", 100)), spec("b", (2,))).graph, FEEDS)
    assert (found.tensor, found.node, found.bytes) == ("a", "makes_a", 3 * 100 * 4)


def test_unknown_sizes_count_as_little_as_they_can():
    found = largest(model(spec("a", (None, 8)), spec("b", None), spec("c", (1,))).graph, FEEDS)
    assert (found.tensor, found.bytes) == ("a", 32)


def test_sizes_do_not_overflow():
    found = largest(model(spec("a", (2**40, 2**40))).graph, FEEDS)
    assert found.bytes == 2**82
    assert readable(found.bytes).endswith("TiB")


def test_space_on_the_disk_is_checked_before_running():
    small, absurd = model(spec("a", (8,))), model(spec("a", (2**50,)))
    assert refuse_without_space(small, FEEDS, ["a"]) == 32
    with pytest.raises(RuntimeFailedError) as caught:
        refuse_without_space(absurd, FEEDS, ["a"])
    assert caught.value.code == "DISK_FULL"
    assert "4096.0 TiB" in caught.value.what
