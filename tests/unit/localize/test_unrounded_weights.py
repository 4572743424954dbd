"""Float16 weights: what else differs is judged with the reference's numbers in their place."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

import isomorph
from weight_pairs import F32, floats, model, node, normal

WEIGHT, LAST = normal(48, 12, seed=1), normal(12, 6, seed=2)
BIAS = normal(12, seed=3)


def network(*, narrow=(), bias=BIAS, slope=0.1, scale=None):
    """Two layers; ``narrow`` weights are stored in float16 and cast."""
    constants = {"w": WEIGHT, "b": np.asarray(bias, F32), "v": LAST}
    nodes = []
    if scale is not None:
        constants["s"] = np.asarray(scale)
    for name in (*narrow, *(("s",) if scale is not None and scale.dtype != F32 else ())):
        constants[f"{name}16"] = constants.pop(name).astype(np.float16)
        nodes.append(node("Cast", f"{name}16", name, to=TensorProto.FLOAT))
    nodes += [
        node("MatMul", "x w", "a"),
        node("Add", "a b", "c"),
        node("LeakyRelu", "c", "d", alpha=slope),
        node("MatMul", "d v", "e"),
        node("Softmax", "e", "y", axis=-1),
    ]
    if scale is not None:
        nodes.insert(-1, node("Mul", "e s", "f"))
        nodes[-1] = node("Softmax", "f", "y", axis=-1)
    return model(nodes, {"x": floats(4, 48)}, {"y": floats(4, 6)}, constants)


def checked(candidate, reference=None):
    feeds = {"x": normal(4, 48, seed=9)}
    return isomorph.check(reference or network(), candidate, inputs=feeds, in_process=True)


def nudged(by):
    bias = BIAS.copy()
    bias[3] *= F32(1 + by)
    return bias


def test_rounded_weights_alone_are_a_loss():
    assert checked(network(narrow=("w", "v"))).verdict is isomorph.Verdict.DEGRADED


@pytest.mark.parametrize(
    ("wrong", "operator"),
    [({"bias": nudged(1e-4)}, "Add_c"), ({"slope": 0.1001}, "LeakyRelu_d")],
    ids=["bias", "slope"],
)
def test_what_the_loss_of_the_weights_hides_is_found_at_its_node(wrong, operator):
    """Each moves the outputs by less than float16 weights do."""
    report = checked(network(narrow=("w", "v"), **wrong))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    assert operator in {each.node for each in report.findings}


def test_single_numbers_have_their_origin_too():
    wide = network(scale=np.float32(0.3))
    report = checked(network(narrow=("w", "v"), scale=np.float16(0.3)), wide)
    assert report.verdict is isomorph.Verdict.DEGRADED
    report = checked(network(narrow=("w", "v"), scale=np.float16(0.3), slope=0.1001), wide)
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
