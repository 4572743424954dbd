import os
import stat
import subprocess
import sys
import tempfile
import time

import pytest

from isomorph.core.errors import UsageError
from isomorph.store.tempdirs import TempDirs


@pytest.fixture
def parent(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def age(folder):
    long_ago = time.time() - 3600
    os.utime(folder, (long_ago, long_ago))


def test_it_is_private_and_goes_without_a_trace(parent):
    scratch = TempDirs()
    assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
    inner = scratch.folder("w0")
    (inner / "file").write_bytes(b"x")
    assert not list(scratch.folder("w0").iterdir())
    scratch.remove()
    scratch.remove()
    assert not list(parent.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next(parent):
    program = "import os; from isomorph.store.tempdirs import TempDirs; TempDirs(); os.abort()"
    environ = {**os.environ, "TMPDIR": str(parent)}
    subprocess.run([sys.executable, "-c", program], env=environ, check=False)
    (left,) = parent.iterdir()
    young = TempDirs()
    assert left.exists(), "it may be between its making and its locking"
    age(left)
    old = TempDirs()
    assert not left.exists()
    young.remove()
    old.remove()


def test_what_somebody_still_holds_or_never_was_ours_is_left_alone(parent):
    in_use = TempDirs()
    strange = parent / "isomorph-strange"
    strange.mkdir()
    for folder in (in_use.path, strange):
        age(folder)
    other = TempDirs()
    assert in_use.path.exists()
    assert strange.exists()
    in_use.remove()
    other.remove()


def test_a_full_disk_is_an_error_for_the_user(parent, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(parent / "missing"))
    with pytest.raises(UsageError, match="no temporary folder") as raised:
        TempDirs()
    assert "TMPDIR" in raised.value.fix
