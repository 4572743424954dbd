"""What a candidate does to a tensor that the reference uses as it is, in one node or in several."""

import numpy as np
import pytest

import isomorph
from weight_pairs import F32, floats, model, node

RANDOM = np.random.default_rng(5)
GIVEN = {"x": (3.0 * RANDOM.standard_normal((4, 8))).astype(F32)}
NORM = {
    "axes": np.array([-1], np.int64), "eps": F32(1e-5), "two": F32(2),
    "scale": RANDOM.standard_normal(8).astype(F32), "cap": F32(5), "half": F32(0.5),
}  # fmt: skip


def one_operator():
    """A normalization as a single node."""
    nodes = [node("LayerNormalization", "x scale", "n", axis=-1, epsilon=1e-5),
             node("Relu", "n", "y")]  # fmt: skip
    return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, 8)}, {"scale": NORM["scale"]})


def spelled_out(*inside, read="d"):
    """The same normalization in many nodes; ``inside`` are nodes between, which make ``read``."""
    nodes = [
        node("ReduceMean", "x axes", "mean"), node("Sub", "x mean", "d"), *inside,
        node("Pow", f"{read} two", "p"), node("ReduceMean", "p axes", "v"),
        node("Add", "v eps", "ve"), node("Sqrt", "ve", "root"), node("Div", f"{read} root", "q"),
        node("Mul", "q scale", "n"), node("Relu", "n", "y"),
    ]  # fmt: skip
    used = {name for each in nodes for name in each.input}
    constants = {name: value for name, value in NORM.items() if name in used}
    return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, 8)}, constants)


CAPPED = (
    node("Div", "d cap", "small"), node("Tanh", "small", "bent"), node("Mul", "bent cap", "c")
)  # fmt: skip


def first(reference, candidate):
    report = isomorph.check(reference, candidate, inputs=GIVEN, in_process=True)
    return report, report.findings[0]


@pytest.mark.parametrize(
    ("inside", "read", "culprit"),
    [(CAPPED, "c", "Tanh_bent"), ((node("Abs", "d", "c"),), "c", "Abs_c"),
     ((node("Erf", "d", "e"), node("Add", "d e", "c")), "c", "Add_c")],
    ids=["a cap of three nodes", "one node", "a node beside"],
)  # fmt: skip
def test_nodes_inside_a_spelled_out_operator_are_named(inside, read, culprit):
    report, finding = first(one_operator(), spelled_out(*inside, read=read))
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert (finding.node, finding.cause) == (culprit, "missing_op")
    assert finding.experiments[-1].agrees


def test_the_spelled_out_operator_itself_is_right():
    report, _ = first(one_operator(), spelled_out(*CAPPED, read="c"))
    assert report.verdict is isomorph.Verdict.DIVERGENT
    clean = isomorph.check(one_operator(), spelled_out(), inputs=GIVEN, in_process=True)
    assert clean.verdict is isomorph.Verdict.EQUIVALENT


def test_a_limit_with_another_number_is_no_added_node():
    """Both sides cut off; on these inputs only the candidate's limit is reached."""

    def cut(limit):
        nodes = [node("Sin", "x", "s"), node("Clip", "s low high", "c"), node("Exp", "c", "y")]
        return model(nodes, {"x": floats(4, 8)}, {"y": floats(4, 8)},
                     {"low": F32(-limit), "high": F32(limit)})  # fmt: skip

    report, finding = first(cut(2.0), cut(0.5))
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert finding.cause == "attribute"


def test_a_node_is_added_although_an_idle_one_is_its_counterpart():
    """The reference adds a past that is empty here, so that two of its tensors are equal."""

    def places(*, late):
        nodes = [node("Exp", "x", "counted"), node("Add", "counted past", "places")]
        nodes += [node("Add", "places one", "later")] if late else []
        nodes += [node("Sin", "later" if late else "places", "s"), node("Mul", "s x", "y")]
        constants = {"one": F32(1)} if late else {}
        inputs = {"x": floats(4, 8), "past": floats(1)}
        return model(nodes, inputs, {"y": floats(4, 8)}, constants)

    feeds = {**GIVEN, "past": np.zeros(1, F32)}
    report = isomorph.check(places(late=False), places(late=True), inputs=feeds, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert (report.findings[0].node, report.findings[0].cause) == ("Add_later", "missing_op")
