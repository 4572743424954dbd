"""Copies of packages and files."""

import pytest

from coreml_building import small, small_package
from isomorph.core.errors import IsomorphError, RefusedError
from isomorph.frameworks.coreml.package import open_model
from isomorph.frameworks.coreml.save import save


def files(folder):
    found = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found}


def test_a_package_is_copied_as_it_is(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    opened, copy = open_model(path), tmp_path / "copy.mlpackage"
    save(opened.program, copy)
    assert files(copy) == files(path)
    assert open_model(copy).digest == opened.digest


def test_another_specification_and_other_weights_take_their_places(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    program, copy = open_model(path).program, tmp_path / "copy.mlpackage"
    (name,) = program.weights
    save(program, copy, data=b"other", weights={name: b"numbers"})
    changed = files(copy)
    assert changed["Data/com.apple.CoreML/model.mlmodel"] == b"other"
    assert changed["Data/com.apple.CoreML/weights/weight.bin"] == b"numbers"
    assert changed["Manifest.json"] == files(path)["Manifest.json"]


def test_nothing_is_written_over_what_is_read(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    with pytest.raises(RefusedError):
        save(open_model(path).program, path)
    file = tmp_path / "m.mlmodel"
    file.write_bytes(small())
    with pytest.raises(RefusedError):
        save(open_model(file).program, file)
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    with pytest.raises(IsomorphError):
        save(open_model(path).program, full)
    assert files(full) == {"mine": b"x"}


def test_a_link_inside_a_package_is_not_followed(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    program = open_model(path).program
    (tmp_path / "secret").write_text("x")
    (path / "link").symlink_to(tmp_path / "secret")
    save(program, tmp_path / "copy.mlpackage")
    assert not (tmp_path / "copy.mlpackage" / "link").exists()
