"""Results in one line, however large they are, and whatever a model calls its nodes."""

import json
from dataclasses import replace

import numpy as np
import pytest

import isomorph
from isomorph.core.conversion import Conversion
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.model import Graph, Model
from isomorph.core.presentation import short
from isomorph.core.repair import Proof as RepairProof
from isomorph.core.repair import Repair
from isomorph.core.sweep import CellResult, CellStatus, Sweep
from isomorph.core.trace import Environment, Trace
from report_fixtures import PROOF


def test_a_report_is_one_line(report):
    shown = repr(report)
    assert shown.startswith("<Report DIVERGENT: ")
    assert " → " in shown
    assert "<Finding 1 " in shown
    assert len(shown) < 400
    assert "\n" not in shown


def test_a_name_cannot_break_the_line(report):
    finding = replace(report.findings[0], node="a\nb\x1b[31m")
    assert r"a\nb\x1b[31m" in repr(finding)


def test_a_long_name_is_cut():
    assert len(short("Report", "x" * 10_000)) < 400


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (PROOF, "<Proof net.pt2 → net.onnx: 0 of 1 outputs and 1 of 1 nodes proven (x [2, 3])>"),
        (
            Repair(
                verdict=Verdict.EQUIVALENT, reason="the same function", repaired=True,
                proof=RepairProof(before=()), output="fixed.onnx",
            ),
            "<Repair repaired, equivalent: 0 patches, written to fixed.onnx; the same function>",
        ),
        (
            Sweep(
                file="sweep.toml", store="s",
                cells=tuple(
                    CellResult(name=word, model=word, environment="usual", shard="", seed=0,
                               key=word, status=CellStatus.DONE, verdict=word)
                    for word in ("equivalent", "divergent")
                ),
            ),
            "<Sweep sweep.toml: 2 cells: 1 equivalent, 1 divergent>",
        ),
        (
            Trace(
                environment=Environment(runtime="onnxruntime", version="1.31"),
                tensors={name: np.zeros(1000) for name in "abcd"},
            ),
            "<Trace onnxruntime 1.31: 4 tensors: a, b, c, …>",
        ),
    ],
    ids=["proof", "repair", "sweep", "trace"],
)  # fmt: skip
def test_results_are_one_line(result, shown):
    assert repr(result) == shown


def test_a_conversion_and_a_model_are_one_line(report):
    conversion = Conversion(
        verdict=Verdict.UNKNOWN, reason="no converter could", source=report.models[0],
        target="tflite", width="as it is", chosen=(),
    )  # fmt: skip
    assert repr(conversion).endswith("→ tflite (nothing written); no converter could>")
    graph = Graph(name="g", nodes=(), constants={}, tensors={}, inputs=(), outputs=())
    model = Model(framework="onnx", location="m.onnx", digest="", graph=graph)
    assert repr(model) == "<Model onnx m.onnx: 0 nodes, 0 constants>"


def test_a_report_is_written_in_the_format_of_its_suffix(report, tmp_path):
    assert report.save(tmp_path / "r.json") == tmp_path / "r.json"
    assert isomorph.load_report(tmp_path / "r.json").to_json() == report.to_json()
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(report.to_json())
    assert (tmp_path / "r.json").read_text() == report.to_json() + "\n"
    assert report.save(str(tmp_path / "page.HTML")).read_text().startswith("<!doctype html>")
    assert report.save(tmp_path / "r.md").read_text().startswith("## ")
    assert report.save(tmp_path / "r.sarif").read_text().startswith("{")
    assert report.save(tmp_path / "r.xml").read_text().startswith("<?xml")
    assert report.save(tmp_path / "r.txt").read_text().startswith("DIVERGENT")
    assert json.loads(report.save(tmp_path / "r.data", format="json").read_text())


def test_a_format_of_several_files_writes_all_of_them(report, tmp_path):
    report.save(tmp_path / "overlay.json", format="model-explorer")
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"overlay.reference.json", "overlay.candidate.json"}


def test_an_unknown_suffix_writes_nothing(report, tmp_path):
    with pytest.raises(UsageError) as caught:
        report.save(tmp_path / "report.doc")
    assert "report.doc" in str(caught.value)
    assert ".html" in caught.value.why
    assert not list(tmp_path.iterdir())


def test_rows_are_flat_and_have_the_same_keys(report):
    bare = replace(report.findings[0], rank=2, source=None, reference_nodes=(), node=None)
    report = replace(report, findings=(*report.findings, bare))
    rows = report.findings_table()
    assert [row["rank"] for row in rows] == [1, 2]
    assert (rows[0]["source"], rows[1]["source"]) == ("net.py:41", None)
    assert len({tuple(row) for row in rows}) == 1
    assert {type(value) for row in rows for value in row.values()} <= {
        str, int, float, type(None),
    }  # fmt: skip
    assert rows[0]["code"] == report.findings[0].code


def test_the_page_is_the_one_of_the_command_line(report):
    from isomorph.reporters.html import HtmlReporter

    assert report.to_html() == HtmlReporter().render(report)
