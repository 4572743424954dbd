"""A lock has one holder."""

from isomorph.store.file_lock import FileLock


def test_one_holder_at_a_time(tmp_path):
    first = FileLock(tmp_path / "lock")
    second = FileLock(tmp_path / "lock")
    assert (first.taken, second.taken) == (True, False)
    first.release()
    third = FileLock(tmp_path / "lock")
    assert third.taken
    third.release()
