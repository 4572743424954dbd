"""A file that is complete is not called cut off, though its framework refuses it."""

import zipfile

import pytest

from isomorph.store.intact_files import intact


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("code.py", "x" * 500)
        opened.writestr("data.pkl", "y" * 500)
    return path


def test_a_whole_archive_is_intact(archive):
    assert intact(archive)


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_cut_archive_is_not(archive, kept):
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * kept)])
    assert not intact(archive)


def test_a_stream_that_cannot_be_unpacked_is_not(tmp_path):
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("code.py", bytes(range(256)) * 20)
    data = bytearray(path.read_bytes())
    data[60:120] = b"\xff" * 60
    path.write_bytes(bytes(data))
    assert not intact(path)


def test_a_wrong_byte_in_an_archive_is_seen(archive):
    archive.write_bytes(
        archive.read_bytes().replace(b"xxxxyyyy", b"xxxxzyyy").replace(b"yy", b"yz", 1)
    )
    assert not intact(archive)


@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_hdf5_knows_its_length(tmp_path, kept):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "net.h5"
    with h5py.File(path, "w") as opened:
        opened.create_dataset("layers/kernel", data=[[1.0] * 64] * 64)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    assert intact(path) is (kept == 1.0)


def test_other_bytes_and_folders_are_not_known(tmp_path):
    other = tmp_path / "net.pb"
    other.write_bytes(b"\x08\x01")
    assert not intact(other)
    assert not intact(tmp_path)
