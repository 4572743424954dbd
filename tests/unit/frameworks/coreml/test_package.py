"""Packages and files as they are found: recognized, bounded, never left."""

import json
import os

import numpy as np
import pytest

from coreml_building import (
    INPUTS,
    OUTPUTS,
    Block,
    Weights,
    message,
    network,
    number,
    package,
    small,
    small_package,
    specification,
)
from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.frameworks.coreml.package import (
    looks_like_package,
    looks_like_specification,
    open_model,
)


def read_whole(path):
    opened = open_model(path).program
    for each in opened.block.operations:
        if "val" in each.attributes:
            opened.array(each.attributes["val"])


def refused(path, code, kind=UnreadableModelError):
    with pytest.raises(kind) as caught:
        read_whole(path)
    assert caught.value.code == code
    return caught.value


def with_manifest(folder, change):
    path = small_package(folder)
    stated = json.loads((path / "Manifest.json").read_text())
    change(stated)
    (path / "Manifest.json").write_text(json.dumps(stated))
    return path


def with_value(folder, make):
    """A package with one weight, whose value ``make`` builds from a weight file."""
    weights, block = Weights(), Block()
    block.const("w", np.ones(4, np.float32), make(weights))
    block.op("add", "out", "float32", (4,), x="x", y="w")
    data = specification(block, [("x", "float32", (4,))], ["out"])
    return package(folder, data, weights)


def test_a_package_and_a_file_are_known_by_content(tmp_path):
    path = small_package(tmp_path / "model.bin")
    assert looks_like_package(path)
    assert looks_like_specification(small())
    assert not looks_like_package(tmp_path)
    onnx_like = number(1, 9) + message(2, "producer") + message(7, b"graph")
    assert not looks_like_specification(onnx_like)
    assert not looks_like_specification(b"")


def test_a_package_and_a_file_hold_the_same_program(tmp_path):
    inside = open_model(small_package(tmp_path / "m.mlpackage"))
    file = tmp_path / "m.mlmodel"
    file.write_bytes(small())
    alone = open_model(file)
    assert inside.digest != alone.digest
    assert inside.program.outputs == alone.program.outputs == OUTPUTS
    values = [
        [p.array(o.attributes["val"]) for o in p.block.operations if o.type == "const"]
        for p in (inside.program, alone.program)
    ]
    assert len(values[0]) > 10
    for one, other in zip(*values, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def test_the_outputs_come_in_the_order_of_the_description(tmp_path):
    path = tmp_path / "m.mlmodel"
    path.write_bytes(specification(network(), INPUTS, OUTPUTS[::-1]))
    assert open_model(path).program.outputs == OUTPUTS[::-1]


@pytest.mark.parametrize("field", [500, 403, 303])
def test_the_old_format_is_refused_with_the_way_out(tmp_path, field):
    path = tmp_path / "old.mlmodel"
    path.write_bytes(number(1, 4) + message(2, b"") + message(field, b""))
    assert looks_like_specification(path.read_bytes())
    error = refused(path, "UNSUPPORTED_FORMAT")
    assert "neural network" in error.what
    assert "mlprogram" in error.fix


def test_an_empty_file_and_a_cut_one_are_refused(tmp_path):
    path = tmp_path / "m.mlmodel"
    path.write_bytes(b"")
    refused(path, "MODEL_EMPTY")
    data = small()
    path.write_bytes(data[: len(data) * 2 // 3])
    assert "byte" in refused(path, "MODEL_TRUNCATED").where


@pytest.mark.parametrize(
    "location", ["../../x", "/etc/passwd", "C:\\x", "com.apple.CoreML/../../../x", "", "a\ud800"]
)
def test_a_manifest_that_leads_out_of_the_package_is_refused(tmp_path, location):
    def change(stated):
        stated["itemInfoEntries"]["A"]["path"] = location

    path = with_manifest(tmp_path / "m.mlpackage", change)
    error = refused(path, "EXTERNAL_DATA_ESCAPE", RefusedError)
    assert error.exit_code == 4


def test_a_value_that_leads_out_of_the_package_is_refused(tmp_path):
    (tmp_path / "secret.bin").write_bytes(bytes(256))
    path = with_value(
        tmp_path / "m.mlpackage",
        lambda weights: weights.value("float32", (4,), 64, "@model_path/../../../secret.bin"),
    )
    refused(path, "EXTERNAL_DATA_ESCAPE", RefusedError)


def test_links_that_lead_out_are_refused(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    weights = path / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"
    outside = tmp_path / "outside.bin"
    weights.rename(outside)
    weights.symlink_to(outside)
    refused(path, "EXTERNAL_DATA_ESCAPE", RefusedError)
    weights.unlink()
    os.link(outside, weights)
    refused(path, "EXTERNAL_DATA_ESCAPE", RefusedError)
    assert open_model(path, trusted=True).program.outputs == OUTPUTS


INSIDE = "Data/com.apple.CoreML/"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
@pytest.mark.parametrize(
    "name", ["Manifest.json", f"{INSIDE}model.mlmodel", f"{INSIDE}weights/weight.bin"]
)
def test_what_is_no_file_in_the_place_of_one_is_never_opened(tmp_path, name, make):
    place = small_package(tmp_path / "m.mlpackage") / name
    place.unlink()
    make(place)
    error = refused(tmp_path / "m.mlpackage", "NOT_REGULAR_FILE")
    assert error.exit_code == 2


def test_missing_weights_are_named(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    (path / "Data" / "com.apple.CoreML" / "weights" / "weight.bin").unlink()
    assert "weight.bin" in refused(path, "EXTERNAL_DATA_SHORT").what


@pytest.mark.parametrize("text", ["", "{", "[]", '{"rootModelIdentifier": "A"}'])
def test_a_broken_manifest_is_refused(tmp_path, text):
    path = small_package(tmp_path / "m.mlpackage")
    (path / "Manifest.json").write_text(text)
    refused(path, "INVALID_GRAPH")


ONES = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda w: w.value("float32", (4,), 1 << 40), "EXTERNAL_DATA_SHORT"),
        (lambda w: w.value("float32", (4,), 65), "EXTERNAL_DATA_SHORT"),
        (lambda w: w.add(ONES, sentinel=0), "EXTERNAL_DATA_SHORT"),
        (lambda w: w.add(ONES, size=1 << 60), "EXTERNAL_DATA_SHORT"),
        (lambda w: w.add(ONES, start=1 << 60), "EXTERNAL_DATA_SHORT"),
        (lambda w: w.add(ONES, size=8), "TENSOR_SIZE_MISMATCH"),
        (lambda w: w.add(ONES, kind=1), "TENSOR_SIZE_MISMATCH"),
        (lambda w: w.add(ONES) and w.value("float32", (1 << 32, 1 << 32), 64),
         "TENSOR_SIZE_MISMATCH"),
    ],
)  # fmt: skip
def test_a_blob_that_contradicts_its_file_is_refused(tmp_path, make, code):
    refused(with_value(tmp_path / "m.mlpackage", make), code)


def test_a_weight_file_that_is_cut_off_is_refused(tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    weights = path / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"
    for size in (weights.stat().st_size // 2, 40, 0):
        os.truncate(weights, size)
        refused(path, "EXTERNAL_DATA_SHORT")
