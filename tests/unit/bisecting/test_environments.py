"""An environment is made once for each release, and what does not install is an answer."""

import json
import sys
from pathlib import Path

import pytest

from isomorph.bisecting.environments import (
    Ended,
    ReleaseEnvironments,
    ReleaseUnusableError,
    default_cache,
    run_program,
)
from isomorph.core.errors import RuntimeFailedError, UsageError

INDEX = "package (1.2)\nAvailable versions: 1.2, 1.1, 1.0\n"


class Programs:
    """Answers in the place of venv, pip and the interpreters of environments."""

    def __init__(self, *, broken=(), numpy1=(), index=INDEX, venv=0):
        self.calls, self.broken, self.numpy1 = [], broken, numpy1
        self.index, self.venv = index, venv
        self.installed = {}

    def __call__(self, words):
        self.calls.append(list(words))
        if "venv" in words:
            Path(words[-1], "bin").mkdir(parents=True, exist_ok=True)
            return Ended(exit_code=self.venv, output="", errors="ERROR: no room" * self.venv)
        if "index" in words:
            return Ended(exit_code=0, output=self.index, errors="a warning")
        if "install" in words:
            python = words[words.index("--python") + 1]
            wanted = [each for each in words[words.index("install") + 1 :] if each[0] != "-"]
            self.installed[python] = wanted
            failed = wanted[0].partition("==")[2] in self.broken
            errors = "WARNING: x\nERROR: No matching distribution\nWARNING: y" if failed else ""
            return Ended(exit_code=int(failed), output="", errors=errors)
        if words[2] == "import package":
            package, numpy = self.installed[words[0]][:2]
            wrong = package.partition("==")[2] in self.numpy1 and numpy == "numpy"
            return Ended(exit_code=int(wrong), output="", errors="ImportError: NumPy 2" * wrong)
        return Ended(exit_code=0, output=json.dumps({"numpy": "2.0"}), errors="")

    def count(self, word):
        return sum(word in each for each in self.calls)


def environments(tmp_path, programs, **stated):
    return ReleaseEnvironments(
        "package", exchange="import package", cache=tmp_path / "cache", run=programs, **stated
    )


def test_releases_are_those_of_the_index(tmp_path):
    assert environments(tmp_path, Programs()).releases() == ("1.2", "1.1", "1.0")


def test_a_name_that_the_index_does_not_know_is_refused(tmp_path):
    programs = Programs(index="")
    with pytest.raises(UsageError) as caught:
        environments(tmp_path, programs).releases()
    assert caught.value.code == "NO_RELEASES"


def test_an_environment_is_made_once(tmp_path):
    programs = Programs()
    first = environments(tmp_path, programs).make("1.0")
    assert first.packages == {"numpy": "2.0"}
    assert Path(first.interpreter).is_relative_to(tmp_path / "cache")
    count = len(programs.calls)
    assert environments(tmp_path, programs).make("1.0") == first
    assert len(programs.calls) == count
    assert environments(tmp_path, programs).make("1.1").interpreter != first.interpreter


def test_what_an_interrupted_search_left_is_made_anew(tmp_path):
    programs = Programs()
    made = environments(tmp_path, programs).make("1.0")
    folder = Path(made.interpreter).parent.parent
    (folder / "half").write_text("", encoding="utf-8")
    (folder / "isomorph-environment.json").unlink()
    environments(tmp_path, programs).make("1.0")
    assert not (folder / "half").exists()


def test_a_release_for_numpy_1_gets_it(tmp_path):
    programs = Programs(numpy1=("1.0",))
    made = environments(tmp_path, programs).make("1.0")
    assert programs.installed[made.interpreter] == ["package==1.0", "numpy<2"]
    other = environments(tmp_path, programs).make("1.1")
    assert programs.installed[other.interpreter] == ["package==1.1", "numpy"]


def test_a_release_that_does_not_install_says_why(tmp_path):
    with pytest.raises(ReleaseUnusableError, match=r"^No matching distribution$"):
        environments(tmp_path, Programs(broken=("1.0",))).make("1.0")


def test_further_requirements_belong_to_the_environment(tmp_path):
    programs = Programs()
    plain = environments(tmp_path, programs).make("1.0")
    more = environments(tmp_path, programs, extra=("onnx",)).make("1.0")
    assert plain.interpreter != more.interpreter
    assert programs.installed[more.interpreter][-1] == "onnx"


def test_an_environment_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(RuntimeFailedError) as caught:
        environments(tmp_path, Programs(venv=1)).make("1.0")
    assert caught.value.code == "ENVIRONMENT_NOT_MADE"


def test_a_cache_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        environments(tmp_path, Programs()).make("1.0")
    assert caught.value.code == "OUTPUT_UNWRITABLE"


def test_the_folder_of_the_user_is_kept_to(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "isomorph" / "environments"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache" / "isomorph" / "environments"


def test_a_program_is_run_without_paths_of_ours(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ended = run_program([sys.executable, "-c", "import os; print('PYTHONPATH' in os.environ)"])
    assert (ended.exit_code, ended.output.strip()) == (0, "False")
