"""C: models that eat memory or time, and runtimes that crash."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from making import INT64, dense, model, node, save, stored, value
from watching import MIB

LARGE = 500 * MIB
"""What the main process may hold, whatever a model asks for."""


def _fill():
    nodes = [
        node("ConstantOfShape", ["s"], ["f"], "fill"),
        node("ReduceMax", ["f"], ["m"], "largest", keepdims=0),
        node("Add", ["x", "m"], ["y"], "add"),
    ]
    sizes = stored("s", np.array([2**36], np.int64))
    return model(nodes, [value("x", [2])], [value("y", [2])], [sizes]), "fill", 2**38


def _expand():
    sizes = stored("s", np.array([2**17, 2**17], np.int64))
    nodes = [node("Expand", ["x", "s"], ["y"], "blow_up")]
    made = model(nodes, [value("x", [1, 1])], [value("y", [2**17, 2**17])], [sizes])
    return made, "blow_up", 2**36


@pytest.mark.parametrize("make", [_fill, _expand])
def test_c01_memory_bomb(isomorph, tmp_path, make):
    made, name, size = make()
    save(tmp_path / "m.onnx", made)
    ran = isomorph("check", "m.onnx", "--memory", "2GiB", "--format", "json", peak=LARGE)
    assert ran.exit == 3
    found = [each for each in ran.report["findings"] if each["code"] == "OUT_OF_MEMORY"]
    assert found
    assert all(each["node"] == name for each in found)
    assert str(size) in found[0]["summary"], "how much it asked for"


def test_c01_forecast_before_running(isomorph, tmp_path):
    made, name, _ = _fill()
    save(tmp_path / "m.onnx", made)
    ran = isomorph("check", "m.onnx", "--memory", "2GiB", "--format", "json")
    forecast = ran.finding("MEMORY_FORECAST")
    assert forecast["node"] == name
    assert "256.0 GiB" in forecast["summary"]
    assert "MEMORY_FORECAST" not in isomorph("check", "m.onnx", "--memory", "2GiB").err


def _endless():
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"], "carry"), node("Add", ["h", "one"], ["n"], "count")],
        "body",
        [value("i", [], INT64), value("go", [], TensorProto.BOOL), value("h", [2])],
        [value("on", [], TensorProto.BOOL), value("n", [2])],
    )
    weights = [
        stored("trips", np.int64(2**63 - 1)),
        stored("yes", np.array(True)),
        stored("one", np.float32(1)),
    ]
    nodes = [node("Loop", ["trips", "yes", "x"], ["y"], "forever", body=body)]
    return model(nodes, [value("x", [2])], [value("y", [2])], weights)


def test_c02_endless_loop(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _endless())
    ran = isomorph("check", "m.onnx", "--timeout", "2", "--format", "json", within=60)
    assert ran.exit == 3
    found = [each for each in ran.report["findings"] if each["code"] == "TIMEOUT"]
    assert {each["evidence"]["phase"] for each in found} == {"run", "oracle"}
    assert "forever" in {each["node"] for each in found}


def test_c02_endless_loop_in_run(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _endless())
    ran = isomorph("run", "m.onnx", "--timeout", "2", within=60)
    ran.refused("TIMEOUT", exit_code=3, file="m.onnx", mentions=("2 s", "--timeout"))


def _overflowing_division():
    nodes = [
        node("Div", ["a", "b"], ["q"], "divide"),
        node("Cast", ["q"], ["c"], "cast", to=TensorProto.FLOAT),
        node("Add", ["x", "c"], ["y"], "add"),
    ]
    weights = [stored("a", np.int32([-(2**31)])), stored("b", np.int32([-1]))]
    return model(nodes, [value("x", [2])], [value("y", [2])], weights)


@pytest.mark.parametrize("side", ["alone", "reference", "candidate"])
def test_c03_native_crash(isomorph, tmp_path, side):
    """ONNX Runtime dies of it; the results of the others are still reported."""
    save(tmp_path / "crash.onnx", _overflowing_division())
    plain = model(
        [node("Add", ["x", "c"], ["y"], "add")], [value("x", [2])], [value("y", [2])],
        [stored("c", np.float32([-(2**31)]))],
    )  # fmt: skip
    save(tmp_path / "plain.onnx", plain)
    words = {
        "alone": ["crash.onnx"],
        "reference": ["crash.onnx", "plain.onnx"],
        "candidate": ["plain.onnx", "crash.onnx"],
    }[side]
    ran = isomorph("check", *words, "--format", "json")
    assert ran.exit == 3
    crash = ran.finding("RUNTIME_CRASHED")
    assert "SIGFPE" in crash["summary"]
    role = "candidate" if side == "alone" else side
    assert crash["summary"].startswith(f"{role}: ")
    assert f"{role} oracle" in ran.report["environments"]
    if side != "alone":
        other = {"reference": "candidate", "candidate": "reference"}[side]
        assert f"{other} run" in ran.report["environments"]
        (output,) = ran.report["outputs"]
        assert output[f"execution_{other}"]["distance"]["compared"] == 2
        assert output["rounding"]["distance"]["compared"] == 2


_TRAPS = """
import os, signal, subprocess, sys, time

def abort(): os.abort()

def segfault(): os.kill(os.getpid(), signal.SIGSEGV)

def leave(): os._exit(0)

def exits(): sys.exit(0)

def raises(): raise KeyError("no such layer")

def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    time.sleep(600)

def chatty():
    line = b"x" * 1023 + b"\\n"
    for _ in range(1 << 10):
        os.write(2, line * (1 << 10))
    os.write(2, b"these were my last words\\n")
    os.abort()
"""


@pytest.mark.parametrize(
    ("trap", "expected"),
    [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("leave", "exited with status 0")],
)
def test_c04_worker_dies(isomorph, tmp_path, trap, expected):
    (tmp_path / "traps.py").write_text(_TRAPS)
    ran = isomorph("check", f"traps:{trap}", "--trust", makes=["__pycache__"])
    ran.refused("RUNTIME_CRASHED", exit_code=3, file=f"traps:{trap}", mentions=(expected,))


@pytest.mark.parametrize("trap", ["exits", "raises"])
def test_c04_factory_that_fails(isomorph, tmp_path, trap):
    (tmp_path / "traps.py").write_text(_TRAPS)
    ran = isomorph("check", f"traps:{trap}", "--trust", makes=["__pycache__"])
    assert ran.exit in (2, 3)
    assert ran.message


def test_c05_worker_that_ignores_sigterm(isomorph, tmp_path):
    """It is killed, and so is what it started: the harness looks for survivors."""
    (tmp_path / "traps.py").write_text(_TRAPS)
    ran = isomorph(
        "check", "traps:stubborn", "--trust", "--timeout", "6", makes=["__pycache__"], within=90
    )
    ran.refused("VALIDATION_TIMEOUT", exit_code=3, mentions=("6 s",))


def test_c06_a_gigabyte_on_stderr(isomorph, tmp_path):
    (tmp_path / "traps.py").write_text(_TRAPS)
    ran = isomorph("check", "traps:chatty", "--trust", makes=["__pycache__"], peak=LARGE)
    ran.refused("RUNTIME_CRASHED", exit_code=3, mentions=("SIGABRT", "these were my last words"))


@pytest.mark.parametrize("place", ["model", "inputs", "reference"])
def test_c07_archive_bomb(isomorph, tmp_path, place, bomb):
    save(tmp_path / "m.onnx", dense())
    name = {"model": "m.pt2", "inputs": "x.npz", "reference": "y.npz"}[place]
    shutil.copyfile(bomb["pt2" if place == "model" else "npz"], tmp_path / name)
    words = {
        "model": [name],
        "inputs": ["m.onnx", "--inputs", name],
        "reference": [name, "m.onnx"],
    }[place]
    ran = isomorph("check", *words, within=60, peak=LARGE)
    ran.refused("ARCHIVE_BOMB", exit_code=4, file=name)


@pytest.fixture(scope="session")
def bomb(tmp_path_factory):
    """Two gigabytes of zeros in two megabytes, once as a model and once as arrays."""
    import zipfile

    folder = tmp_path_factory.mktemp("bomb")
    paths = {kind: folder / kind for kind in ("pt2", "npz")}
    with zipfile.ZipFile(paths["pt2"], "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("m/archive_format", "pt2")
        with archive.open("m/data/weights/w", "w", force_zip64=True) as file:
            for _ in range(128):
                file.write(bytes(16 * MIB))
    # Names of the same length: nothing has to be compressed again.
    arrays = paths["pt2"].read_bytes().replace(b"m/archive_format", b"first_number.npy")
    paths["npz"].write_bytes(arrays.replace(b"m/data/weights/w", b"many_numbers.npy"))
    return paths


@pytest.mark.parametrize("member", ["../../x", "/etc/x", "..\\x", "C:\\x", "twice"])
@pytest.mark.parametrize("kind", ["pt2", "npz"])
def test_c08_archive_members_that_lead_out(isomorph, tmp_path, member, kind):
    import warnings
    import zipfile

    save(tmp_path / "m.onnx", dense())
    first = "m/archive_format" if kind == "pt2" else "x.npy"
    names = [first, first if member == "twice" else f"{member}.npy"]
    with zipfile.ZipFile(tmp_path / f"a.{kind}", "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), "pt2")
    words = ["a.pt2"] if kind == "pt2" else ["m.onnx", "--inputs", "a.npz"]
    isomorph("check", *words).refused("ARCHIVE_TRAVERSAL", exit_code=4, file=f"a.{kind}")


def _safetensors(path, header, data=b""):
    raw = header if isinstance(header, bytes) else header.encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + data)


def _entry(name, begin, end):
    return (
        f'"{name}":{{"dtype":"F32","shape":[{(end - begin) // 4}],"data_offsets":[{begin},{end}]}}'
    )


@pytest.mark.parametrize("case", ["length", "entries", "overlap", "beyond"])
def test_c09_hostile_safetensors(isomorph, tmp_path, case):
    save(tmp_path / "m.onnx", dense())
    path = tmp_path / "x.safetensors"
    if case == "length":
        path.write_bytes((2**60).to_bytes(8, "little") + b"{" + bytes(64))
    elif case == "entries":
        entries = [_entry(f"t{n}", 0, 0) for n in range(100_000)]
        _safetensors(path, "{" + ",".join(entries) + "}")
    elif case == "overlap":
        _safetensors(path, "{" + _entry("x", 0, 32) + "," + _entry("z", 16, 48) + "}", bytes(48))
    else:
        _safetensors(path, "{" + _entry("x", 0, 2**40) + "}", bytes(32))
    ran = isomorph("check", "m.onnx", "--inputs", path.name, peak=LARGE, within=60)
    ran.refused("INPUTS_UNREADABLE", file=path.name)
    as_model = isomorph("check", path.name, peak=LARGE, within=60)
    assert as_model.exit == 2
    assert as_model.message


@pytest.mark.parametrize(("count", "words"), [(5_000, ["--quick"]), (2_100, [])])
def test_c10_chain_of_thousands_of_nodes(isomorph, tmp_path, count, words):
    """Twice the depth of Python's stack in the whole check, and five times in its first part.

    That the work grows as the nodes do is counted in behavior/checking/test_growth.py, not timed.
    """
    nodes = [
        node("Tanh" if place % 2 else "Neg", [f"t{place}" if place else "x"], [f"t{place + 1}"])
        for place in range(count)
    ]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [2, 4])], [value(f"t{count}", [2, 4])]))
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json", *words, within=600, peak=LARGE)
    assert ran.exit == 0
    assert ran.report["models"][0]["nodes"] == count


def test_c11_more_than_two_gigabytes_of_weights(isomorph, tmp_path):
    rows, columns = 2**21 + 5, 257
    size = rows * columns * 4
    assert size > 2**31
    if shutil.disk_usage(tmp_path).free < 2 * size:
        pytest.skip("not enough room on the disk")
    head = np.random.default_rng(0).standard_normal((10, columns)).astype(np.float32)
    with (tmp_path / "w.bin").open("wb") as file:
        file.write(head.tobytes())
        file.truncate(size)  # the rest is a hole, so the file is quick to make and to read
    table = onnx.TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[rows, columns])
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value="w.bin")
    nodes = [node("Gather", ["table", "i"], ["g"], "look_up"), node("Tanh", ["g"], ["y"], "tanh")]
    made = model(nodes, [value("i", [3], INT64)], [value("y", [3, columns])], [table])
    save(tmp_path / "m.onnx", made)
    np.savez(tmp_path / "i.npz", i=np.array([0, 9, rows - 1]))
    # Mapped files are not memory of the process: half of their size is more than enough.
    words = ["m.onnx", "--inputs", "i.npz", "--memory", "1GiB"]
    checked = isomorph("check", *words, "--format", "json", peak=LARGE, within=110)
    assert checked.exit == 0
    (output,) = checked.report["outputs"]
    assert output["observed"]["distance"]["compared"] == 3 * columns
    kept = isomorph("run", *words, "-o", "y.npz", peak=LARGE, makes=["y.npz"])
    assert kept.exit == 0
    got = np.load(tmp_path / "y.npz")["y"]
    assert np.abs(got[:2] - np.tanh(head[[0, 9]])).max() < 1e-6
    assert not got[2].any()


def test_c12_capture_within_a_byte_budget(isomorph, tmp_path):
    """More activations than the worker may hold go to disk in batches."""
    count, width = 28, 6 << 20
    sizes = stored("s", np.array([width], np.int64))
    nodes = [node("Expand", ["x", "s"], ["t0"], "widen")]
    nodes += [node("Neg", [f"t{n}"], [f"t{n + 1}"], f"neg{n}") for n in range(count)]
    nodes += [node("ReduceMax", [f"t{count}"], ["y"], "top", keepdims=0)]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [1])], [value("y", [])], [sizes]))
    ran = isomorph(
        "run", "m.onnx", "--all", "--memory", "600MB", "-o", "trace", makes=["trace"], within=200,
        fresh=True,
    )  # fmt: skip
    assert ran.exit == 0, ran
    assert f"t{count}" in ran.out
    assert ran.own < LARGE


def test_c12_capture_that_no_disk_holds(isomorph, tmp_path):
    """Reported before anything runs, with what it needs and what there is."""
    count = 100
    width = shutil.disk_usage(tmp_path).free // 40
    sizes = stored("s", np.array([width], np.int64))
    nodes = [node("Expand", ["x", "s"], ["t0"], "widen")]
    nodes += [node("Neg", [f"t{n}"], [f"t{n + 1}"], f"neg{n}") for n in range(count)]
    nodes += [node("ReduceMax", [f"t{count}"], ["y"], "top", keepdims=0)]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [1])], [value("y", [])], [sizes]))
    ran = isomorph("run", "m.onnx", "--all", "-o", "trace", within=60)
    ran.refused("DISK_FULL", exit_code=3, file="m.onnx", mentions=("102 tensors", "GiB", "free"))
