"""A constant that alone differs, behind data that each graph computes in its own way."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper

import isomorph
from weight_pairs import F32, floats, model, node, normal


def rooted(epsilon, *, product=False, after=1.0):
    """Rounded numbers over the root of their mean square; the mean is written in two ways."""
    nodes = [node("Sigmoid", "x", "o"), node("Add", "o one", "p"), node("Mul", "p p", "q")]
    if product:
        nodes += [node("MatMul", "q half", "m")]
    else:
        nodes += [node("ReduceMean", "q last", "m", keepdims=1)]
    nodes += [
        node("Add", "m eps", "v"), node("Sqrt", "v", "r"), node("Div", "p r", "n"),
        node("Mul", "n s", "t"), node("Round", "t", "w"), node("Add", "w zero", "y"),
    ]  # fmt: skip
    constants = {
        "eps": F32(epsilon), "one": F32(1.0), "s": F32(after), "zero": F32(0.0),
        "half": np.full((4, 1), 0.25, F32), "last": np.array([-1], np.int64),
    }  # fmt: skip
    used = {name for each in nodes for name in each.input}
    constants = {name: value for name, value in constants.items() if name in used}
    return model(nodes, {"x": floats(2, 4)}, {"y": floats(2, 4)}, constants)


def checked(reference, candidate):
    feeds = {"x": normal(2, 4, seed=3)}
    return isomorph.check(reference, candidate, inputs=feeds, in_process=True)


def differing(report):
    return [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]


@pytest.mark.parametrize("epsilon", [0.5e-5, 2e-5])
def test_a_constant_that_a_rounding_hides_counts_behind_a_rewritten_mean(epsilon):
    report = checked(rooted(1e-5), rooted(epsilon, product=True))
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert [each.evidence["constant"] for each in differing(report)] == ["eps"]
    assert differing(report)[0].effect == "latent"


def test_the_same_constant_behind_a_rewritten_mean_is_no_difference():
    report = checked(rooted(1e-5), rooted(1e-5, product=True))
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_a_constant_does_not_count_where_something_behind_it_differs_too():
    """The later scale may make up for the earlier constant."""
    report = checked(rooted(1e-5), rooted(2e-5, product=True, after=1.0 + 2e-6))
    assert "eps" not in {each.evidence["constant"] for each in differing(report)}


def test_the_ratio_of_a_dropout_is_no_difference():
    def dropped(ratio, product):
        graph = rooted(1e-5, product=product)
        last = graph.graph.node[-1]
        last.input[0] = "dropped"
        graph.graph.node.insert(len(graph.graph.node) - 1, node("Dropout", "w ratio", "dropped"))
        graph.graph.initializer.append(numpy_helper.from_array(np.asarray(ratio, F32), "ratio"))
        return graph

    report = checked(dropped(0.5, False), dropped(0.1, True))
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)
