"""Files that a killed process wrote aside are removed by the next one, and only those."""

import os
import subprocess
import sys
import time

import pytest

from isomorph.store.atomic import new_file, new_folder

_KILLED = """
import os, pathlib
from isomorph.store.atomic import new_file, new_folder
with new_file(pathlib.Path("a")) as file, new_folder(pathlib.Path("b")) as folder:
    file.write(b"half"); file.flush()
    (folder / "part").write_bytes(b"half")
    os.kill(os.getpid(), 9)
"""


def _age(folder):
    long_ago = time.time() - 3600
    for path in folder.iterdir():
        os.utime(path, (long_ago, long_ago))


def test_what_a_killed_process_wrote_aside_goes_with_the_next_write(tmp_path):
    subprocess.run([sys.executable, "-c", _KILLED], cwd=tmp_path, check=False)
    assert len(list(tmp_path.glob(".isomorph-*"))) == 2
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
    _age(tmp_path)
    with new_file(tmp_path / "c") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("name", [".isomorph-notes", ".isomorph-0123456789abcdefg", "other"])
def test_what_is_not_ours_stays(tmp_path, name):
    (tmp_path / name).write_text("mine")
    _age(tmp_path)
    with new_file(tmp_path / "c"):
        pass
    assert (tmp_path / name).read_text() == "mine"


def test_what_somebody_is_writing_stays(tmp_path):
    with new_folder(tmp_path / "slow") as slow, new_file(tmp_path / "also") as file:
        (slow / "part").write_bytes(b"1")
        _age(tmp_path)
        with new_file(tmp_path / "quick"):
            pass
        (slow / "rest").write_bytes(b"2")
        file.write(b"3")
    assert sorted(path.name for path in (tmp_path / "slow").iterdir()) == ["part", "rest"]
    assert (tmp_path / "also").read_bytes() == b"3"
