import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.report import Report
from isomorph.reporters.json import JsonReporter, as_json, schema


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def test_a_full_report_satisfies_the_schema(report, validator):
    validator.validate(json.loads(JsonReporter().render(report)))


def test_the_smallest_report_satisfies_the_schema(validator):
    smallest = Report(
        verdict=Verdict.UNKNOWN, reason="crashed", command="check", seed=0, draws=0, false_alarm=0.5
    )
    document = json.loads(JsonReporter().render(smallest))
    validator.validate(document)
    assert document["schema"] == "isomorph.report/1"


@pytest.mark.parametrize(
    ("field", "value"),
    [("verdict", "fine"), ("seed", "7"), ("outputs", {}), ("schema", "isomorph.report/2")],
)
def test_the_schema_refuses_what_is_no_report(report, validator, field, value):
    document = json.loads(JsonReporter().render(report))
    document[field] = value
    assert not validator.is_valid(document)


def test_the_schema_refuses_an_unknown_field_and_requires_every_known_one(report, validator):
    document = json.loads(JsonReporter().render(report))
    assert not validator.is_valid(document | {"extra": 1})
    del document["findings"][0]["fix"]
    assert not validator.is_valid(document)


def test_equal_reports_are_equal_bytes(report):
    shuffled = replace(report, environments=dict(reversed(report.environments.items())))
    assert JsonReporter().render(report) == JsonReporter().render(shuffled)


def test_what_json_cannot_express_is_spelled(report):
    document = json.loads(JsonReporter().render(report))
    assert document["findings"][0]["evidence"]["ratio"] == "nan"
    assert document["outputs"][0]["observed"]["distance"]["sqnr_db"] == "inf"
    assert document["outputs"][0]["intended_loss"]["budget"]["ratio"] is None


def test_numbers_of_numpy_become_numbers():
    document = json.loads(as_json({"a": np.float32(0.5), "b": np.arange(3), "c": np.bool_(True)}))
    assert document == {"a": 0.5, "b": [0, 1, 2], "c": True}


def test_names_are_kept_whole_and_the_text_is_ascii():
    name = "a\x1b]0;x\x07\u202e\udcff[red]"
    text = as_json({name: name})
    assert text.isascii()
    assert json.loads(text) == {name: name}
