"""An archive is refused before anything is extracted where its directory would do harm."""

import stat
import struct
import warnings
import zipfile

import pytest

from isomorph.core.errors import RefusedError
from isomorph.store import zip_safety
from isomorph.store.zip_safety import check_archive


@pytest.fixture
def archive(tmp_path):
    """Writes an archive with these members; a member is a name, or one with more about it."""

    def written(*members, content=b"content", kind=zipfile.ZIP_STORED):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", kind) as made, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for each in members:
                made.writestr(each, content)
        return path

    return written


def refused(path):
    with pytest.raises(RefusedError) as caught:
        check_archive(path)
    return caught.value.code


def test_the_members_of_an_honest_archive_are_listed(archive):
    assert check_archive(archive("a.txt", "folder/b..txt")) == ("a.txt", "folder/b..txt")


@pytest.mark.parametrize(
    "name", ["../a", "a/../../b", "/etc/x", "a\\..\\b", "C:x", "c:\\x", "\\x", ".."]
)
def test_a_name_that_leads_out_is_refused(archive, name):
    assert refused(archive(name)) == "ARCHIVE_TRAVERSAL"


def test_what_stands_behind_a_nul_is_seen(archive):
    path = archive("aXb")
    path.write_bytes(path.read_bytes().replace(b"aXb", b"a\0b"))
    assert refused(path) == "ARCHIVE_TRAVERSAL"


def test_a_symbolic_link_and_a_name_that_occurs_twice_are_refused(archive):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert refused(archive(link)) == "ARCHIVE_TRAVERSAL"
    assert refused(archive("a", "a")) == "ARCHIVE_TRAVERSAL"


def test_an_archive_that_grows_too_much_is_refused_where_that_does_harm(archive, monkeypatch):
    path = archive("zeros", content=bytes(1 << 20), kind=zipfile.ZIP_DEFLATED)
    assert check_archive(path) == ("zeros",)
    monkeypatch.setattr(zip_safety, "BOMB_BYTES", 1 << 19)
    assert refused(path) == "ARCHIVE_BOMB"
    assert check_archive(archive("noise", content=bytes(1 << 20))) == ("noise",)


def test_a_member_that_lies_about_its_size_is_refused(archive):
    path = archive("a")
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, 1 << 20)
    path.write_bytes(data)
    assert refused(path) == "ARCHIVE_BOMB"


def test_members_that_share_their_bytes_are_refused(archive):
    path = archive("aa", "bb")
    data = bytearray(path.read_bytes())
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, second + 42, 0)
    path.write_bytes(data)
    assert refused(path) == "ARCHIVE_BOMB"


def test_a_directory_that_is_itself_too_long_is_refused(archive, monkeypatch):
    path = archive(*(f"member {place}" for place in range(50)))
    monkeypatch.setattr(zip_safety, "DIRECTORY_BYTES", 100)
    assert refused(path) == "ARCHIVE_BOMB"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-5],
        lambda data: data + b"tail",
        lambda data: b"head" + data,
        lambda data: b"",
        lambda data: b"no archive at all",
    ],
)
def test_what_is_cut_or_has_something_around_it_is_no_archive(archive, change):
    path = archive("a")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(zipfile.BadZipFile):
        check_archive(path)


def test_a_comment_at_the_end_belongs_to_the_archive(archive):
    path = archive("a")
    with zipfile.ZipFile(path, "a") as made:
        made.comment = b"made by hand"
    assert check_archive(path) == ("a",)
