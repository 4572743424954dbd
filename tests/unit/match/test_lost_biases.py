"""Biases that hold zeros alone, and what else may hold their numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Node
from isomorph.match.lost_biases import lost_biases
from isomorph.match.stored_weights import StoredWeight, WeightReader

BIAS = np.array([0.3, -0.2, 0.1])


def node(name, op="Conv"):
    return Node(name=name, op=op, native_op=op, inputs=("x",), outputs=(f"{name}_out",))


def side(readers=None, **values):
    """Weights of one convolution, or what is read by the nodes that are stated."""
    stored, nodes = {}, {"conv": node("conv"), "add": node("add", "Add"), "next": node("next")}
    for order, (name, value) in enumerate(values.items()):
        reader = nodes[(readers or {}).get(name, "conv")]
        stored[name] = StoredWeight(
            name=name, dtype="float32", shape=value.shape, digest=name, value_digest=name,
            readers=(WeightReader(node=reader, slot=order + 1),), order=order,
        )  # fmt: skip
    topology = SimpleNamespace(readers={"conv_out": [nodes["add"]]})
    return SimpleNamespace(
        stored=stored, real=lambda weight: values[weight.name], topology=topology
    )


KERNEL = np.ones((3, 2))
EXPLAINED = {"k": ("w",)}


@pytest.mark.parametrize(
    ("reference", "candidate", "certain"),
    [
        (side(w=KERNEL, b=BIAS), side(k=KERNEL, z=0 * BIAS), [True]),
        (side({"b": "add"}, w=KERNEL, b=BIAS), side(k=KERNEL, z=0 * BIAS), [True]),
        (side(w=KERNEL, b=BIAS), side({"o": "next"}, k=KERNEL, z=0 * BIAS, o=BIAS + 1), [False]),
        (side(w=KERNEL, b=0 * BIAS), side(k=KERNEL, z=0 * BIAS), []),
        (side({"b": "next"}, w=KERNEL, b=BIAS), side(k=KERNEL, z=0 * BIAS), []),
        (side(w=KERNEL, b=BIAS), side(k=KERNEL, z=2 * BIAS), []),
    ],
    ids=["in the layer", "added behind it", "another weight has no origin", "zeros there as well",
         "of another layer", "other numbers"],
)  # fmt: skip
def test_a_bias_of_zeros_is_compared_with_that_of_its_kernel(reference, candidate, certain):
    found = list(lost_biases(reference, candidate, EXPLAINED, ()))
    assert [each.certain for each in found] == certain
    for each in found:
        assert (each.weight.name, each.reference) == ("z", ("b",))
        np.testing.assert_array_equal(each.expected, BIAS)
