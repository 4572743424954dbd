"""Lines as wide as the terminal."""

from isomorph.reporters.textwrap import wrapped


def test_what_follows_a_word_hangs_below_itself(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = list(wrapped(["  note    the batch is fixed at 1, since nothing else works"]))
    assert shown == ["  note    the batch is fixed at 1, since", "          nothing else works"]


def test_commands_and_long_names_stay_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    command = f"again     isomorph convert {'m' * 60}.onnx out.tflite"
    path = f"report in {'p' * 60}.json"
    assert list(wrapped([command])) == [command]
    assert "".join(wrapped([path])).endswith(f"{'p' * 60}.json")


def test_short_lines_stay_as_they_are(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert list(wrapped(["", "  at   node norm"])) == ["", "  at   node norm"]


def test_the_first_word_alone_is_the_margin(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = list(wrapped(["  finding GUILTY_NODE (layout): node 'TRANSPOSE:5' is wrong"]))
    assert shown[1].startswith(" " * 10 + "'TRANSPOSE:5'")
