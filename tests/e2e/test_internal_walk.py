"""The walk through the code in docs/internals is what happens, step by step and in that order."""

import re
import sys
import threading
from contextlib import suppress
from pathlib import Path

import onnx
import pytest

import isomorph
from isomorph.__main__ import main

ROOT = Path(isomorph.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "internals" / "README.md"
ELSEWHERE = ("core/", "tests/", "workers/", "store/shared_arrays.py")
"""Nouns, which are written and read everywhere, and what a check in one process does without."""

NETWORK = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y)'
    " {{ [bend] h = HardSigmoid<alpha: float = {alpha}>(x) [end] y = Tanh(h) }}"
)


def steps(chapter):
    """The files that a chapter of the page names, in its order; patterns stand for any file."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition(f"## {chapter}\n")
    names = re.findall(r"`([\w/]+\.py|causes/|fixes/)`", text.partition("\n## ")[0])
    assert len(names) > 10, "the page has no such chapter"
    return [name for name in names if not name.startswith(ELSEWHERE)]


def calls_of(monkeypatch, *words):
    """The modules of isomorph whose functions a command calls, in order."""
    found = []

    def note(frame, event, _):
        # Flag 1: a function, and not the body of a module or a class.
        if event == "call" and frame.f_code.co_flags & 1:
            path = frame.f_code.co_filename
            if path.startswith(str(ROOT)) and (not found or found[-1] != path):
                found.append(path)

    monkeypatch.setattr(sys, "argv", ["isomorph", *words, "--in-process"])
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with suppress(SystemExit):
            main()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [Path(path).relative_to(ROOT).as_posix() for path in found]


def follow(names, called):
    """Each step is taken behind the one before it; returns the first that is not."""
    rest = iter(called)
    for name in names:
        if not any(each.startswith(name) for each in rest):
            return name
    return None


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    for name, alpha in (("a", 0.1), ("b", 0.2)):
        model = onnx.parser.parse_model(NETWORK.format(alpha=alpha))
        onnx.save(model, folder / f"{name}.onnx")
    return folder


def test_the_life_of_a_tensor_and_of_a_finding(pair, monkeypatch):
    monkeypatch.chdir(pair)
    called = calls_of(monkeypatch, "check", "a.onnx", "b.onnx")
    assert follow(steps("The life of a tensor"), called) is None
    report = ("check", "a.onnx", "b.onnx", "--format", "json", "-o", "report.json")
    called = calls_of(monkeypatch, *report)
    called += calls_of(monkeypatch, "fix", "report.json", "-o", "repaired.onnx")
    assert follow(steps("The life of a finding"), called) is None


def test_a_step_back_is_seen():
    assert follow(["a.py", "b.py"], ["b.py", "a.py"]) == "b.py"
    assert follow(["causes/", "b.py"], ["causes/shape.py", "b.py"]) is None
