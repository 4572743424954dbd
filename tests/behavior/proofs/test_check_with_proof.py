"""``check --prove``: what was measured, what is proven, and what the two say together."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import parser

import isomorph
from isomorph import registry
from isomorph.__main__ import main
from isomorph.core.proof import Reason, Standing
from isomorph.core.report import FindingStatus
from isomorph.frameworks.onnx.meanings import MEANINGS
from isomorph.store.reports import read_report

TWO = "float[2,3] y, float[2,3] w"
UP_AND_DOWN = f"<float up = {{{2.0**100}}}, float down = {{{2.0**-100}}}>"


def model(body, inputs="float[2,3] x", outputs="float[2,3] y", constants=""):
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]> g ({inputs}) => ({outputs}) {constants}'
        f"{{ {body} }}"
    )


def check(one, other, **options):
    return isomorph.check(one, other, prove=True, in_process=True, **options)


def standings(report):
    return {each.reference: each.standing for each in report.proof.outputs}


@pytest.fixture
def absolute_means_relu(monkeypatch):
    """A wrong meaning, as a defect of isomorph would be: Abs is read as Relu."""
    wrong = {**MEANINGS.spelled, "Abs": MEANINGS.spelled["Relu"]}
    monkeypatch.setattr(
        "isomorph.frameworks.onnx.meanings.MEANINGS", replace(MEANINGS, spelled=wrong)
    )


def test_the_headline_says_every_input_where_all_is_measured_and_proven():
    report = check(model("y = Relu(x)"), model("z = Neg(x) v = Neg(z) y = Relu(v)"))
    assert report.headline.startswith("EQUIVALENT for every input of these shapes, measured on ")
    assert standings(report) == {"y": Standing.PROVEN}
    assert report.exit_code == 0
    assert report.proof.assumptions.shapes == {"x": (2, 3)}


def test_an_output_that_agrees_and_has_no_meaning_is_tested():
    one = model("y = Relu(x) w = Hardmax(x)", outputs=TWO)
    other = model("y = Relu(x) n = Neg(x) m = Neg(n) w = Hardmax(m)", outputs=TWO)
    report = check(one, other)
    assert standings(report) == {"y": Standing.PROVEN, "w": Standing.TESTED}
    reason = next(each.open for each in report.proof.outputs if each.reference == "w")
    assert (reason.reason, reason.op) == (Reason.NO_MEANING, "Hardmax")
    assert report.verdict == "equivalent"
    assert report.headline == "EQUIVALENT on 2 generated inputs"
    assert report.exit_code == 0


def test_what_differs_is_open_and_divergent_as_without_a_proof():
    pair = model("y = Relu(x)"), model("y = Abs(x)")
    report = check(*pair)
    assert standings(report) == {"y": Standing.OPEN}
    plain = isomorph.check(*pair, in_process=True)
    assert plain.proof is None
    assert (report.verdict, report.reason, report.exit_code) == (plain.verdict, plain.reason, 1)


def test_a_run_that_overflows_does_not_contradict_a_proof_of_the_graphs():
    report = check(
        model("y = Neg(x)"),
        model("a = Mul(x, up) b = Mul(a, down) y = Neg(b)", constants=UP_AND_DOWN),
        inputs={"x": np.full((2, 3), 2.0**40, np.float32)},
    )
    assert standings(report) == {"y": Standing.PROVEN}
    assert report.verdict == "divergent"
    assert report.outputs[0].execution_candidate.beyond
    assert report.proof.contradicted == ()
    assert report.headline == "DIVERGENT"
    assert report.exit_code == 1


def test_a_loss_of_precision_beside_a_proof_stays_degraded():
    report = check(
        model("y = Relu(x) w = Tanh(x)", outputs=TWO),
        model(
            "y = Relu(x) t = Tanh(x) q = QuantizeLinear(t, s, z) w = DequantizeLinear(q, s, z)",
            outputs=TWO,
            constants="<float s = {0.0079}, int8 z = {0}>",
        ),
    )
    assert report.verdict == "degraded"
    assert standings(report) == {"y": Standing.PROVEN, "w": Standing.TESTED}
    assert report.headline.startswith("DEGRADED on ")
    assert (report.proof.contradicted, report.exit_code) == ((), 0)


def test_another_size_that_differs_does_not_contradict_a_proof_about_these_shapes():
    inputs, outputs = "float[N,3,H,W] x", "float[N,3,P,Q] y"
    one, other = (
        model(
            f"y = MaxPool<kernel_shape=[2,2], strides=[2,2], ceil_mode={mode}>(x)", inputs, outputs
        )
        for mode in (0, 1)
    )
    report = check(one, other, dims={"N": 1, "H": 4, "W": 4})
    assert standings(report) == {"y": Standing.PROVEN}
    assert report.verdict == "divergent"
    assert (report.proof.contradicted, report.exit_code) == ((), 1)


def test_a_wrong_weight_that_no_output_reads_does_not_contradict_a_proof():
    def sliced(last):
        numbers = [*range(1, 8), last]
        stored = ", ".join(map(str, numbers))
        return model(
            "z = MatMul(x, weight) y = Slice(z, begin, end, axis)",
            outputs="float[2,1] y",
            inputs="float[2,2] x",
            constants=f"<float[2,4] weight = {{{stored}}}, int64[1] begin = {{0}}, "
            "int64[1] end = {1}, int64[1] axis = {1}>",
        )

    report = check(sliced(8), sliced(80))
    assert standings(report) == {"y": Standing.PROVEN}
    assert report.verdict == "divergent"
    assert (report.proof.contradicted, report.exit_code) == ((), 1)
    assert "changes no output at these shapes" in registry.reporter("terminal").render(report)


@pytest.mark.usefixtures("absolute_means_relu")
def test_a_proof_and_graphs_that_differ_on_a_sample_are_a_defect(tmp_path):
    # The first sample, whose float64 values a proof compares, does not show it.
    np.savez(tmp_path / "1.npz", x=np.ones((2, 3), np.float32))
    np.savez(tmp_path / "2.npz", x=-np.ones((2, 3), np.float32))
    report = check(model("y = Relu(x)"), model("y = Abs(x)"), data=tmp_path)
    assert standings(report) == {"y": Standing.PROVEN}
    assert report.verdict == "divergent"  # what was measured stays
    assert report.proof.contradicted == ("y",)
    assert report.exit_code == 70
    assert "PROOF_CONTRADICTED" in {each.code for each in report.findings}


@pytest.mark.usefixtures("absolute_means_relu")
def test_so_are_a_proof_and_an_input_that_the_check_searched_for():
    given = {"x": np.ones((2, 3), np.float32)}
    report = check(model("y = Relu(x)"), model("y = Abs(x)"), inputs=given)
    shown = [each for each in report.findings if each.code == "LATENT"]
    assert [each.status for each in shown] == [FindingStatus.CONFIRMED]
    assert report.proof.contradicted == ("y",)
    assert report.exit_code == 70


@pytest.mark.usefixtures("absolute_means_relu")
def test_the_report_of_a_contradiction_is_saved_and_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(model("y = Relu(x)"), "a.onnx")
    onnx.save(model("y = Abs(x)"), "b.onnx")
    np.savez("x.npz", x=np.ones((2, 3), np.float32))
    words = ["check", "a.onnx", "b.onnx", "--inputs", "x.npz", "--prove", "--in-process"]
    assert main(words) == 70
    (saved,) = tmp_path.glob("isomorph-contradiction-*.json")
    assert read_report(saved).proof.contradicted == ("y",)
    shown = capsys.readouterr()
    assert "error[PROOF_CONTRADICTED]" in shown.err
    assert saved.name in shown.err
    assert "a fault of isomorph" in shown.err
    assert shown.out.startswith("DIVERGENT, against its proof")


def test_the_files_are_opened_once(tmp_path, monkeypatch):
    from isomorph.checking.loader import Loader

    opened = []
    plain = Loader.open
    monkeypatch.setattr(Loader, "open", lambda *words: opened.append(words[1]) or plain(*words))
    onnx.save(model("y = Relu(x)"), tmp_path / "a.onnx")
    onnx.save(model("z = Identity(x) y = Relu(z)"), tmp_path / "b.onnx")
    check(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert sorted(opened) == ["candidate", "reference"]


@pytest.mark.parametrize("name", ["json", "terminal", "markdown", "junit", "sarif", "html"])
def test_every_format_has_the_proof(tmp_path, name):
    onnx.save(model("y = Relu(x)"), tmp_path / "a.onnx")
    onnx.save(model("z = Identity(x) y = Relu(z)"), tmp_path / "b.onnx")
    target = tmp_path / "report"
    pair = [str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")]
    words = ["--prove", "--in-process", "--format", name, "-o", str(target)]
    assert main(["check", *pair, *words]) == 0
    assert "proven" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("other", [[], ["b.npz"], ["b.onnx", "--decode", "2"]])
def test_a_proof_needs_two_graphs_of_one_call(tmp_path, monkeypatch, other, capsys):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        onnx.save(model("y = Relu(x)"), f"{name}.onnx")
    np.savez("b.npz", y=np.ones((2, 3), np.float32))
    pair = ["a.onnx", *other] if other != ["b.npz"] else ["b.npz", "a.onnx"]
    assert main(["check", *pair, "--prove", "--in-process"]) == 2
    assert "--prove" in capsys.readouterr().err
