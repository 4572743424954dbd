import re
from dataclasses import replace

import pytest

from isomorph.core.coverage import Coverage, InputKind, OutputCoverage
from isomorph.core.divergence import Verdict
from isomorph.core.report import ModelForm, Skipped
from isomorph.core.trace import Environment
from isomorph.core.verbosity import Verbosity
from isomorph.reporters._figures import closeness, number, times
from isomorph.reporters.terminal import TerminalReporter

VERBOSE = TerminalReporter(Verbosity.VERBOSE)

GREEN = re.compile(r"\x1b\[[0-9;]*32m")


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


def test_the_first_line_is_the_answer(report, wide):
    first = TerminalReporter().render(report).splitlines()[0]
    assert first.startswith("DIVERGENT  logits: translation error is beyond")


def test_a_verdict_that_fails_only_strictly_is_marked(report, wide):
    hidden = replace(report.findings[0], effect="below_rounding")
    strict = replace(report, verdict=Verdict.EQUIVALENT, strict=True, findings=(hidden,))
    assert (
        TerminalReporter()
        .render(strict)
        .startswith("EQUIVALENT on 1 given input, but not strictly  ")
    )
    plain = TerminalReporter().render(replace(strict, strict=False))
    assert plain.startswith("EQUIVALENT on 1 given input  ")


def test_everything_a_reader_needs_is_there(report, wide):
    text = VERBOSE.render(report)
    for expected in (
        "net.pt2", "net.onnx", "onnxruntime 1.31.1", "float32[2, 10]", "3.20e-05", "36×", "0.21×",
        "TRANSLATION", "norm_3", "blocks.3.norm", "net.py:41", "set epsilon of norm_3 to 1e-5",
        "bodies of If", "input 'x' is named 'input.1'", "logits / output_0", "seed 7", "10 draws",
        "trusted: net.py:build", "the suffix says .onnx", "cosine 1−2.0e-07",
        "alignment  aligned 1 of 1 tensors and 1 of 2 constants, 1 without a counterpart; 1 group",
        "3 of 8 elements, at the border", "isomorph fix net.pt2 net.onnx ",
        "-o page.html", "0 of 1 outputs proven, 1 open",
        "operator TopK at top is not defined for proofs: a tie",
        "1 of 1 nodes of the reference are proven",
    ):  # fmt: skip
        assert expected in text
    assert len(text.splitlines()) <= 47


@pytest.mark.parametrize("columns", [60, 88, 100])
def test_no_line_is_wider_than_the_terminal(report, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = TerminalReporter().render(report)
    assert max(map(len, text.splitlines())) <= columns
    assert "36×" in text
    assert "logits" in text


def test_plain_text_has_no_escape_and_styled_text_is_equal_otherwise(report, wide):
    plain, styled = TerminalReporter().render(report), TerminalReporter().render_styled(report)
    assert "\x1b" not in plain
    assert "\x1b[" in styled
    bare = re.sub(r"\x1b\[[0-9;]*m", "", styled)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


def test_what_is_not_known_is_never_green(report, divergence, part, wide):
    unknown = replace(
        divergence,
        verdict=Verdict.UNKNOWN,
        translation=part(1e-7, None),
        rounding=None,
        intended_loss=None,
        execution_reference=None,
        execution_candidate=part(1e-7, None),
    )
    text = VERBOSE.render_styled(replace(report, verdict=Verdict.UNKNOWN, outputs=(unknown,)))
    assert "allowance not judged" in text
    assert "budget not judged" in text
    assert "not measured: reference run" in re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not GREEN.search(text)


def test_a_budget_of_float64_alone_is_not_called_an_allowance(report, divergence, part, wide):
    judged = part(1e-3, 36.0)
    only = replace(judged, budget=replace(judged.budget, float64_rounding=True))
    text = VERBOSE.render(replace(report, outputs=(replace(divergence, translation=only),)))
    assert "36× float64 rounding" in text
    assert "allowance" not in text.split("observed", 1)[1].split("\n1.", 1)[0]


def test_green_exists_so_that_its_absence_means_something(report, divergence, part, wide):
    good = replace(divergence, verdict=Verdict.EQUIVALENT, translation=part(1e-9, 0.1))
    text = VERBOSE.render_styled(replace(report, verdict=Verdict.EQUIVALENT, outputs=(good,)))
    assert GREEN.search(text)


def test_names_are_data(report, divergence, wide):
    hostile = "[red]a\x1b[2J\u202eb\r"
    text = TerminalReporter().render(
        replace(
            report,
            reason=f"in {hostile}",
            outputs=(replace(divergence, reference_output=hostile),),
            findings=(replace(report.findings[0], node=hostile, summary=hostile),),
        )
    )
    assert "[red]a\\x1b[2J\\u202eb\\r" in text
    assert not set("\x1b\u202e\r") & set(text)


def test_misplaced_nan_stands_beside_the_number(report, divergence, part, wide):
    odd = replace(divergence, translation=part(1e-6, float("inf"), nonfinite_mismatch=3))
    text = VERBOSE.render(replace(report, outputs=(odd,)))
    assert "1.00e-06, 3 NaN/Inf" in text
    assert "none is allowed" in text


def test_whole_numbers_are_counted(report, divergence, part, wide):
    off = part(2.0, float("inf"), max_rel=None, cosine=None, differing=1, elements=4)
    odd = replace(divergence, dtype="int64", translation=off, rounding=off, observed=off)
    text = VERBOSE.render(replace(report, outputs=(odd,)))
    assert "1 of 4 differ" in text
    assert text.count("none is allowed") == 1, "both yardsticks have the same text"


def test_a_model_alone_has_no_columns_for_another_side(report, divergence, wide):
    text = TerminalReporter().render(replace(report, models=report.models[1:]))
    assert "candidate run" in text
    assert "reference run" not in text
    assert "translation  " not in text


def test_generated_inputs_share_one_entry(report, wide):
    (one,) = report.inputs[:1]
    words = ("normal, seed 7", "normal, seed 7, batch=1", "uniform, seed 7")
    made = tuple(
        replace(one, origin=f"generated: {each}", kind=InputKind.GENERATED) for each in words
    )
    text = TerminalReporter().render(replace(report, inputs=made))
    assert "inputs generated: normal, uniform, batch=1 · seed 7" in " ".join(text.split())


def test_only_unusual_settings_of_a_runtime_are_shown(report, wide):
    run = Environment(
        runtime="onnxruntime", version="1", device="cpu", precision="as declared",
        settings={"optimization": "all", "deterministic": "no", "device": "cpu"},
    )  # fmt: skip
    plain = replace(run, settings={**run.settings, "optimization": "none"})
    seen = {"candidate run": run, "candidate plain": plain}
    text = VERBOSE.render(replace(report, environments=seen))
    assert "  run      onnxruntime 1, cpu, as declared, optimization=all\n" in text
    assert "  plain    as run, but optimization=none\n" in text


def test_a_trace_is_not_offered_for_repair(report, wide):
    traced = replace(report.models[0], form=ModelForm.TRACE)
    text = TerminalReporter().render(replace(report, models=(traced, *report.models[1:])))
    assert "isomorph fix" not in text


def test_many_outputs_still_fit_a_screen_and_the_worst_come_first(report, divergence, wide):
    fine = replace(divergence, verdict=Verdict.EQUIVALENT)
    many = (*(replace(fine, reference_output=f"fine{i}") for i in range(30)), divergence)
    bare = replace(report, outputs=many, quantization=(), test_set=None, proof=None)
    text = TerminalReporter().render(bare)
    assert len(text.splitlines()) <= 53
    assert text.index("logits / output_0") < text.index("fine0")
    assert "… and 25 more outputs: 25 equivalent" in text


def test_of_many_outputs_that_lose_alike_the_weakest_come_first(report, divergence, wide):
    def lossy(place):
        loss = replace(divergence.observed, budget=replace(divergence.observed.budget, ratio=place))
        return replace(
            divergence, verdict=Verdict.DEGRADED, reference_output=f"lossy{place}",
            intended_loss=loss,
        )  # fmt: skip

    many = tuple(lossy(place) for place in range(9))
    text = TerminalReporter().render(replace(report, outputs=many))
    assert text.index("lossy8") < text.index("lossy7") < text.index("lossy3")
    assert "lossy2" not in text


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(0.0, "0.00×"), (0.001, "<0.01×"), (0.213, "0.21×"), (36.4, "36×"),
     (123456.0, "1.2e+05×"), (2.3e38, ">1e+12×"), (float("inf"), ">1e+12×")],
)  # fmt: skip
def test_ratios(ratio, expected):
    assert times(ratio) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "n/a"), (0.0, "0"), (1.234e-5, "1.23e-05"), (float("nan"), "nan")],
)
def test_numbers(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(
    ("cosine", "expected"), [(None, "n/a"), (1.0, "1"), (1 - 2e-7, "1−2.0e-07"), (-0.5, "-0.5000")]
)
def test_cosines(cosine, expected):
    assert closeness(cosine) == expected


def _drawn(monkeypatch, report, width):
    monkeypatch.setenv("COLUMNS", str(width))
    return VERBOSE.render(report)


@pytest.mark.parametrize("width", [60, 120])
def test_the_worst_ten_quantized_tensors_are_shown(report, quantized, monkeypatch, width):
    rows = tuple(replace(quantized, tensor=f"t{place}", gain=None) for place in range(12))
    text = _drawn(monkeypatch, replace(report, quantization=rows), width)
    assert "t9" in text
    assert "t10" not in text
    assert "… and 2 more quantized tensors" in text
    line = next(line for line in text.splitlines() if line.startswith("t0"))
    for figure in ("25%", "90%", "12.5 dB (exact)", " 3"):
        assert figure in line
    assert ("-2.5 … 1" in line) == (width == 120)
    assert "reader has another axis; scale, zero point changed" in " ".join(text.split()) or (
        width == 60
    )


def test_what_was_not_measured_is_left_blank(report, quantized, monkeypatch):
    bare = replace(
        quantized, seen=None, clipped=None, used=None, sqnr_db=None, ideal_sqnr_db=None,
        local_quanta=None, gain=None, counterpart=None, changed=(), misread=(),
    )  # fmt: skip
    text = _drawn(monkeypatch, replace(report, quantization=(bare,)), 120)
    line = next(line for line in text.splitlines() if line.startswith("conv_q"))
    assert line.split() == ["conv_q", "uint8", "×8", "-1.28", "…", "1.27"], text
    assert "parameters" not in text


@pytest.mark.parametrize(("gain", "expected"), [(0.381, "-38%"), (-0.05, "+5%")])
def test_what_a_tensor_in_float_would_change_has_a_column(
    report, quantized, monkeypatch, gain, expected
):
    rows = replace(quantized, gain=gain), replace(quantized, tensor="other", gain=None)
    text = _drawn(monkeypatch, replace(report, quantization=rows), 160)
    tried, untried = (
        next(t for t in text.splitlines() if t.startswith(n)) for n in ("conv_q", "other")
    )
    assert "in float" in text
    assert expected in tried
    assert expected not in untried
    assert "in float" not in _drawn(monkeypatch, replace(report, quantization=rows[1:]), 160)


def test_a_test_set_takes_a_few_lines(report, monkeypatch):
    text = " ".join(_drawn(monkeypatch, report, 200).split())
    for fact in (
        "test set samples: 500 samples", "1.00e-07 (median), 2.00e-03 (99%)",
        "worst s17.npz: inf, 36× its budget", "agrees in 97.80%", "NaN/Inf in 2 samples",
        "on one side only in 1", "another shape in 3 samples",
        "axis 1, 8 steps as in tokens: 1.00e-07 at the first, 3.00e-05 at the last",
        "9.00e-04 at step 4",
        "metric scores:top1: reference 0.91, candidate 0.87",
    ):  # fmt: skip
        assert fact in text, fact


def test_no_test_set_and_no_quantization_take_no_line(report, monkeypatch):
    text = _drawn(monkeypatch, replace(report, quantization=(), test_set=None), 120)
    assert "quantized" not in text
    assert "test set" not in text


def test_a_long_name_of_a_tensor_takes_one_line(report, quantized, monkeypatch):
    row = replace(
        quantized, tensor="block/" * 30 + "relu", counterpart=None, changed=(), misread=()
    )
    for width in (60, 100, 160):
        text = _drawn(monkeypatch, replace(report, quantization=(row,)), width)
        line = next(line for line in text.splitlines() if "…" in line and "k/relu" in line)
        assert line.startswith("block/")
        assert "25%" in line


def test_findings_that_are_but_a_sentence_share_a_paragraph(report, monkeypatch):
    first = replace(report.findings[0], fix=None)
    bare = replace(
        first, rank=2, code="TRANSLATION", cause=None, node=None, source=None, experiments=()
    )
    other = replace(bare, rank=3, summary="output 'b': differs, too")
    text = _drawn(monkeypatch, replace(report, findings=(first, bare, other)), 200)
    line = next(line for line in text.splitlines() if line.startswith("2–3. "))
    assert "TRANSLATION" in line
    assert "output 'b': differs, too" in line
    assert "isomorph fix" not in text, "nothing is known that would repair it"


def test_one_obstacle_is_shown_once(report, monkeypatch):
    met = tuple(Skipped(what=what, why="it died") for what in ("one", "two", "one"))
    text = _drawn(monkeypatch, replace(report, skipped=met), 120)
    assert "skipped    one; two: it died" in text


def test_what_was_not_compared_is_shown_with_its_reason(report, wide):
    owed = OutputCoverage(
        output="mask", within=1, not_compared=2, reasons=("it has no counterpart",)
    )
    blind = replace(report, verdict=Verdict.UNKNOWN, coverage=Coverage(given=1, outputs=(owed,)))
    text = TerminalReporter().render(blind)
    assert "output 'mask' on 2 of 3 inputs: it has no counterpart" in text
    assert "mask" not in TerminalReporter().render(report)


def test_quiet_is_the_verdict_alone(report, wide):
    text = TerminalReporter(Verbosity.QUIET).render(report)
    assert len(text.splitlines()) == 1
    assert text.startswith("DIVERGENT  ")


def test_models_that_agree_take_one_line(report, divergence, wide):
    fine = replace(
        report, verdict=Verdict.EQUIVALENT, reason="the same", proof=None, test_set=None,
        decoding=None, baseline=None, findings=(),
        outputs=(replace(divergence, verdict=Verdict.EQUIVALENT),),
    )  # fmt: skip
    assert TerminalReporter().render(fine) == "EQUIVALENT on 1 given input  the same\n"
    assert "onnxruntime 1.31.1" in VERBOSE.render(fine)


def test_the_cause_comes_first_then_the_fix_the_numbers_and_the_environment(report, wide):
    text = TerminalReporter().render(report)
    order = [
        text.index(part)
        for part in (
            "DIVERGENT",
            "1. ",
            "  fix ",
            "  repair ",
            "float32[2, 10]",
            "onnxruntime 1.31.1",
        )
    ]
    assert order == sorted(order)


def test_the_lead_says_which_output_differs_by_how_much(report, divergence, part, wide):
    far = replace(divergence, observed=part(1e-3, 36.0, relative_l2=0.137, max_rel=3.66))
    first = TerminalReporter().render(replace(report, outputs=(far,))).splitlines()[0]
    assert "output 'logits / output_0' differs by 14%" in first
    assert "3.66" not in TerminalReporter().render(replace(report, outputs=(far,)))
    assert "largest element-wise ratio 3.66e+00" in VERBOSE.render(replace(report, outputs=(far,)))


def test_a_loss_leads_with_its_ratio_and_the_weakest_tensor(
    report, divergence, quantized, part, wide
):
    lost = replace(divergence, verdict=Verdict.DEGRADED, observed=part(1e-3, 0.5, sqnr_db=21.3))
    weak = replace(quantized, tensor="weak", sqnr_db=12.5, ideal_sqnr_db=40.0, clipped=0.25)
    made = replace(
        report, verdict=Verdict.DEGRADED, outputs=(lost,), quantization=(weak,), test_set=None
    )
    text = " ".join(TerminalReporter().render(made).split())
    assert text.startswith("DEGRADED on 1 given input SQNR 21.3 dB at output ")
    assert "weakest 'weak': 12.5 dB of the 40.0 dB that uint8 can keep; it clips 25%" in text


def test_an_unknown_verdict_shows_its_first_cause(report, wide):
    failed = tuple(
        replace(report.findings[0], rank=place, code="RUNTIME_FAILED", summary=f"failure {place}")
        for place in (1, 2)
    )
    made = replace(report, verdict=Verdict.UNKNOWN, findings=failed)
    text = TerminalReporter().render(made)
    assert "failure 1" in text
    assert "failure 2" not in text
    assert "… and 1 more finding: -v" in text
    assert "failure 2" in VERBOSE.render(made)


def test_beside_a_file_stand_the_verdict_the_cause_and_the_fix_alone(report):
    text = TerminalReporter(Verbosity.BRIEF).render(report)
    assert text.startswith("DIVERGENT")
    assert "isomorph fix net.pt2 net.onnx" in text
    assert "reference run" not in text
    assert "-o page.html" not in text
