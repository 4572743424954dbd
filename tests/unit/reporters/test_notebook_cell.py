"""The output of a notebook's cell: one well-formed element without a script."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from isomorph.core.divergence import Verdict
from isomorph.reporters.notebook_cell import MOST_FINDINGS, notebook_cell

SVG = "svg"


def _parsed(html):
    return ElementTree.fromstring(html)


def _words(html):
    return " ".join(" ".join(_parsed(html).itertext()).split())


def test_it_has_the_verdict_the_finding_and_the_profile(report):
    html = notebook_cell(report)
    words = _words(html)
    assert words.startswith("DIVERGENT logits: translation error is beyond")
    assert "epsilon is 1e-4, expected 1e-5" in words
    assert "fix: set epsilon of norm_3 to 1e-5" in words
    assert "isomorph fix net.pt2 net.onnx --seed 7 --trust -o repaired.onnx" in words
    assert "net.py:41" in words
    assert "1.20e-07, 0.21× budget" in words
    assert [each.tag for each in _parsed(html)].count(SVG) == 1


def test_it_is_one_element_without_script_style_sheet_or_address(report):
    html = notebook_cell(report)
    root = _parsed(html)
    assert root.tag == "div"
    assert not {"script", "style", "link", "img", "a"} & {each.tag for each in root.iter()}
    assert not any(name.startswith("on") for each in root.iter() for name in each.attrib)
    assert "http" not in html


def test_text_takes_the_color_around_it(report):
    """A notebook does not tell whether it is dark: a stated color needs a stated ground."""
    for each in _parsed(notebook_cell(report)).iter():
        stated = dict(
            part.split(":", 1) for part in each.get("style", "").split(";") if ":" in part
        )
        if stated.get("color", "inherit") != "inherit":
            assert stated["background"].startswith("#")
        if each.tag == "text":
            assert each.get("fill") == "currentColor"


def test_markup_in_names_is_text(report):
    evil = "</div><script>alert(1)</script>\x1b[31m"
    finding = replace(
        report.findings[0], code=evil, cause=evil, summary=evil, node="norm_3", fix=evil,
        source=replace(report.findings[0].source, file=evil),
    )  # fmt: skip
    model = replace(report.models[0], location=evil, framework=evil)
    graph = replace(report.profile.graphs[1], nodes=("conv_3", "norm_3", evil), role="candidate")
    html = notebook_cell(
        replace(
            report,
            reason=evil,
            findings=(finding, replace(finding, node=evil)),
            models=(model, *report.models[1:]),
            outputs=(replace(report.outputs[0], candidate_output=evil),),
            profile=replace(report.profile, graphs=(graph,)),
            version=evil,
        )
    )
    assert "<script" not in html
    assert "\x1b" not in html
    assert _words(html).count("alert(1)") >= 8


def test_without_findings_or_profile_it_is_short(report):
    bare = replace(
        report, findings=(), profile=None, outputs=(), models=(), verdict=Verdict.UNKNOWN
    )
    words = _words(notebook_cell(bare))
    assert words.startswith("UNKNOWN logits")
    assert "repair" not in words
    assert "<svg" not in notebook_cell(bare)


def test_what_is_left_out_is_counted(report):
    many = replace(report, findings=report.findings * (MOST_FINDINGS + 3))
    assert "… and 3 more findings" in _words(notebook_cell(many))


@pytest.mark.parametrize("verdict", [Verdict.DIVERGENT, Verdict.UNKNOWN])
def test_verdicts_have_colors_of_their_own(report, verdict):
    shown = notebook_cell(replace(report, verdict=verdict)).split("color:#fff", 1)[0]
    other = notebook_cell(report).split("color:#fff", 1)[0]
    assert (shown == other) == (verdict is report.verdict)
