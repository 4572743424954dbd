"""Members of an archive, read where they lie."""

import io
import os
import zipfile

import pytest

from isomorph.store.zip_members import member_names, members


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_read_as_the_files_they_are(method, tmp_path):
    path = tmp_path / "a.zip"
    expected = {"one.h5": bytes(range(256)) * 50, "sub/two.h5": b"x", "three.h5": b""}
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("other.json", "{}")
        for name, data in expected.items():
            archive.writestr(name, data)
    assert [member.read() for member in members(path, ".h5")] == list(expected.values())


def test_one_can_go_back_and_never_beyond_the_end(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m.h5", b"0123456789")
        archive.writestr("z", b"SECRET")
    iteration = members(path, ".h5")
    member = next(iteration)
    assert member.read(4) == b"0123"
    assert member.seek(-2, io.SEEK_END) == 8
    assert member.read() == b"89"
    assert member.seek(1) == 1
    assert member.seek(2, io.SEEK_CUR) == 3
    assert member.read(2) == b"34"
    member.seek(100)
    assert member.read() == b""
    iteration.close()


def test_the_directory_of_a_file_is_read_again_only_when_the_file_has_changed(
    tmp_path, monkeypatch
):
    path, read = tmp_path / "a.zip", []
    usual = zipfile.ZipFile

    def counted(*given):
        read.append(given)
        return usual(*given)

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("one", b"1")
    monkeypatch.setattr(zipfile, "ZipFile", counted)
    assert [member_names(path) for _ in range(3)] == [("one",)] * 3
    assert len(read) == 1
    with usual(path, "a") as archive:
        archive.writestr("two", b"2")
    assert member_names(path) == ("one", "two")
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert member_names(path) == ("one", "two")
    assert len(read) == 3
