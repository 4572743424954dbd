"""A, C and D for ExecuTorch, OpenVINO, Core ML and JAX: cut, of another kind, or leading out."""

import json
import struct
from pathlib import Path

import pytest

from coreml_building import small, small_package
from openvino_building import Net

SEEDS = Path(__file__).parents[3] / "benchmarks" / "fuzzing" / "seeds"
PROGRAM = (SEEDS / "executorch" / "portable.pte").read_bytes()
FUNCTION = (SEEDS / "jax" / "one.jax").read_bytes()


def network(path, **changes):
    """A product with two weights; changes replace words of the XML."""
    import numpy as np

    net = Net()
    w = net.constant("w", np.arange(6, dtype=np.float32).reshape(3, 2))
    product = net.op("y", "MatMul", [net.parameter("x", (2, 3)), w], (2, 2))
    net.result(product)
    net.write(path)
    text = path.read_text(encoding="utf-8")
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("share", [1 / 4, 1 / 2, 9 / 10])
def test_a01_a_program_of_executorch_that_was_cut(isomorph, tmp_path, share):
    (tmp_path / "m.pte").write_bytes(PROGRAM[: int(len(PROGRAM) * share)])
    isomorph("inspect", "m.pte").refused("MODEL_TRUNCATED", file="m.pte")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.pte", PROGRAM[:4] + b"ET99" + PROGRAM[8:]),
        ("m.jax", b"\x08\0\0\0" + FUNCTION[-200:]),
        ("m.mlmodel", b"\xff" * 64),
        ("m.xml", b"<model/>"),
    ],
    ids=["executorch", "jax", "coreml", "openvino"],
)
def test_a03_another_kind_of_file_is_no_model(isomorph, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    ran = isomorph("inspect", name)
    assert ran.exit == 2, ran
    assert ran.message[0].startswith("error[NOT_A_MODEL]"), ran


def test_a01_an_openvino_graph_that_was_cut(isomorph, tmp_path):
    path = network(tmp_path / "m.xml")
    path.write_bytes(path.read_bytes()[:-40])
    isomorph("inspect", "m.xml").refused("MODEL_TRUNCATED", file="m.xml")


def test_c09_a_program_of_executorch_that_claims_more_than_it_holds(isomorph, tmp_path):
    """Every aligned number in turn becomes the largest one."""
    path = tmp_path / "m.pte"
    for place in range(8, len(PROGRAM) - 4, len(PROGRAM) // 12 & ~3):
        whole = bytearray(PROGRAM)
        struct.pack_into("<I", whole, place, 0x7FFFFFFF)
        path.write_bytes(whole)
        ran = isomorph("inspect", "m.pte", within=30)
        assert ran.exit in (0, 2), ran
        path.unlink()


def test_c09_a_function_of_jax_whose_module_claims_more_than_it_holds(isomorph, tmp_path):
    place = FUNCTION.index(b"ML\xefR") - 4
    whole = bytearray(FUNCTION)
    struct.pack_into("<I", whole, place, 0x7FFFFFFF)
    (tmp_path / "m.jax").write_bytes(whole)
    ran = isomorph("inspect", "m.jax", within=60)
    assert ran.exit == 2, ran


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('shape="3, 2"', 'shape="4294967296, 4294967296"', "TENSOR_SIZE_MISMATCH"),
        ('size="24"', 'size="9223372036854775807"', "TENSOR_SIZE_MISMATCH"),
        ('offset="0"', 'offset="9223372036854775807"', "EXTERNAL_DATA_SHORT"),
        ('offset="0"', 'offset="-8"', "EXTERNAL_DATA_SHORT"),
    ],
)
def test_c09_sizes_that_no_file_of_weights_has(isomorph, tmp_path, old, new, code):
    network(tmp_path / "m.xml", change=(old, new))
    ran = isomorph("inspect", "m.xml", within=30)
    assert ran.exit == 2, ran
    assert f"error[{code}]" in ran.err or "error[BAD_DIMS]" in ran.err, ran


@pytest.mark.parametrize("kind", ["link", "hard link", "missing"])
def test_d03_weights_of_openvino_that_lie_elsewhere(isomorph, tmp_path, kind):
    (tmp_path / "net").mkdir()
    network(tmp_path / "net" / "m.xml")
    weights, secret = tmp_path / "net" / "m.bin", tmp_path / "secret"
    weights.rename(secret)
    if kind == "link":
        weights.symlink_to(secret)
    elif kind == "hard link":
        weights.hardlink_to(secret)
    code, exit_code = (
        ("EXTERNAL_DATA_SHORT", 2) if kind == "missing" else ("EXTERNAL_DATA_ESCAPE", 4)
    )
    isomorph("inspect", "net/m.xml").refused(code, exit_code=exit_code)


@pytest.mark.parametrize("kind", ["weights", "folder", "specification"])
def test_d03_files_of_a_package_that_are_links_out_of_it(isomorph, tmp_path, kind):
    path = small_package(tmp_path / "m.mlpackage")
    inside = path / "Data" / "com.apple.CoreML"
    moved = {
        "weights": inside / "weights" / "weight.bin",
        "folder": inside / "weights",
        "specification": inside / "model.mlmodel",
    }[kind]
    moved.rename(tmp_path / "outside")
    moved.symlink_to(tmp_path / "outside")
    isomorph("inspect", "m.mlpackage").refused("EXTERNAL_DATA_ESCAPE", exit_code=4)


def test_d01_weights_of_a_program_that_name_a_file_above(isomorph, tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    file = path / "Data" / "com.apple.CoreML" / "model.mlmodel"
    name = b"@model_path/weights/weight.bin"
    assert name in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(name, b"@model_path/../../../secret.bi"))
    (tmp_path / "secret.bi").write_bytes(small())
    isomorph("inspect", "m.mlpackage").refused("EXTERNAL_DATA_ESCAPE", exit_code=4)


def test_c09_a_manifest_of_brackets(isomorph, tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    manifest = path / "Manifest.json"
    stated = json.loads(manifest.read_text())
    text = json.dumps(stated | {"rootModelIdentifier": 0}).replace(
        '"rootModelIdentifier": 0', '"rootModelIdentifier": ' + "[" * 100_000
    )
    manifest.write_text(text)
    isomorph("inspect", "m.mlpackage").refused("INVALID_GRAPH", mentions=("Manifest.json",))
