import base64
import gzip
import json
import re
from dataclasses import replace

import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.report import Report
from isomorph.reporters._lead import explanation
from isomorph.reporters.html import HtmlReporter
from isomorph.reporters.json import JsonReporter
from isomorph.store.reports import read_report
from isomorph.web import page

EMPTY = Report(
    verdict=Verdict.UNKNOWN, reason="crashed", command="check", seed=0, draws=0, false_alarm=0.5
)


def _data(html):
    (found,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', html, re.S)
    return json.loads(found)


@pytest.mark.parametrize("which", ["full", "smallest"])
def test_the_page_carries_the_whole_report(report, which):
    chosen = report if which == "full" else EMPTY
    data = _data(HtmlReporter().render(chosen))
    commands, apart = data.pop("repair_commands"), data.pop("difference")
    assert apart == ("" if which == "smallest" else explanation(chosen).partition("; ")[2])
    assert data == json.loads(JsonReporter().render(chosen))
    assert len(commands) == len(chosen.findings)


def test_a_finding_has_its_repair_command_unless_no_patch_may_help(report):
    advice = replace(report.findings[0], cause=None, fix="try another --runtime")
    both = replace(report, findings=(report.findings[0], advice))
    command, none = _data(HtmlReporter().render(both))["repair_commands"]
    assert command.startswith("isomorph fix net.pt2 net.onnx ")
    assert none is None


@pytest.mark.parametrize(
    "name",
    ["</script><script>alert(1)</script>", "<!--<script>", "ISOMORPH-REPORT", "\u2028\u202e&quot;"],
)
def test_a_hostile_name_stays_inside_the_data(report, name):
    hostile = replace(report, findings=(replace(report.findings[0], node=name),))
    html = HtmlReporter().render(hostile)
    assert _data(html)["findings"][0]["node"] == name
    assert html.count("<script") == HtmlReporter().render(EMPTY).count("<script")


def test_a_long_report_is_packed(report):
    findings = tuple(replace(report.findings[0], node=f"<node {i}>" * 9) for i in range(3000))
    long = replace(report, findings=findings)
    html, whole = HtmlReporter().render(long), JsonReporter().render(long)
    packed = json.loads(gzip.decompress(base64.b64decode(_data(html))))
    assert len(packed.pop("repair_commands")) == len(findings)
    assert "differs by" in packed.pop("difference")
    assert packed == json.loads(whole)
    assert len(html) < len(page("{}")) + len(whole) / 5
    assert html == HtmlReporter().render(long), "packing does not hang on the time"


def test_a_bundle_without_a_place_for_the_report_is_refused(monkeypatch):
    monkeypatch.setattr("isomorph.web.bundle", lambda: "<html></html>")
    with pytest.raises(ValueError, match="exactly one place"):
        page("{}")


def test_a_full_report_survives_being_written_and_read(report, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(JsonReporter().render(report))
    assert HtmlReporter().render(read_report(path)) == HtmlReporter().render(report)
