"""Files and folders are whole or absent, and what was there before stays until they are whole."""

import errno

import pytest

from isomorph.core.errors import RefusedError, RuntimeFailedError, UsageError
from isomorph.store.atomic import copy_folder, new_file, new_folder


def test_a_file_takes_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"before")
    with new_file(path) as file:
        file.write(b"after")
        file.flush()
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


def _fails_after(file):
    file.write(b"half")
    raise ZeroDivisionError


def test_a_block_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), new_file(path) as file:
        _fails_after(file)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_takes_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "d"
    with new_folder(path) as aside:
        (aside / "a").write_text("x")
        assert not path.exists()
    assert (path / "a").read_text() == "x"
    assert list(tmp_path.iterdir()) == [path]


def _fails_within(folder):
    (folder / "a").write_text("x")
    raise ZeroDivisionError


def test_a_folder_that_fails_is_absent(tmp_path):
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "d") as aside:
        _fails_within(aside)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_replaced_and_nothing_else_is(tmp_path):
    path = tmp_path / "d"
    path.mkdir()
    with new_folder(path) as aside:
        (aside / "a").touch()
    assert (path / "a").exists()
    file = tmp_path / "f"
    file.touch()
    for taken in (path, file):
        with pytest.raises(UsageError) as caught, new_folder(taken):
            pass
        assert caught.value.code == "OUTPUT_EXISTS"


def test_nothing_is_written_through_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"kept")
    link.symlink_to(target)
    for writer in (new_file, new_folder):
        with pytest.raises(RefusedError) as caught, writer(link):
            pass
        assert caught.value.code == "OUTPUT_IS_LINK"
    assert target.read_bytes() == b"kept"
    assert link.is_symlink()


def test_a_full_disk_is_no_wrong_use_and_another_failure_is(tmp_path):
    for number, kind, code in (
        (errno.ENOSPC, RuntimeFailedError, "DISK_FULL"),
        (errno.EDQUOT, RuntimeFailedError, "DISK_FULL"),
        (errno.EROFS, UsageError, "OUTPUT_UNWRITABLE"),
    ):
        with pytest.raises(kind) as caught, new_file(tmp_path / "f"):
            raise OSError(number, "reason")
        assert caught.value.code == code
        assert "reason" in caught.value.why
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_wrong_use(tmp_path):
    with pytest.raises(UsageError) as caught, new_file(tmp_path / "none" / "f"):
        pass
    assert caught.value.code == "OUTPUT_UNWRITABLE"


def test_a_folder_is_copied_with_other_bytes_and_without_links(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "in").mkdir(parents=True)
    (source / "kept").write_bytes(b"kept")
    (source / "in" / "changed").write_bytes(b"before")
    (source / "link").symlink_to(tmp_path)
    copy_folder(source, target, {(source / "in" / "changed").resolve(): b"after"})
    found = {str(each.relative_to(target)): each for each in target.rglob("*")}
    assert set(found) == {"kept", "in", "in/changed"}
    assert (found["kept"].read_bytes(), found["in/changed"].read_bytes()) == (b"kept", b"after")
