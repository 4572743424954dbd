from dataclasses import replace

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, Quantization
from isomorph.localize.unrelated_models import unrelated

RNG = np.random.default_rng(11)


def network(*weights, quantized=()):
    """One product after the other; each weight is an array."""
    stored = {f"w{place}": weight for place, weight in enumerate(weights)}
    return Graph(
        name="g", inputs=(), outputs=(), tensors={},
        nodes=tuple(
            Node(name=f"dense{place}", op="Gemm", native_op="Gemm",
                 inputs=(f"t{place}", f"w{place}"), outputs=(f"t{place + 1}",))
            for place in range(len(weights))
        ),
        constants={name: constant_of(name, value) for name, value in stored.items()},
        quantization=tuple(
            Quantization(tensor=name, dtype="int8", scale=(0.1,), zero_point=(0,))
            for name in quantized
        ),
    )  # fmt: skip


def draw(*shape):
    return RNG.normal(size=shape).astype(np.float32)


NARROW = [draw(96, 32), draw(32, 32), draw(32, 8)]


def test_other_widths_throughout_are_another_network():
    found = unrelated(network(*NARROW), network(draw(96, 64), draw(64, 64), draw(64, 8)))
    assert found.code == "DIFFERENT_NETWORKS"
    assert "size 32, the other has size 64" in found.summary
    assert found.evidence["reference"][0] == "Gemm 'dense0': 96×32"
    assert found.effect == "reaches_output"


def changed(place, weight):
    return [weight if each == place else value for each, value in enumerate(NARROW)]


@pytest.mark.parametrize(
    "candidate",
    [
        NARROW,
        [each.T for each in NARROW],
        changed(0, draw(96, 32)),
        changed(1, draw(32, 48)),
        [draw(*each.shape) for each in NARROW],
        [each.astype(np.float16) for each in NARROW],
        [draw(96, 16), draw(96, 16), draw(32, 32), draw(32, 8)],
        [draw(96, 31), draw(96, 1), draw(32, 32), draw(32, 1), draw(1, 32, 7)],
        [],
    ],
    ids=["same", "transposed", "one replaced", "one of another size", "trained anew", "rounded",
         "split", "split into columns", "none"],
)  # fmt: skip
def test_one_network_with_faults_is_none(candidate):
    assert unrelated(network(*NARROW), network(*candidate)) is None


def test_a_table_that_is_added_makes_no_other_network():
    weight, table = draw(8, 6), draw(3, 64)
    split = network(weight[:, :5].copy(), weight[:, 5:].copy(), table)
    added = replace(split.nodes[2], op="Add", native_op="Add")
    assert unrelated(network(weight), replace(split, nodes=(*split.nodes[:2], added))) is None
    assert unrelated(network(weight), split) is not None, "a third product of another size"


def test_integers_count_where_they_stand_for_weights():
    stored = [RNG.integers(-9, 9, size=(64, 64)).astype(np.int8)]
    assert unrelated(network(draw(32, 32)), network(*stored)) is None, "no weight, by its word"
    assert unrelated(network(draw(32, 32)), network(*stored, quantized=["w0"])) is not None


def test_channels_that_were_filled_up_to_blocks_are_no_other_width():
    filled = network(draw(96, 48), draw(48, 48), draw(48, 16))
    assert unrelated(network(*NARROW), filled) is not None
    nodes = [replace(each, native_op="com.microsoft.nchwc::Conv") for each in filled.nodes]
    blocked = replace(filled, framework="onnx", nodes=tuple(nodes))
    assert unrelated(network(*NARROW), blocked) is None
