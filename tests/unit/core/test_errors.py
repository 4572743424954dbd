"""The sentences of errors: what happened and where, on a terminal and in a traceback."""

import traceback

from isomorph.core.errors import UsageError


def test_a_sentence_leads_to_its_file():
    assert UsageError("A", "unknown key 'y'", file="x.toml", where="top").sentence == (
        "unknown key 'y' in x.toml: top"
    )
    missing = UsageError("A", "there is no such file:", file="x.onnx")
    assert missing.sentence == "there is no such file: x.onnx"
    assert missing.what == "there is no such file", "no colon where no file follows"


def test_a_traceback_includes_the_fix():
    error = UsageError("A", "no", why="because", fix="do this")
    assert str(error) == "no"
    shown = "".join(traceback.format_exception_only(error))
    assert "why: because" in shown
    assert "fix: do this" in shown
