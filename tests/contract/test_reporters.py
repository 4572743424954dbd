"""What every reporter must do, whoever wrote it."""

from dataclasses import replace

import pytest

from isomorph import registry
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.core.model import Source
from isomorph.core.profile import ErrorProfile, GraphProfile
from isomorph.core.report import Experiment, Finding, ModelSummary, Report

HOSTILE = "</script>`|\x00\x1b[31m\n::error::{{7*7}}\u202e%s${x}\ud800" + "long" * 200
DISTANCE = Distance(
    elements=4, compared=3, differing=2, nonfinite_mismatch=1, signed_zero_mismatch=0,
    max_abs=float("inf"), max_rel=None, max_ulp=None, rms=None, relative_l2=float("nan"),
    sqnr_db=None, cosine=None, argmax_agreement=None, worst_index=None,
)  # fmt: skip
PART = ErrorTerm(distance=DISTANCE, budget=Budget(derivation="words", ratio=float("inf")))

COVERED = Coverage(given=1, values=4, outputs=(OutputCoverage(output="y", within=1),))


def _report(verdict):
    finding = Finding(
        rank=1, code="GUILTY_NODE", cause="attribute", status="confirmed",
        effect="reaches_output", summary=HOSTILE, node=HOSTILE, tensors=(HOSTILE,),
        source=Source(file=HOSTILE, line=3, text=HOSTILE), local_error=float("inf"), share=None,
        experiments=(Experiment(question="q", change="c", predicts="p", seen="s", agrees=False),),
        fix=HOSTILE, evidence={"attributes": [[HOSTILE, 1, float("nan")]]},
    )  # fmt: skip
    side = GraphProfile(
        role="candidate", nodes=(HOSTILE, "b"), ops=("Conv", HOSTILE), tensors=(HOSTILE, ""),
        sources=((), (0,)), execution=(float("nan"), None), budget=(None, None),
        counterpart=(0, None), translation=(float("inf"), None), local=(0.0, None),
    )  # fmt: skip
    output = Divergence(
        reference_output=HOSTILE, candidate_output=None, dtype="float32", shape=(),
        verdict=verdict, reason=HOSTILE, observed=PART, translation=PART,
    )  # fmt: skip
    model = ModelSummary(
        role="candidate", location=HOSTILE, framework="onnx", digest="0", nodes=1, constants=0
    )
    return Report(
        verdict=verdict, reason=HOSTILE, command="check", seed=0, draws=10, false_alarm=1e-6,
        coverage=COVERED,
        models=(model,), outputs=(output,), findings=(finding,) * 3,
        profile=ErrorProfile(origin=HOSTILE, graphs=(side,)),
    )  # fmt: skip


REPORTERS = [registry.reporter(name) for name in registry.names("reporters")]


@pytest.fixture(params=REPORTERS, ids=lambda reporter: reporter.name)
def reporter(request):
    return request.param


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_and_every_name_is_rendered(reporter, verdict):
    text = reporter.render(_report(verdict))
    assert text.strip()
    # Neither colors the terminal nor turns its text around.
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")


def test_equal_reports_are_equal_texts(reporter):
    report = _report(Verdict.DIVERGENT)
    assert reporter.render(report) == reporter.render(replace(report))


def test_a_report_with_hardly_anything_in_it_is_rendered(reporter):
    report = Report(
        verdict=Verdict.UNKNOWN, reason="crashed", command="check", seed=0, draws=0,
        false_alarm=0.5, profile=_report(Verdict.UNKNOWN).profile,
    )  # fmt: skip
    assert reporter.render(report).strip()


def test_the_reporters_were_found():
    names = {reporter.name for reporter in REPORTERS}
    assert {"terminal", "json", "html", "junit", "sarif", "github", "markdown"} <= names
