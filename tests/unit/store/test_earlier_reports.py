"""Reports of revision 1, as isomorph wrote them, are read with the names of today."""

import json
from pathlib import Path

import jsonschema
import pytest

from isomorph.core.divergence import DivergenceKind, Verdict
from isomorph.core.report import REVISION, BoundBy
from isomorph.reporters.json import as_json, schema
from isomorph.reporters.terminal import TerminalReporter
from isomorph.store.reports import read_report

WRITTEN = Path(__file__).with_name("earlier_reports")
"""Written by the last version before the names changed; profile and most measures are left out."""


@pytest.fixture
def read(tmp_path):
    """Reads a written report, with changes."""

    def made(name, change=None):
        document = json.loads((WRITTEN / f"{name}.json").read_text(encoding="utf-8"))
        assert "revision" not in document
        if change is not None:
            change(document)
        path = tmp_path / "report.json"
        path.write_text(json.dumps(document))
        return read_report(path)

    return made


@pytest.mark.parametrize("name", [path.stem for path in sorted(WRITTEN.glob("*.json"))])
def test_a_written_report_becomes_one_of_today(read, name):
    report = read(name)
    assert report.revision == REVISION
    jsonschema.validate(json.loads(as_json(report)), schema())


def test_what_a_baseline_accepted_is_accepted_still(read):
    report = read("accepted")
    (status,) = report.baseline.statuses
    assert (status.output, status.state) == ("y", "unchanged")
    assert status.message == "accepted by me: known"
    assert (report.verdict, report.accepted, report.exit_code) == (Verdict.DIVERGENT, True, 0)
    assert "accepted" in TerminalReporter().render(report).splitlines()[0]


def test_settings_and_facts_have_the_words_of_today(read):
    environment = read("accepted").environments["candidate run"]
    assert environment.settings["optimization"] == "all"
    assert {"disable_optimizers", "name_optimizers"} <= set(environment.settings)
    assert environment.facts["optimization"] == "all"


def test_evidence_that_a_repair_reads_has_the_keys_of_today(read):
    def change(document):
        document["findings"][0]["evidence"] = {
            "optimiser": "MatMulAddFusion", "settings": {"optimisation": "none"}, "mine": "up",
        }  # fmt: skip

    assert read("accepted", change).findings[0].evidence == {
        "optimizer": "MatMulAddFusion", "settings": {"optimization": "none"}, "candidate": "up",
    }  # fmt: skip


def test_a_verdict_that_passed_covers_the_inputs_and_outputs_that_are_listed(read):
    report = read("equivalent")
    assert report.headline == "EQUIVALENT on 2 generated inputs"
    (output,) = report.coverage.outputs
    assert (output.output, output.within, report.coverage.values) == ("y", 2, 16)


def test_of_a_test_set_the_samples_that_were_not_examined_are_not_covered(read):
    def part_of(count):
        def change(document):
            names = [f"sample {place}" for place in range(2)]
            for each, name in zip(document["inputs"], names, strict=True):
                each["origin"] = name
            document["test_set"] = {
                "location": "photos", "samples": count, "outputs": [], "metric": None,
                "examined": names,
            }  # fmt: skip

        return change

    assert read("equivalent", part_of(2)).headline == "EQUIVALENT on 2 of 2 samples of photos"
    open_ = read("equivalent", part_of(100))
    assert (open_.verdict, open_.exit_code) == (Verdict.UNKNOWN, 3)
    assert "2 of 100 samples" in open_.reason


def test_an_output_that_was_bound_and_not_compared_leaves_the_verdict_unknown(read):
    def change(document):
        pair = {"reference": "z", "candidate": "z", "how": "name"}
        document["output_bindings"].append(pair)

    assert read("equivalent", change).verdict is Verdict.UNKNOWN


def test_what_was_compared_is_known_by_the_type_that_was_given(read):
    def change(document):
        first = document["outputs"][0]
        document["outputs"] += [
            first | {"reference_output": "s", "dtype": "", "observed": None},
            first | {"reference_output": "m", "dtype": "unknown", "observed": None},
        ]

    kinds = [each.kind for each in read("accepted", change).outputs]
    assert kinds == [DivergenceKind.VALUES, DivergenceKind.SHAPE, DivergenceKind.MISSING]


def test_what_a_model_was_given_as_is_read_off_its_notes_and_location(read):
    def change(document):
        model = document["models"][0]
        document["models"] = [
            model | {"location": "<Net>"},
            model | {"notes": ["a trace of m.onnx, recorded"]},
            model,
        ]

    found = [each.form for each in read("accepted", change).models]
    assert found == ["live object", "trace", "file"]


def test_the_type_behind_the_way_of_binding_is_dropped(read):
    how = "only pair of this type and shape (float32, N×8)"

    def change(document):
        for side in ("input_bindings", "output_bindings"):
            document[side][0]["how"] = how

    report = read("accepted", change)
    assert [each.how for each in report.input_bindings] == [BoundBy.ONLY_FIT]
    assert [each.how for each in report.output_bindings] == [BoundBy.ONLY_FIT]


def test_fields_that_are_there_already_keep_their_values(read):
    def change(document):
        document["models"][0]["form"] = "trace"
        document["inputs"][0]["kind"] = "test set"
        document["outputs"][0]["kind"] = "shape"
        document["baseline"] = {"file": "b.toml", "statuses": []}
        document["coverage"] = {"given": 7, "values": 1, "outputs": []}

    report = read("accepted", change)
    assert (report.models[0].form, report.inputs[0].kind) == ("trace", "test set")
    assert (report.outputs[0].kind, report.baseline.statuses) == ("shape", ())
    assert report.coverage.given == 7
