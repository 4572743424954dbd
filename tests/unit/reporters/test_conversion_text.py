"""The text of a conversion."""

from dataclasses import replace

import pytest

from isomorph.core.conversion import Conversion, Hop, Route, Step, Trouble, Workaround
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.cpu import CpuScope
from isomorph.core.divergence import Verdict
from isomorph.core.report import Binding, InputSummary, ModelSummary, Report
from isomorph.reporters.conversion_text import lines

STEP = Step(converter="onnx_to_tflite", source="onnx", target="tflite")
SUMMARY = ModelSummary(
    role="reference", location="m.onnx", framework="onnx", digest="", nodes=3, constants=1
)
PAIR = (Binding(reference="x", candidate="args_0", how="position"),)

COVERED = Coverage(given=1, values=4, outputs=(OutputCoverage(output="y", within=1),))


def conversion(hop, **about):
    return Conversion(
        verdict=about.pop("verdict", Verdict.UNKNOWN),
        reason="because",
        source=SUMMARY,
        target="tflite",
        width="",
        chosen=(hop,),
        repeat="isomorph convert m.onnx m.tflite",
        **about,
    )


def test_the_log_line_of_a_crash_names_its_kind_and_place():
    log = 'begun\nFatal Python error: Segmentation fault\n\nCurrent thread 0x1:\n  File "a.py", '
    log += 'line 3 in f\n  File "b.py", line 4 in g\n\nExtension modules: numpy, and others'
    trouble = Trouble(code="RUNTIME_CRASHED", sentence="it died", log=log)
    text = lines(conversion(Hop(step=STEP, status="failed", seconds=3.0, trouble=trouble)))
    assert '  log     … Fatal Python error: Segmentation fault File "a.py", line 3 in f' in text


def test_a_failure_is_shown_with_its_message_and_what_was_tried():
    hop = Hop(
        step=STEP,
        status="failed",
        seconds=3.0,
        workarounds=(
            Workaround(name="fixed batch", description="the batch is 1", options={"batch": "1"}),
        ),
        trouble=Trouble(code="CONVERTER_FAILED", sentence="it failed", why="x" * 1000, log="a\nb"),
    )
    text = "\n".join(lines(conversion(hop)))
    assert text.startswith("NOT CONVERTED, unknown  because")
    assert "[CONVERTER_FAILED] it failed" in text
    assert "x" * 320 + "…" in text
    assert "log     … b" in text
    assert "fixed batch; none of them helped" in text
    assert "nothing was written" in text


def test_a_success_lists_what_was_not_kept_and_the_other_routes():
    hop = Hop(step=STEP, status="proven", seconds=3.0, lost=("gradients",), notes=("careful",))
    other = Route(steps=(replace(STEP, converter="other", missing="pip install other"),))
    text = list(
        lines(conversion(hop, verdict=Verdict.EQUIVALENT, output="m.tflite", alternatives=(other,)))
    )
    assert text[0] == "CONVERTED, equivalent  because"
    assert "not kept  gradients" in text
    assert "  note    careful" in text
    assert "or by     onnx → tflite (other) (not installed: pip install other)" in text
    assert text[-1] == "again     isomorph convert m.onnx m.tflite"


@pytest.mark.parametrize("scope", list(CpuScope))
def test_the_cpus_with_exact_products_of_bytes_are_listed(scope):
    hop = Hop(step=STEP, status="proven", seconds=3.0, cpus=scope)
    (holds,) = [line for line in lines(conversion(hop)) if line.startswith("  holds")]
    assert ("every CPU:" in holds) == (scope is CpuScope.EVERY)
    assert ("with VNNI" in holds) == (scope is CpuScope.EXACT_SUMS)


def test_a_way_that_failed_is_no_other_way():
    failed = Hop(step=replace(STEP, converter="other"), status="failed", seconds=1.0)
    proven = Hop(step=STEP, status="proven", seconds=3.0)
    others = (Route(steps=(failed.step,)), Route(steps=(replace(STEP, converter="third"),)))
    text = list(
        lines(
            conversion(
                proven,
                verdict=Verdict.EQUIVALENT,
                output="m.tflite",
                tried=(failed,),
                alternatives=others,
            )
        )
    )
    assert [line for line in text if line.startswith("or by")] == [
        "or by     onnx → tflite (third)"
    ]


def test_the_sizes_that_were_tried_are_listed():
    fed = tuple(
        InputSummary(name="x", dtype="float32", shape=shape, origin="generated", digest="")
        for shape in ((2, 64), (2, 64), (1, 64))
    )
    report = Report(
        verdict=Verdict.EQUIVALENT, reason="same", command="check", seed=0, draws=3,
        coverage=COVERED,
        false_alarm=1e-6, inputs=fed,
    )  # fmt: skip
    hop = Hop(step=STEP, status="proven", seconds=1.0, report=report)
    text = list(lines(conversion(hop, verdict=Verdict.EQUIVALENT, output="m.tflite")))
    assert "  sizes   x was tried at 2×64, 1×64" in text
