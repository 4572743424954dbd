"""`isomorph report`: one JSON report, every format."""

import json

import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.profile import ErrorProfile, GraphProfile
from isomorph.core.report import Finding, ModelSummary, Report
from isomorph.reporters.json import JsonReporter
from warm_process import isomorph


@pytest.fixture
def written(tmp_path):
    side = GraphProfile(
        role="candidate", nodes=("relu",), ops=("Relu",), tensors=("y",), sources=((),),
        execution=(1e-7,), budget=(1e-6,),
    )  # fmt: skip
    report = Report(
        verdict=Verdict.DIVERGENT,
        reason="the two graphs compute different functions",
        command="check",
        seed=0,
        draws=10,
        false_alarm=1e-6,
        models=(
            ModelSummary(role="candidate", location="net.onnx", framework="onnx", digest="0",
                         nodes=1, constants=0),
        ),
        findings=(
            Finding(rank=1, code="GUILTY_NODE", cause="attribute", status="confirmed",
                    effect="reaches_output", summary="alpha is 0.2, not 0.1", node="relu"),
        ),
        profile=ErrorProfile(origin="generated", graphs=(side, side)),
    )  # fmt: skip
    path = tmp_path / "report.json"
    path.write_text(JsonReporter().render(report))
    return path


def command(*words, cwd, fresh=False, **variables):
    variables = {"PYTHONIOENCODING": "utf-8", **variables}
    return isomorph(cwd, "report", *words, fresh=fresh, **variables)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("page.html", "<!doctype html>"),
        ("out.xml", "<?xml"),
        ("out.sarif", "{"),
        ("out.md", "## ❌ Divergent"),
        ("out.txt", "DIVERGENT"),
    ],
)
def test_the_suffix_decides_the_format(written, name, start):
    done = command(written, "-o", name, cwd=written.parent)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (written.parent / name).read_text(encoding="utf-8").startswith(start)


def test_json_comes_out_as_it_went_in(written):
    done = command(written, "--format", "json", cwd=written.parent, fresh=True)
    assert json.loads(done.stdout) == json.loads(written.read_text())


def test_an_overlay_is_written_for_each_model(written):
    done = command(written, "--format", "model-explorer", "-o", "overlay.json", cwd=written.parent)
    assert done.returncode == 0, done.stderr
    assert (written.parent / "overlay.candidate.json").exists()
    assert not (written.parent / "overlay.json").exists()


def test_a_step_summary_is_added_to_and_not_replaced(written):
    summary = written.parent / "summary.md"
    summary.write_text("before\n")
    done = command(written, "--format", "github", cwd=written.parent,
                   GITHUB_STEP_SUMMARY=str(summary))  # fmt: skip
    assert done.stdout.startswith("::error title=isomorph")
    assert summary.read_text(encoding="utf-8").startswith("before\n## ❌ Divergent")


def test_a_repair_is_put_on_the_page_and_nowhere_else(written):
    repair = {"schema": "isomorph.repair/1", "repaired": True, "reason": "1 patch applied",
              "output": None, "patches": [], "before": [], "after": []}  # fmt: skip
    file = written.parent / "repair.json"
    file.write_text(json.dumps(repair))
    done = command(written, "--repair", file, "-o", "page.html", cwd=written.parent)
    assert done.returncode == 0, done.stderr
    assert '"repair":{"after":[]' in (written.parent / "page.html").read_text(encoding="utf-8")
    assert command(written, "--repair", file, cwd=written.parent).returncode == 2
    assert command(written, "--repair", written, "-o", "p.html", cwd=written.parent).returncode == 2


def test_a_report_never_overwrites_itself(written):
    before = written.read_text()
    done = command(written, "-o", written, cwd=written.parent)
    assert done.returncode == 4
    assert written.read_text() == before


def test_what_is_no_report_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    done = command("x.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "REPORT_UNREADABLE" in done.stderr
