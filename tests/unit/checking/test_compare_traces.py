"""Two traces without an oracle: equal to the last bit, within a stated budget, or unknown."""

from types import SimpleNamespace

import numpy as np

from isomorph.checking.compare_traces import compare_values, recording_of
from isomorph.checking.config import CheckConfig
from isomorph.core.divergence import Verdict
from isomorph.core.model import Graph, Model, Node, TensorSpec
from isomorph.core.report import ModelSummary
from isomorph.core.trace import Environment, Trace

Y = np.array([1.0, -2.0, 0.5], np.float32)


def trace(role, y=Y, a=Y, outputs=("y",), **more):
    def node(op, made):
        return Node(name=f"make_{made}", op=op, native_op=op, inputs=("x",), outputs=(made,))

    def specs(names):
        return tuple(TensorSpec(name=name, dtype="float32", shape=(3,)) for name in names)

    graph = Graph(
        name="g", inputs=specs("x"), outputs=specs(outputs),
        nodes=(node("Sin", "a"), node("Cos", "y")), tensors={}, constants={},
    )  # fmt: skip
    values = dict.fromkeys(outputs, y) | more
    record = SimpleNamespace(
        location=f"{role}.trace", digest="d", inputs={"x": Y}, untouched=values,
        run=Trace(environment=Environment(runtime="r"), tensors={"a": a, **values}),
        model=Model(framework="onnx", location="", digest="", graph=graph),
    )  # fmt: skip
    summary = ModelSummary(
        role=role, location="", framework="onnx", digest="", nodes=2, constants=0
    )
    return SimpleNamespace(
        record=record, model=record.model, role=role, handle=SimpleNamespace(summary=summary)
    )


def compared(candidate, reference=None, **options):
    return compare_values(reference or trace("reference"), candidate, CheckConfig(**options))


def codes(report):
    return [each.code for each in report.findings]


def test_values_that_are_equal_to_the_last_bit_are_equivalent():
    report = compared(trace("candidate"))
    assert (report.verdict, report.draws, codes(report)) == (Verdict.EQUIVALENT, 0, [])
    assert [each.what for each in report.skipped] == ["both float64 evaluations"]


def test_one_bit_leaves_it_unknown_and_the_first_tensor_that_differs_is_named():
    off = np.nextafter(Y, np.float32(9))
    report = compared(trace("candidate", y=off, a=off))
    assert report.verdict is Verdict.UNKNOWN
    assert codes(report) == ["UNJUDGED", "FIRST_DIFFERENCE"]
    assert report.findings[1].node == "make_a"
    behind = compared(trace("candidate", y=off))
    assert behind.findings[1].node == "make_y"


def test_a_stated_budget_decides():
    off = Y + np.float32(0.01)
    assert compared(trace("candidate", y=off), budgets={"": 0.1}).verdict is Verdict.EQUIVALENT
    assert compared(trace("candidate", y=off), budgets={"": 0.001}).verdict is Verdict.DIVERGENT


def test_nan_in_the_same_places_is_the_same_and_in_another_is_not():
    nan = np.array([np.nan, 1.0, 2.0], np.float32)
    moved = np.array([1.0, np.nan, 2.0], np.float32)
    same = compared(trace("candidate", y=nan), trace("reference", y=nan))
    assert same.verdict is Verdict.EQUIVALENT
    assert compared(trace("candidate", y=moved), trace("reference", y=nan)).verdict is not (
        Verdict.EQUIVALENT
    )


def test_another_type_or_shape_of_a_tensor_is_a_difference():
    for other in (Y.astype(np.float64), Y[:2]):
        report = compared(trace("candidate", y=np.nextafter(Y, np.float32(9)), a=other))
        assert report.findings[-1].node == "make_a"


def test_an_output_that_the_candidate_lacks_is_divergent():
    both = trace("reference", outputs=("y", "z"))
    report = compared(trace("candidate"), both)
    assert report.verdict is Verdict.DIVERGENT
    assert "OUTPUT_MISSING" in codes(report)


def test_the_recorded_outputs_are_those_of_the_untouched_run():
    made = trace("reference")
    made.record.untouched["y"] = Y + 1
    recording = recording_of(made)
    assert np.array_equal(recording.arrays["y"], Y + 1)
    assert (recording.location, recording.digest) == ("reference.trace", "d")
