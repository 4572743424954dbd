"""Outputs without a finite value: the node where numbers end, and a verdict that is unknown."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import isomorph
from isomorph.checking.never_finite import never_finite, shows_no_number, without_numbers
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.report import FindingEffect, ModelForm


@pytest.fixture
def pair(tmp_path):
    """A model with one output that is NaN wherever its input is not zero, and one that is not."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"], name="square"),
        helper.make_node("Neg", ["square"], ["negative"], name="negative"),
        helper.make_node("Sqrt", ["negative"], ["y"], name="root"),
        helper.make_node("Relu", ["x"], ["z"], name="bend"),
    ]
    specs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [1, 4]) for each in "xyz"]
    graph = helper.make_graph(nodes, "g", specs[:1], specs[1:])
    file = tmp_path / "nan.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
              file)  # fmt: skip
    return file, file


def test_the_node_where_numbers_end_is_named_with_one_command(pair):
    report = isomorph.check(*pair, in_process=True)
    assert report.verdict is Verdict.UNKNOWN
    (finding,) = report.findings
    assert (finding.code, finding.node) == ("NOT_FINITE_AS_MEANT", "root")
    assert finding.effect is FindingEffect.REACHES_OUTPUT
    assert finding.fix.endswith(f"isomorph check {pair[0]} {pair[1]} --inputs FILE.npz")
    judged = {each.reference_output: each.verdict for each in report.outputs}
    assert judged == {"y": Verdict.UNKNOWN, "z": Verdict.EQUIVALENT}
    assert [each.never_finite for each in report.coverage.outputs] == [True, False]


def test_one_input_that_shows_a_number_is_enough(pair):
    zero = {"x": np.zeros((1, 4), np.float32)}
    report = isomorph.check(*pair, inputs=zero, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert report.findings == ()


DIVERGENCE = Divergence(
    reference_output="y", candidate_output="y", dtype="float32", shape=(4,),
    verdict=Verdict.EQUIVALENT, reason="",
)  # fmt: skip
NEVER = Coverage(outputs=(OutputCoverage(output="y", not_compared=1, never_finite=True),))


def test_a_difference_stays_one():
    assert without_numbers(DIVERGENCE, NEVER).verdict is Verdict.UNKNOWN
    assert without_numbers(DIVERGENCE, Coverage()).verdict is Verdict.EQUIVALENT
    differs = Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(4,),
        verdict=Verdict.DIVERGENT, reason="",
    )  # fmt: skip
    assert without_numbers(differs, NEVER) is differs


def test_a_model_whose_tensors_cannot_be_read_has_the_output_named(monkeypatch):
    monkeypatch.setattr("isomorph.checking.never_finite.first_bad_tensors", lambda *_: iter(()))
    sides = [SimpleNamespace(location="<Net>", role=role, form=ModelForm.LIVE)
             for role in ("reference", "candidate")]  # fmt: skip
    log = SimpleNamespace(
        ledger=SimpleNamespace(coverage=NEVER),
        handles=[SimpleNamespace(summary=each) for each in sides],
    )
    (finding,) = never_finite(log, object(), 1e-6).findings
    assert (
        finding.summary == "output 'y' is NaN or infinite everywhere, in its float64 value as well"
    )
    assert "isomorph check REFERENCE CANDIDATE" in finding.fix
    assert never_finite(log, None, 1e-6).findings == ()
    assert not shows_no_number([DIVERGENCE])
