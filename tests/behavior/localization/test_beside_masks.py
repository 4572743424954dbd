"""What stands beside the numbers of a mask is seen, and measured by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isomorph.core.divergence import Verdict
from isomorph.core.report import Finding
from isomorph.core.stated_numbers import LAYER_NODES
from isomorph.localize.error_location import relative_error
from isomorph.localize.findings import suspect_large_group
from onnx_pairs import check, model, node

LOWEST = float(np.finfo(np.float32).min)


@pytest.mark.parametrize("mask", [-1e9, LOWEST])
def test_a_mask_is_no_size(mask):
    right = np.array([1.0, 2.0, -1.0, mask])
    wrong = right + np.array([0.1, 0.2, -0.1, 0.0])
    assert relative_error(wrong, right) == pytest.approx(0.1)


def test_a_fault_of_the_mask_itself_is_measured_by_it():
    assert relative_error(np.array([0.0, -1.0]), np.array([0.0, LOWEST])) == pytest.approx(1.0)


@given(arrays.arrays(np.float64, 6, elements=st.floats(0.5, 2)), st.floats(1e-3, 10))
def test_without_a_mask_it_is_the_share_of_the_rms(right, factor):
    assert relative_error(right * (1 + factor), right) == pytest.approx(factor, rel=1e-9)


def test_beside_zeros_it_is_the_difference():
    assert relative_error(np.full(3, 0.25), np.zeros(3)) == pytest.approx(0.25)


def masked(layers, pad):
    """Scores of several layers under one causal mask and one of padding."""
    rng = np.random.default_rng(7)
    causal = np.triu(np.full((6, 6), LOWEST, np.float32), 1)
    constants = {"one": np.float32(1), "pad": np.float32(pad), "causal": causal}
    nodes = [
        node("Sub", "one keep", "k"), node("Mul", "k pad", "p"), node("Add", "causal p", "m"),
        node("Tanh", "x", "h0"),
    ]  # fmt: skip
    for each in range(layers):
        constants[f"w{each}"] = rng.normal(size=(4, 4)).astype(np.float32)
        nodes += [
            node("MatMul", f"h{each} w{each}", f"q{each}"),
            node("Transpose", f"h{each}", f"t{each}", perm=[0, 2, 1]),
            node("MatMul", f"q{each} t{each}", f"s{each}"), node("Add", f"s{each} m", f"a{each}"),
            node("Softmax", f"a{each}", f"n{each}"),
            node("MatMul", f"n{each} h{each}", f"h{each + 1}"),
        ]  # fmt: skip
    return model(nodes, {"x": [2, 6, 4], "keep": [2, 1, 6]}, {f"h{layers}": None}, constants)


def test_a_mask_that_four_layers_share_is_named_once_and_alone(tmp_path):
    keep = (np.arange(6) < np.array([[6], [4]])).astype(np.float32)[:, None]
    x = np.random.default_rng(8).normal(size=(2, 6, 4)).astype(np.float32)
    report = check(tmp_path, masked(4, LOWEST), masked(4, -1.0), inputs={"x": x, "keep": keep})
    assert report.verdict is Verdict.DIVERGENT
    found = [each for each in report.findings if each.code == "GUILTY_NODE"]
    assert [(each.node, each.nodes) for each in found] == [("Mul_p", ("Mul_p",))]


def test_a_group_that_names_no_node_is_only_suspected():
    names = tuple(f"n{each}" for each in range(LAYER_NODES + 1))
    finding = Finding(
        rank=0, code="GUILTY_NODE", cause="weight", status="confirmed", effect="reaches_output",
        summary="node 'n12' is off", node="n12", nodes=names, fix="set a weight",
    )  # fmt: skip
    suspected = suspect_large_group(finding)
    assert (suspected.status, suspected.cause, suspected.fix) == ("suspected", None, None)
    assert suspected.summary.startswith("somewhere in the 13 nodes up to 'n12'")
    assert (
        suspect_large_group(Finding(**{**_fields(finding), "nodes": names[:3]})).status
        == "confirmed"
    )


def _fields(finding):
    kept = ("rank", "code", "cause", "status", "effect", "summary", "node", "nodes", "fix")
    return {name: getattr(finding, name) for name in kept}
