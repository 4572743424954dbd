import hashlib
from pathlib import Path

from isomorph.core.request import CheckRequest, FileRole
from isomorph.store.requested_files import located, requested_file


def test_a_file_has_the_digest_of_its_content_and_a_folder_none(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"abc")
    digest = f"sha256:{hashlib.sha256(b'abc').hexdigest()}"
    assert requested_file(FileRole.INPUTS, tmp_path / "x.npz").digest == digest
    assert requested_file(FileRole.DATA, tmp_path).digest == ""


def test_a_location_is_looked_up_in_the_directory_of_the_check_first(tmp_path, monkeypatch):
    for name in ("check", "report", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    request, report = (
        CheckRequest(directory=str(tmp_path / "check")),
        tmp_path / "report" / "r.json",
    )
    assert located("m.onnx", request, report) == "m.onnx"
    for name in ("here", "report", "check"):
        (tmp_path / name / "m.onnx").touch()
        expected = "m.onnx" if name == "here" else str(tmp_path / name / "m.onnx")
        assert located("m.onnx", request, report) == expected
    assert located(str(tmp_path / "here" / "m.onnx"), request, report).endswith("here/m.onnx")


def test_a_file_that_was_named_from_the_root_is_found_beside_a_report_that_moved(tmp_path):
    request = CheckRequest(directory=str(tmp_path / "before" / "reports"))
    named = str(tmp_path / "before" / "m.onnx")
    report = tmp_path / "after" / "reports" / "r.json"
    report.parent.mkdir(parents=True)
    assert located(named, request, report) == named
    (tmp_path / "after" / "m.onnx").touch()
    assert Path(located(named, request, report)).samefile(tmp_path / "after" / "m.onnx")
    assert located(named, CheckRequest(), report) == named


def test_a_factory_is_no_file(tmp_path):
    assert located("package.module:make", CheckRequest(), tmp_path / "r.json") == (
        "package.module:make"
    )
