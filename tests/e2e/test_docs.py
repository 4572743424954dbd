"""The pages of docs/ say what happens: their commands are run, and what they show comes out."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from warm_process import imported_by, ran

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"<?[-−]?\d[\d.,]*(e[-+−]?\d+)?")
PAGES = sorted(
    path
    for path in DOCS.glob("*.md")
    if any(kind == "console" for kind, _, _ in BLOCK.findall(path.read_text(encoding="utf-8")))
)


def _commands(text):
    """Each ``$ line`` with its expected exit code and the lines shown below it."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            command, _, code = line[2:].partition("  # exit ")
            found.append((command, int(code or 0), []))
        elif line.strip():
            found[-1][2].append(line)
    return found


def _words(line):
    return " ".join(NUMBER.sub("#", line).split())


def _run(command, folder):
    """The result of a command, from a fork of a process that has imported what it needs."""
    program, *words = shlex.split(command)
    assert program in {"isomorph", "python"}, f"{program} is a program that only a shell finds"
    line = [sys.executable, *(["-m", "isomorph"] if program == "isomorph" else []), *words]
    env = {**os.environ, "COLUMNS": "100", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if program == "isomorph":
        return ran(line, folder, env=env)
    return ran(line, folder, env=env, preload=imported_by((folder / words[0]).read_text()))


def _shown(line, seen):
    """Whether the line comes out, numbers aside; an ellipsis stands for whatever follows."""
    begin, elided, _ = line.partition("…")
    wanted = _words(begin if elided else line)
    return any(
        _words(each).startswith(wanted) if elided else _words(each) == wanted for each in seen
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_comes_out(page, tmp_path):
    for kind, name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
        if kind != "console":
            continue
        for command, code, lines in _commands(text):
            done = _run(command, tmp_path)
            assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr[-2000:]}"
            seen = (done.stdout + done.stderr).splitlines()
            for line in lines:
                assert line.strip() == "…" or _shown(line, seen), f"{line}\nnot in:\n{done.stdout}"


def test_there_are_pages():
    assert len(PAGES) >= 6
