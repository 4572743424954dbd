"""Files of a cell are written as they lay, so that a model finds its weights."""

import hashlib
import os

from isomorph.sweeping.remote_files import absent_words, is_here, write_files
from isomorph.sweeping.task import CellFile


def file(content, path="/away/x", name=""):
    digest = hashlib.sha256(content).hexdigest()
    return CellFile(path=str(path), name=name, digest=digest, size=len(content))


def test_weights_lie_beside_their_model(tmp_path):
    files = (file(b"model"), file(b"1", name="net.data"), file(b"2", name="more/net.data"))
    parts = {each.digest: [content] for each, content in zip(files, (b"model", b"1", b"2"),
                                                             strict=True)}  # fmt: skip
    place = write_files("/away/net.onnx", files, parts, bytes, tmp_path)
    assert place == tmp_path / "net.onnx"
    assert place.read_bytes() == b"model"
    assert (tmp_path / "net.data").read_bytes() == b"1"
    assert (tmp_path / "more" / "net.data").read_bytes() == b"2"


def test_a_folder_keeps_its_files_inside(tmp_path):
    files = (file(b"1", name="saved_model.pb"), file(b"", name="variables/index"))
    parts = {files[0].digest: [b"1"], files[1].digest: []}
    place = write_files("/away/network", files, parts, bytes, tmp_path)
    assert place == tmp_path / "network"
    assert (place / "saved_model.pb").read_bytes() == b"1"
    assert (place / "variables" / "index").read_bytes() == b""


def test_a_file_is_read_again_after_it_changed(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"model")
    stated = file(b"model", path)
    assert is_here(stated)
    path.write_bytes(b"ledom")
    os.utime(path, (5, 5))  # two writes within one tick of the clock have one time
    assert not is_here(stated)
    assert absent_words({"word": (stated,), "none": ()}) == ["word"]
