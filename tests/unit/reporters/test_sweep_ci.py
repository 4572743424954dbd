"""A sweep for continuous integration: what failed, what is an error, what was not run."""

import json
from xml.etree import ElementTree as ET

import pytest

from isomorph.core.sweep import CellStatus, Sweep
from isomorph.reporters.sweep_ci import as_junit, as_sarif
from sweep_results import FOUND, cell


def test_every_cell_is_a_test_of_its_environment():
    suites = {each.get("name"): each for each in ET.fromstring(as_junit(FOUND))}
    assert set(suites) == {"cpu", "gpu"}
    assert suites["cpu"].get("tests") == "3"
    assert suites["cpu"].get("errors") == "1"
    assert suites["cpu"].get("skipped") == "1"
    failure = suites["gpu"].find("testcase/failure")
    assert failure.get("type") == "divergent"
    assert failure.text == "node conv; cause weight; 31 of its budget; report s/reports/2.json"


def test_the_whole_counts_its_suites():
    root = ET.fromstring(as_junit(FOUND))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "1")


def test_alerts_are_those_cells_that_are_not_fine():
    run = json.loads(as_sarif(FOUND))["runs"][0]
    assert [each["ruleId"] for each in run["results"]] == ["CELL_DIVERGENT", "CELL_ERROR"]
    assert [each["id"] for each in run["tool"]["driver"]["rules"]] == [
        "CELL_DIVERGENT", "CELL_ERROR"
    ]  # fmt: skip
    named = run["results"][0]["locations"][0]["logicalLocations"][0]
    assert named["fullyQualifiedName"] == "net@gpu"


@pytest.mark.parametrize("outcome", ["unknown", "lost"])
def test_what_has_no_answer_is_an_error_of_the_test_and_no_failure(outcome):
    lost = outcome == "lost"
    one = cell("net", "cpu", verdict="" if lost else outcome, exit_code=None if lost else 3,
               status=CellStatus.LOST if lost else CellStatus.DONE)  # fmt: skip
    found = Sweep(file="", store="", cells=(one,))
    assert ET.fromstring(as_junit(found)).find("testsuite/testcase/error") is not None


def test_a_name_that_is_no_text_of_xml_is_shown():
    found = Sweep(file="", store="", cells=(cell("a\x00<b>", "cpu", verdict="equivalent"),))
    assert ET.fromstring(as_junit(found)).find("testsuite/testcase").get("name") == "a\\x00<b>"
