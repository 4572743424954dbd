"""A, C and D for Core ML: damaged packages, the old format, paths that lead out, odd operators."""

import json
import random

import pytest

from coreml_building import message, number, small, small_package, unknown


def test_a05_a_file_of_another_name_is_read_and_noted(isomorph, tmp_path):
    (tmp_path / "m.onnx").write_bytes(small())
    ran = isomorph("inspect", "m.onnx")
    assert ran.exit == 0, ran
    assert "coreml" in ran.out


@pytest.mark.parametrize("kind", ["half", "most", "zeros"])
def test_a06_cut_or_overwritten(isomorph, tmp_path, kind):
    path = small_package(tmp_path / "m.mlpackage")
    file = path / "Data" / "com.apple.CoreML" / "model.mlmodel"
    whole = file.read_bytes()
    data = {
        "half": whole[: len(whole) // 2],
        "most": whole[: len(whole) * 9 // 10],
        "zeros": whole[:80] + bytes(len(whole) - 80),
    }[kind]
    file.write_bytes(data)
    isomorph("inspect", "m.mlpackage").refused("MODEL_TRUNCATED", file="m.mlpackage")


@pytest.mark.parametrize("seed", range(4))
def test_a07_changed_bytes_end_in_an_answer(isomorph, tmp_path, seed):
    whole, draw = bytearray(small()), random.Random(seed)
    for place in draw.sample(range(len(whole)), 6):
        whole[place] ^= draw.randrange(1, 256)
    (tmp_path / "m.mlmodel").write_bytes(whole)
    assert isomorph("inspect", "m.mlmodel").exit in (0, 2, 4)


def test_the_old_format_is_refused_with_the_way_out(isomorph, tmp_path):
    (tmp_path / "old.mlmodel").write_bytes(number(1, 4) + message(2, b"") + message(500, b""))
    isomorph("check", "old.mlmodel").refused(
        "UNSUPPORTED_FORMAT", file="old.mlmodel", mentions=("neural network", "mlprogram")
    )


@pytest.mark.parametrize(("kind", "called"), [(202, "a pipeline"), (302, "a tree ensemble")])
def test_other_kinds_of_models_are_refused_by_name(isomorph, tmp_path, kind, called):
    (tmp_path / "old.mlmodel").write_bytes(number(1, 4) + message(2, b"") + message(kind, b""))
    isomorph("inspect", "old.mlmodel").refused("UNSUPPORTED_FORMAT", mentions=(called,))


@pytest.mark.parametrize("share", [1 / 3, 2 / 3, 99 / 100])
def test_a06_a_single_file_that_was_cut(isomorph, tmp_path, share):
    (tmp_path / "m.mlmodel").write_bytes(small()[: int(len(small()) * share)])
    isomorph("inspect", "m.mlmodel").refused("MODEL_TRUNCATED", file="m.mlmodel")


def test_d05_a_single_file_without_the_weights_of_its_package(isomorph, tmp_path):
    path = small_package(tmp_path / "m.mlpackage")
    (path / "Data" / "com.apple.CoreML" / "model.mlmodel").rename(tmp_path / "m.mlmodel")
    ran = isomorph("inspect", "m.mlmodel")
    ran.refused("EXTERNAL_DATA_SHORT", mentions=("weight.bin", "copy the whole package"))


@pytest.mark.parametrize(
    ("lost", "code"), [("Manifest.json", "INVALID_GRAPH"), ("model.mlmodel", "EXTERNAL_DATA_SHORT")]
)
def test_d05_a_package_without_one_of_its_files(isomorph, tmp_path, lost, code):
    path = small_package(tmp_path / "m.mlpackage")
    next(path.rglob(lost)).unlink()
    isomorph("inspect", "m.mlpackage").refused(code, file="m.mlpackage", mentions=(lost,))


def test_b09_an_unknown_operator_is_named(isomorph, tmp_path):
    (tmp_path / "m.mlmodel").write_bytes(unknown("Frobnicate"))
    ran = isomorph("check", "m.mlmodel", "m.mlmodel", "--translation-only")
    assert ran.exit in (2, 3), ran
    assert "Frobnicate" in ran.out + ran.err


@pytest.mark.parametrize("location", ["../../secret", "/etc/passwd"])
def test_d_a_path_that_leads_out_of_the_package_is_refused(isomorph, tmp_path, location):
    path = small_package(tmp_path / "m.mlpackage")
    (tmp_path / "secret").write_bytes(small())
    manifest = path / "Manifest.json"
    stated = json.loads(manifest.read_text())
    stated["itemInfoEntries"]["A"]["path"] = location
    manifest.write_text(json.dumps(stated))
    ran = isomorph("check", "m.mlpackage")
    assert ran.exit == 4, ran
    assert "EXTERNAL_DATA_ESCAPE" in ran.err


def test_alone_it_is_unknown_elsewhere_than_on_a_mac(isomorph, tmp_path):
    small_package(tmp_path / "m.mlpackage")
    ran = isomorph("check", "m.mlpackage")
    assert ran.exit == 3, ran
    assert "Core ML needs macOS" in ran.out


@pytest.mark.parametrize(("words", "code"), [((), 3), (("--translation-only",), 0)])
def test_two_that_cannot_run_are_judged_by_their_graphs(isomorph, tmp_path, words, code):
    small_package(tmp_path / "m.mlpackage")
    (tmp_path / "n.mlmodel").write_bytes(small())
    ran = isomorph("check", "m.mlpackage", "n.mlmodel", *words)
    assert ran.exit == code, ran
    assert "EQUIVALENT in translation" in ran.out
    assert "not run: Core ML needs macOS" in ran.out
