"""Both files are written, complete, and read as what they were."""

import pytest

from isomorph.core.errors import RefusedError
from isomorph.frameworks.openvino.read import open_path
from isomorph.frameworks.openvino.save import save
from openvino_building import network


def test_a_copy_reads_as_the_original(tmp_path):
    path = network(tmp_path / "m.xml")
    model, _ = open_path(path)
    save(model, tmp_path / "copy.xml")
    again, _ = open_path(tmp_path / "copy.xml")
    assert again.graph.layers == model.graph.layers
    assert (tmp_path / "copy.bin").read_bytes() == path.with_suffix(".bin").read_bytes()
    assert {each.name for each in tmp_path.iterdir()} == {"m.xml", "m.bin", "copy.xml", "copy.bin"}


def test_weights_are_not_written_over_either(tmp_path):
    path = network(tmp_path / "m.xml")
    model, _ = open_path(path)
    with pytest.raises(RefusedError):
        save(model, tmp_path / "m.other")
