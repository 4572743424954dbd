"""A stamp changes with the file, and is only relied on where it must."""

import os
import time

from isomorph.store.file_stamp import settled_stamp, stamp_of


def test_a_stamp_is_that_of_the_path_and_of_the_open_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    with path.open("rb") as file:
        assert stamp_of(path) == stamp_of(file.fileno()) is not None
    before = stamp_of(path)
    path.write_bytes(b"more")
    assert stamp_of(path) != before
    path.unlink()
    assert stamp_of(path) is settled_stamp(path) is None


def test_a_file_that_was_just_written_has_no_settled_stamp(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    assert settled_stamp(path) is None
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    assert settled_stamp(path) == stamp_of(path)
