import os
import stat
from pathlib import Path

import pytest

from isomorph import registry
from isomorph.cli.output import (
    encodable,
    refuse_page_on_terminal,
    show_report,
    use_color,
    write,
)
from isomorph.core.errors import RefusedError, RuntimeFailedError, UsageError
from isomorph.store.targets import check_target


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path):
    target = tmp_path / "report.json"
    target.write_text("old")
    write("new", target)
    assert target.read_text() == "new\n"
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    mask = os.umask(0o022)
    try:
        write("x", tmp_path / "r")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o644


def test_a_link_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(precious)
    with pytest.raises(RefusedError) as caught:
        write("x", link)
    assert caught.value.code == "OUTPUT_IS_LINK"
    assert precious.read_text() == "mine"


def test_a_dangling_link_is_not_followed_either(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RefusedError):
        check_target(tmp_path / "link")


@pytest.mark.parametrize(("name", "code"), [("", "OUTPUT_NOT_A_FILE"), ("a/b", "OUTPUT_NO_FOLDER")])
def test_a_hopeless_target_is_refused_before_the_work(tmp_path, name, code):
    with pytest.raises(UsageError) as caught:
        check_target(tmp_path / name)
    assert caught.value.code == code


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RuntimeFailedError) as caught:
        write("x", tmp_path / "r")
    assert caught.value.code == "DISK_FULL"
    assert caught.value.why.startswith("No space left on device; ")
    assert not list(tmp_path.iterdir())


def test_text_that_the_terminal_cannot_carry():
    assert encodable("36× → ü", "utf-8") == "36× → ü"
    assert encodable("36× → ü", "ascii") == "36x -> \\xfc"


def test_no_color_without_a_terminal_or_against_a_wish(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert use_color()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_color()


@pytest.mark.parametrize(
    ("variables", "colored"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": "0"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_a_report_on_a_terminal_has_colors_unless_no_color_is_set(
    report, monkeypatch, capsys, variables, colored
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    show_report(report, registry.reporter("terminal"), None)
    shown = capsys.readouterr().out
    assert ("\x1b[" in shown) == colored
    assert "DIVERGENT" in shown


def test_a_file_has_no_colors(report, monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    show_report(report, registry.reporter("terminal"), tmp_path / "r.txt")
    assert "\x1b" not in (tmp_path / "r.txt").read_text()


@pytest.mark.parametrize(("name", "terminal", "refused"), [("html", True, True),
    ("html", False, False), ("json", True, False), ("terminal", True, False)])  # fmt: skip
def test_a_page_is_not_poured_into_a_terminal(monkeypatch, name, terminal, refused):
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    reporter = registry.reporter(name)
    refuse_page_on_terminal(reporter, Path("page.html"))
    if not refused:
        refuse_page_on_terminal(reporter, None)
        return
    with pytest.raises(UsageError) as caught:
        refuse_page_on_terminal(reporter, None)
    assert caught.value.fix == "--format html -o page.html"


def test_a_full_disk_behind_stdout_is_no_bug(monkeypatch):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(UsageError) as caught:
            write("x", None)
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())  # what is buffered goes there
    assert (caught.value.code, caught.value.why) == ("OUTPUT_UNWRITABLE", "No space left on device")
