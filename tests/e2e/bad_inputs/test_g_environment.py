"""Group G: the machine around it is full, interrupted, shared, broken or abroad."""

import json
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from making import dense, matrix, model, node, save, stored, value
from watching import PATIENCE

SIGNALS = [signal.SIGINT, signal.SIGHUP, signal.SIGTERM]


def _wide(path, *, nodes=4, size=500_000):
    names = ["x", *(f"t{place}" for place in range(1, nodes)), "y"]
    chain = [
        node("Tanh", [names[place]], [names[place + 1]], f"n{place}") for place in range(nodes)
    ]
    return save(path, model(chain, [value("x", [size])], [value("y", [size])]))


def _surroundings(*lines):
    """Words that run a command in a mount namespace of its own, prepared by a few shell lines."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no mount namespaces here: unshare -rm")
    return ("unshare", "-rm", "sh", "-ec", "; ".join([*lines, 'exec "$@"']), "sh")


def _small_disk(folder, size):
    return _surroundings(f"mount -t tmpfs -o size={size} none {folder}")


def test_g01_the_disk_fills_while_tensors_are_handed_over(isomorph, tmp_path):
    _wide(tmp_path / "m.onnx")
    few = _small_disk(isomorph.scratch, "3m")
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json", through=few)
    assert ran.exit == 3, ran
    found = [each for each in ran.report["findings"] if each["code"] == "DISK_FULL"]
    assert found, ran
    assert "2000000 bytes are needed" in json.dumps(found)
    assert "are free there" in json.dumps(found)


def test_g01_the_disk_is_full_when_results_are_written(isomorph, tmp_path):
    """What was there before stays as it was, and no part of the new file is left."""
    _wide(tmp_path / "m.onnx")
    (tmp_path / "full").mkdir()
    full = _surroundings(
        f"mount -t tmpfs -o size=1m none {tmp_path}/full",
        f"echo precious > {tmp_path}/full/out.npz",
        f"trap 'cat {tmp_path}/full/*; ls -A {tmp_path}/full' EXIT",
        '"$@" && exit || exit $?',
    )
    ran = isomorph("run", "m.onnx", "-o", "full/out.npz", through=full)
    assert ran.exit == 3, ran
    assert ran.message[0].startswith("error[DISK_FULL] the output cannot be written in full/out")
    assert "bytes are free there" in ran.message[1]
    assert ran.out.split() == ["precious", "out.npz"]


@pytest.mark.parametrize("after", [0.4, 2.3])
def test_g02_killed_at_any_time(isomorph, tmp_path, after):
    """No orphan, no half-written result; what the dead left is gone once somebody works again."""
    _wide(tmp_path / "m.onnx")
    with isomorph.started("trace", "m.onnx", "-o", "t", stderr=subprocess.DEVNULL) as victim:
        time.sleep(after)
        victim.kill()
    patience = time.monotonic() + PATIENCE
    while isomorph.alive() and time.monotonic() < patience:
        time.sleep(0.05)
    assert not isomorph.alive()
    if (tmp_path / "t").exists():  # it was faster, and then everything is there
        assert isomorph("check", "t", "m.onnx").exit == 0
    _grow_old(isomorph.scratch, tmp_path)
    with isomorph.started("trace", "m.onnx", "-o", "u", stderr=subprocess.DEVNULL) as again:
        assert again.wait(timeout=PATIENCE) == 0
    assert not list(isomorph.scratch.iterdir())
    assert not list(tmp_path.glob(".isomorph-*"))


def _grow_old(*folders):
    for folder in folders:
        for path in folder.glob("*isomorph-*"):
            subprocess.run(["touch", "-d", "1 hour ago", str(path)], check=True)


def test_g03_two_at_once_write_the_same_file(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())
    words = ("check", "m.onnx", "m.onnx", "--format", "json", "-o", "r.json")
    both = [isomorph.started(*words, stderr=subprocess.PIPE) for _ in range(2)]
    for each in both:
        assert (each.communicate(timeout=PATIENCE)[1] or "").count("error") == 0
        assert each.returncode == 0
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "equivalent"
    assert not isomorph.alive()
    assert not list(isomorph.scratch.iterdir())
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == [
        "m.onnx",
        "r.json",
    ]


@pytest.mark.parametrize("harm", ["flipped", "cut", "removed", "manifest"])
def test_g04_a_damaged_trace_is_never_compared(isomorph, tmp_path, harm):
    save(tmp_path / "m.onnx", dense())
    assert isomorph("trace", "m.onnx", "-o", "t", makes=["t"]).exit == 0
    shards = sorted(tmp_path.glob("t/**/*.safetensors"))
    victim = next(iter(tmp_path.glob("t/**/manifest.json"))) if harm == "manifest" else shards[0]
    data = bytearray(victim.read_bytes())
    if harm == "removed":
        victim.unlink()
    elif harm == "cut":
        victim.write_bytes(data[:-7])
    else:
        # In the last value of the shard, or in a digest of the manifest.
        place = data.index(b'"digest": "') + 15 if harm == "manifest" else len(data) - 2
        data[place] ^= 1
        victim.write_bytes(data)
    ran = isomorph("check", "t", "m.onnx")
    assert ran.exit in (2, 3), ran
    assert "TRACE_DAMAGED" in ran.out + ran.err, ran


def test_g05_a_folder_that_cannot_be_written_to(isomorph, tmp_path):
    """Checking needs no more than to read; a report there is refused before the work."""
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "project").mkdir()
    sealed = _surroundings(
        f"mount --bind {tmp_path} {tmp_path}/project",
        f"mount -o remount,bind,ro {tmp_path}/project",
        "unset HOME XDG_CACHE_HOME",
        f"cd {tmp_path}/project",
    )
    ran = isomorph("check", "m.onnx", "m.onnx", through=sealed)
    assert ran.exit == 0, ran
    ran = isomorph("check", "m.onnx", "m.onnx", "-o", "r.txt", within=30, through=sealed)
    ran.refused("OUTPUT_UNWRITABLE", file="r.txt", mentions=("nothing can be written",))


def test_g05_a_home_and_a_temporary_folder_that_do_not_exist(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())
    nowhere = {"HOME": str(tmp_path / "no" / "home"), "TMPDIR": str(tmp_path / "no" / "tmp")}
    assert isomorph("check", "m.onnx", "m.onnx", env=nowhere).exit == 0


_ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "onnxruntime":
            raise ModuleNotFoundError("No module named 'onnxruntime'", name="onnxruntime")

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize(
    ("file", "text", "exit_code", "expected"),
    [
        ("sitecustomize.py", _ABSENT, 2, ("error[MISSING_EXTRA]", "pip install 'isomorph[")),
        ("onnxruntime.py", "__version__ = '0.4'", 3, ("RUNTIME_FAILED", "isomorph doctor")),
        ("onnxruntime.py", "import os; os.abort()", 3, ("RUNTIME_CRASHED", "SIGABRT", "doctor")),
        ("onnxruntime.py", "raise SystemExit(0)", 3, ("RUNTIME_FAILED",)),
    ],
    ids=["absent", "another version", "crashing", "exiting"],
)
def test_g06_a_runtime_that_is_not_what_it_should_be(
    isomorph, tmp_path, file, text, exit_code, expected
):
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / file).write_text(text)
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = isomorph("check", "m.onnx", "m.onnx", env=environment)
    assert ran.exit == exit_code, ran
    shown = " ".join((ran.out + ran.err).split())
    for word in expected:
        assert word in shown, ran
    assert "node product" not in shown, "no node of the model has anything to do with it"


def _endless(path):
    """Minutes of products: long enough for anybody to lose patience."""
    nodes = [
        node("MatMul", [f"t{place}" if place else "x", "w"], [f"t{place + 1}"], f"n{place}")
        for place in range(3000)
    ]
    nodes[-1].output[0] = "y"
    sides = [value("x", [256, 256])], [value("y", [256, 256])]
    return save(path, model(nodes, *sides, [stored("w", matrix(256, 256) / 16)]))


@pytest.mark.parametrize("number", SIGNALS, ids=lambda each: each.name)
def test_g07_interrupted(isomorph, tmp_path, number):
    """It ends long before it is done, and what was found until then is written."""
    _endless(tmp_path / "m.onnx")
    words = ("check", "m.onnx", "m.onnx", "--format", "json", "-o", "r.json")
    with isomorph.started(*words, stderr=subprocess.PIPE) as running:
        for line in running.stderr:  # it says what it does once it takes longer
            if line.startswith("isomorph: step"):
                break
        running.send_signal(number)
        message = running.stderr.read()
        assert running.wait(timeout=PATIENCE) == 130
    assert "interrupted" in message
    assert "Traceback" not in message
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["reason"]) == (
        "unknown",
        "interrupted before anything was decided",
    )
    assert report["models"][1]["nodes"] == 3000
    assert report["skipped"][-1]["why"] == "it was interrupted"
    assert not isomorph.alive()
    assert not list(isomorph.scratch.iterdir())


_SLOW = """
import pathlib, time

def net():
    pathlib.Path("begun").touch()
    time.sleep(60)
"""


def test_g07_interrupted_while_the_models_are_loaded(isomorph, tmp_path):
    """What was asked, and that nothing was compared, is written then, too."""
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "slow.py").write_text(_SLOW)
    words = ("check", "slow:net", "m.onnx", "--trust", "--format", "json", "-o", "r.json")
    with isomorph.started(*words, stderr=subprocess.PIPE) as running:
        while not (tmp_path / "begun").exists():
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        message = running.stderr.read()
        assert running.wait(timeout=PATIENCE) == 130
    assert "Traceback" not in message
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["verdict"] == "unknown"
    assert report["reason"] == "interrupted while the models were loaded"
    assert {each["role"] for each in report["models"]} <= {"candidate"}
    assert not isomorph.alive()


_JUMPING = """
import itertools, time

seen = itertools.count()
true = time.time
time.time = lambda: true() + (next(seen) % 2) * 86_400 * 365
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Istanbul"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        {"TZ": "Pacific/Kiritimati", "PYTHONPATH": "site"},
        {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "40"},
        {"FORCE_COLOR": "1", "COLUMNS": "0"},
    ],
    ids=["turkish", "ascii", "clock", "dumb", "colored"],
)
def test_g08_abroad(isomorph, tmp_path, environment):
    """The same answer in every tongue; no deadline hangs on the time of day."""
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_JUMPING)
    there = {**environment, "PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPATH" in there:
        there["PYTHONPATH"] = str(tmp_path / "site")
    ran = isomorph("check", "m.onnx", "m.onnx", "-v", env=there)
    assert ran.exit == 0, ran
    text = " ".join(ran.out.split())  # a narrow terminal breaks the line
    assert text.startswith("EQUIVALENT on 2 generated inputs the same function")
    if environment.get("PYTHONIOENCODING"):
        assert ran.out.isascii()
    numbers = np.array([float(each) for each in ("0", "1e-06")])
    assert all(f"{each:g}" in ran.out for each in numbers), "numbers are spelled with a point"
