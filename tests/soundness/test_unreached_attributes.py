"""An attribute that no given input shows is found, and one without effect is no finding."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from unreached import F32, model, node
from unreached_attributes import MAKERS, pair

ONLY_GIVEN = isomorph.CheckOptions(only_given=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("maker", MAKERS)
def test_only_an_attribute_with_an_effect_makes_another_function(maker, seed):
    made = pair(maker, seed)
    report = isomorph.check(made.reference, made.candidate, inputs=made.inputs, in_process=True)
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not made.same, report.reason
    assert report.verdict is not isomorph.Verdict.UNKNOWN, report.reason


@pytest.mark.parametrize("maker", MAKERS)
def test_the_given_inputs_alone_show_none_of_them(maker):
    made = pair(maker, 1)
    report = isomorph.check(
        made.reference, made.candidate, inputs=made.inputs, in_process=True, options=ONLY_GIVEN
    )
    assert report.verdict in {isomorph.Verdict.EQUIVALENT, isomorph.Verdict.DEGRADED}


@pytest.mark.parametrize(("kept", "verdict"), [(1.0, "degraded"), (0.0, "divergent")])
def test_an_epsilon_that_is_part_of_the_variance_is_none_that_is_lost(kept, verdict):
    """Eight bits hide both; only the constant beside the epsilon tells them apart."""
    random = np.random.default_rng(4)
    names = ("s", "b", "m")
    weights = {name: np.abs(random.normal(size=3)).astype(np.float32) for name in names}
    variance = np.array([0.6, 0.9, 1.3], np.float32)
    reads = {"x": (F32, (2, 3, 4))}, {"y": (F32, (2, 3, 4))}
    grid = {"step": np.float32(0.03), "zero": np.uint8(128)}
    quantizers = [
        node("QuantizeLinear", "x step zero", "q"),
        node("DequantizeLinear", "q step zero", "r"),
    ]
    reference = model(
        [node("BatchNormalization", "x s b m v", "y", epsilon=1e-3)],
        *reads, {**weights, "v": variance},
    )  # fmt: skip
    candidate = model(
        [
            *quantizers,
            node("BatchNormalization", "r s b m v", "n", epsilon=0.0),
            node("QuantizeLinear", "n step zero", "p"),
            node("DequantizeLinear", "p step zero", "y"),
        ],
        *reads, {**weights, **grid, "v": variance + np.float32(1e-3 * kept)},
    )  # fmt: skip
    given = {"x": random.normal(size=(2, 3, 4)).astype(np.float32)}
    assert isomorph.check(reference, candidate, inputs=given, in_process=True).verdict == verdict


_STATISTICS = ("s", "b", "m", "v")


def _normalized(epsilon, of, into):
    reads = " ".join([of, *_STATISTICS])
    return node("BatchNormalization", reads, into, epsilon=epsilon)


def _in_branch(normalization, statistics):
    """The node in a branch that holds its statistics; the other branch is never taken."""
    other = node("Tanh", normalization.input[0], "e")
    branches = [
        helper.make_graph(
            [each], name, [],
            [helper.make_tensor_value_info(each.output[0], TensorProto.FLOAT, [2, 3, 4])],
            [numpy_helper.from_array(value, key) for key, value in stored.items()],
        )
        for each, name, stored in ((normalization, "then", statistics), (other, "else", {}))
    ]  # fmt: skip
    return [
        node("ReduceSum", "x", "sum", keepdims=0),
        node("Greater", "sum least", "always"),
        helper.make_node(
            "If", ["always"], ["y"], "choose", then_branch=branches[0], else_branch=branches[1]
        ),
    ]


def _folded_epsilon(seed, kept, *, branch):
    """A normalization in float32, and on a grid of eight bits with its epsilon in the variance."""
    random = np.random.default_rng(seed)
    statistics = {name: np.abs(random.normal(size=3)).astype(np.float32) for name in "sbm"}
    variance = random.uniform(0.3, 1.5, size=3).astype(np.float32)
    reads = {"x": (F32, (2, 3, 4))}, {"y": (F32, (2, 3, 4))}
    limits = {"least": np.float32(-1e9)} if branch else {}
    grid = {"step": np.float32(0.03), "zero": np.uint8(128)}
    quantizers = [
        node("QuantizeLinear", "x step zero", "q"),
        node("DequantizeLinear", "q step zero", "r"),
    ]
    sides = []
    for first, epsilon, stored in (
        ([], 1e-2, {**statistics, "v": variance}),
        (quantizers, 0.0, {**statistics, "v": variance + np.float32(1e-2 * kept)}),
    ):
        made = _normalized(epsilon, "r" if first else "x", "t" if branch else "y")
        nodes = [*first, *(_in_branch(made, stored) if branch else [made])]
        held = {**limits, **({} if branch else stored), **(grid if first else {})}
        sides.append(model(nodes, *reads, held))
    return sides, {"x": random.normal(size=(2, 3, 4)).astype(np.float32)}


@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("seed", range(1, 4))
def test_data_that_a_quantizer_was_not_calibrated_for_is_no_finding(seed, branch):
    """Larger data saturates, smaller data is coarse: neither error is the variance's."""
    (reference, candidate), given = _folded_epsilon(seed, 1.0, branch=branch)
    report = isomorph.check(reference, candidate, inputs=given, in_process=True)
    assert report.verdict == "degraded", report.reason


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_lost_epsilon_before_a_quantizer_is_found(seed):
    (reference, candidate), given = _folded_epsilon(seed, 0.0, branch=False)
    report = isomorph.check(reference, candidate, inputs=given, in_process=True)
    assert report.verdict == "divergent"
    assert [each.cause for each in report.findings] == ["attribute"]
