"""A key changes with everything that an answer follows from, and with nothing else."""

import os
from dataclasses import replace

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.sweep import Cell
from isomorph.store.sweep_store import SweepStore
from isomorph.sweeping.cell_keys import CellKeys, versions


@pytest.fixture
def store(tmp_path):
    with SweepStore(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def cell(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (models / "a.onnx").write_bytes(b"reference")
    (models / "b.onnx").write_bytes(b"candidate with weights in b.data")
    (models / "b.data").write_bytes(b"weights")
    (models / "other.data").write_bytes(b"of another model")
    return Cell(
        model="m", environment="e", shard="", seed=0,
        reference=str(models / "a.onnx"), candidate=str(models / "b.onnx"),
    )  # fmt: skip


def key(store, cell, installed=None):
    return CellKeys(store, installed or {"isomorph": "1"}).key(cell)


def test_names_and_times_do_not_count(store, cell, tmp_path):
    before = key(store, cell)
    os.utime(tmp_path / "models" / "a.onnx", (1, 1))
    assert key(store, replace(cell, model="renamed", environment="other")) == before


@pytest.mark.parametrize("name", ["a.onnx", "b.onnx", "b.data"])
def test_the_bytes_of_models_and_their_weights_count(store, cell, tmp_path, name):
    before = key(store, cell)
    path = tmp_path / "models" / name
    path.write_bytes(path.read_bytes() + b".")
    assert key(store, cell) != before


def test_a_file_that_the_model_does_not_name_does_not_count(store, cell, tmp_path):
    before = key(store, cell)
    (tmp_path / "models" / "other.data").write_bytes(b"changed")
    assert key(store, cell) == before


def test_options_seeds_and_versions_count(store, cell):
    plain = key(store, cell)
    others = {
        key(store, replace(cell, seed=1)),
        key(store, replace(cell, options={"strict": True})),
        key(store, cell, {"isomorph": "2"}),
        plain,
    }
    assert len(others) == 4


def test_the_files_of_a_data_set_count(store, cell, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "0.npz").write_bytes(b"0")
    given = replace(cell, options={"data": str(data)})
    before = key(store, given)
    (data / "1.npz").write_bytes(b"1")
    assert key(store, given) != before


def test_the_weights_of_a_pair_of_files_count(store, cell, tmp_path):
    for name in ("ir.xml", "ir.bin"):
        (tmp_path / "models" / name).write_bytes(name.encode())
    given = replace(cell, candidate=str(tmp_path / "models" / "ir.xml"))
    before = key(store, given)
    (tmp_path / "models" / "ir.bin").write_bytes(b"changed")
    assert key(store, given) != before


def test_a_file_that_is_missing_is_named(store, cell):
    with pytest.raises(UsageError, match="no such file"):
        key(store, replace(cell, candidate="absent.onnx"))


def test_versions_are_those_of_everything_installed():
    found = versions()
    assert {"isomorph", "python", "numpy", "onnxruntime"} <= set(found)


def test_the_packages_of_another_environment_count(store, cell):
    elsewhere = replace(cell, options={"runtime": {"candidate": "onnxruntime@/envs/one"}})

    def key_with(version):
        asked = []

        def packages(place):
            asked.append(place)
            return {"onnxruntime": version}

        found = CellKeys(store, {"isomorph": "1"}, packages).key(elsewhere)
        assert asked == ["/envs/one"]
        return found

    assert key_with("1.0") == key_with("1.0")
    assert key_with("1.0") != key_with("1.1")
    assert key_with("1.0") != key(store, cell)
