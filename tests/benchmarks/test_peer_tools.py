"""The judge of the tools beside isomorph: what counts as right, and as naming the fault."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _programs_import_each_other(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def pair(faulty=()):
    from peer_tools.pairs import Pair

    return Pair(name="p", title="t", reference="a", candidate="b", inputs="x", faulty=faulty)


@pytest.mark.parametrize(
    ("wrong", "faulty", "right"),
    [
        (True, ("conv",), True),
        (False, (), True),
        (True, (), False),
        (False, ("conv",), False),
        (None, ("conv",), None),
    ],
)
def test_a_tool_is_right_where_it_says_what_is_so(wrong, faulty, right):
    from peer_tools.answers import Answer
    from peer_tools.table import right as judged

    assert judged(pair(faulty), Answer(wrong=wrong)) is right


@pytest.mark.parametrize(
    ("first", "named"),
    [("conv", True), ("conv_1", False), ("linear + conv", True), ("", False),
     (" set disable_optimizers=conv", True)],
)  # fmt: skip
def test_a_fault_is_named_by_its_whole_name(first, named):
    from peer_tools.answers import Answer
    from peer_tools.table import named as judged

    assert judged(pair(("conv",)), Answer(wrong=None, first=first)) is named


def test_a_clean_pair_has_no_fault_to_name():
    from peer_tools.answers import Answer
    from peer_tools.table import named as judged

    assert judged(pair(), Answer(wrong=True, first="conv")) is None


def test_a_tool_that_did_not_run_is_judged_in_nothing():
    from peer_tools.answers import Answer
    from peer_tools.table import named, right

    skipped = Answer(wrong=False, skipped="not installed")
    assert right(pair(), skipped) is None
    assert named(pair(("conv",)), skipped) is None


def test_the_last_answer_of_a_program_counts(capsys):
    from peer_tools.answers import Answer, answer_in

    Answer(wrong=None, says="first").tell()
    Answer(wrong=True, first="n", compared=3, says="second").tell()
    found = answer_in("a line of the tool\n" + capsys.readouterr().out)
    assert found == Answer(wrong=True, first="n", compared=3, says="second")
    assert answer_in("it ended early") is None


def test_every_pair_is_asked_of_known_tools():
    from peer_tools.table import ASKED, TOOLS

    assert all(set(tools) <= set(TOOLS) for tools in ASKED.values())
    assert {tool for tools in ASKED.values() for tool in tools} == set(TOOLS)


def test_a_pair_is_read_as_it_was_written(tmp_path):
    from peer_tools.pairs import read_pair

    whole = pair(("conv", "out"))
    whole.write(tmp_path)
    assert read_pair(tmp_path) == whole
