"""The examples in the docstrings of the public names are run, on the files of ``isomorph demo``."""

import doctest
import inspect

import pytest

import isomorph
from isomorph.core.presentation import PresentableReport
from isomorph.frameworks.onnx.demo import write_demo

PLACES = [getattr(isomorph, name) for name in isomorph.__all__ if not name.startswith("_")]
EXAMPLES = [
    test
    for place in (*PLACES, PresentableReport)
    if inspect.getmodule(place).__name__.startswith("isomorph")
    for test in doctest.DocTestFinder(recurse=True).find(
        place, getattr(place, "__name__", None), globs={"isomorph": isomorph}
    )
    if test.examples
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return folder


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_example_shows_what_happens(example, demo, monkeypatch):
    monkeypatch.chdir(demo)
    messages = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed, tried = runner.run(example, out=messages.append)
    assert tried
    assert not failed, "".join(messages)


def test_the_verbs_and_the_report_have_examples():
    names = {example.name for example in EXAMPLES}
    assert {"check", "load_report", "PresentableReport.save"} <= names
    assert {
        f"PresentableReport.{name}" for name in ("to_json", "to_html", "findings_table")
    } <= names
