"""The finding that names nodes whose kernels quantize activations on one side alone."""

import pytest

from isomorph import registry
from isomorph.checking.run_time_loss import run_time_loss, run_time_loss_alone
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.report import FindingEffect
from packed_decoder import NAMES, at, network


def graph(levels):
    return registry.framework("onnx").load(network(levels), {}).graph


def judged(verdict):
    return Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(1,), verdict=verdict,
        reason="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "effect"),
    [
        (Verdict.EQUIVALENT, FindingEffect.NONE),
        (Verdict.DEGRADED, FindingEffect.REACHES_OUTPUT),
    ],
)
def test_the_candidate_is_named_with_its_attribute(verdict, effect):
    outcome = run_time_loss(graph(at(0)), graph(at(4, "up1")), [judged(verdict)])
    (found,) = outcome.findings
    assert (found.node, found.nodes, found.cause) == ("up1", ("up1",), "precision")
    assert found.effect is effect
    assert "accuracy_level is 4" in found.summary
    assert "accuracy_level to 0" in str(found.fix)


def test_the_reference_is_named_without_a_fix():
    (found,) = run_time_loss(graph(at(4)), graph(at(0)), [judged(Verdict.EQUIVALENT)]).findings
    assert (found.node, found.reference_nodes, found.fix) == (None, NAMES, None)
    assert found.effect is FindingEffect.NONE


@pytest.mark.parametrize("level", [0, 4])
def test_equal_models_have_no_such_node(level):
    both = graph(at(level)), graph(at(level))
    assert not run_time_loss(*both, [judged(Verdict.EQUIVALENT)]).findings


def test_one_model_alone():
    (found,) = run_time_loss_alone(graph(at(4, "up1", "head"))).findings
    assert found.nodes == ("up1", "head")
    assert not run_time_loss_alone(graph(at(0))).findings
