import io
import json
import struct
import zipfile

import ml_dtypes
import numpy as np
import psutil
import pytest
import safetensors.numpy

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.trace import Environment, Trace
from isomorph.store import zip_safety
from isomorph.store.input_files import UNNAMED, read_arrays, write_arrays
from isomorph.store.traces import save
from line_counts import lines_run

X, N = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([3, 1], np.int64)


def refusal(path, kind=UsageError):
    with pytest.raises(kind) as raised:
        read_arrays(path)
    return raised.value


def safetensors_file(path, header, data=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)
    return path


def entry(begin, end, dtype="U8", shape=None):
    return {"dtype": dtype, "shape": shape or [end - begin], "data_offsets": [begin, end]}


@pytest.mark.parametrize("save_as", [np.savez, np.savez_compressed])
def test_npz_by_content(tmp_path, save_as):
    words = np.array(["a", "bc"])
    with (tmp_path / "inputs.dat").open("wb") as file:
        save_as(
            file, x=X, i=N, f=np.asfortranarray(X), w=words, e=np.zeros((0, 2)), s=np.float64(2)
        )
    back = read_arrays(tmp_path / "inputs.dat")
    assert list(back) == ["x", "i", "f", "w", "e", "s"]
    for name, array in {"x": X, "i": N, "f": X, "w": words}.items():
        assert np.array_equal(back[name], array)
        assert back[name].dtype == array.dtype
    assert back["e"].shape == (0, 2)
    assert back["s"] == 2.0
    back["x"][0] = 9  # ours to change


def test_npy_is_the_only_input_and_is_mapped(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(">f4"))
    np.save(tmp_path / "y.npy", X)
    assert np.array_equal(read_arrays(tmp_path / "x.npy")[UNNAMED], X)
    mapped = read_arrays(tmp_path / "y.npy")[UNNAMED]
    assert not mapped.flags.owndata
    mapped[0] = 9
    assert np.array_equal(np.load(tmp_path / "y.npy"), X), "the file is never written"


def test_safetensors_as_its_own_library_writes_it(tmp_path):
    arrays = {"x": X, "i": N, "b": np.array([True]), "h": X.astype(ml_dtypes.bfloat16)}
    safetensors.numpy.save_file(arrays, tmp_path / "a.bin", metadata={"k": "v"})
    back = read_arrays(tmp_path / "a.bin")
    assert set(back) == set(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].tobytes() == array.tobytes()


def test_safetensors_of_ours_is_read_by_its_own_library(tmp_path):
    arrays = {"x": X, "i": N, "odd": np.ones(3, np.uint8), "empty": np.zeros((0, 3), np.float16)}
    assert write_arrays(tmp_path / "a.safetensors", arrays) == ()
    back = safetensors.numpy.load_file(tmp_path / "a.safetensors")
    assert all(np.array_equal(back[name], array) for name, array in arrays.items())


def test_a_saved_trace_is_read_too(tmp_path):
    save(Trace(environment=Environment(runtime="r"), tensors={"x": X}), tmp_path / "trace")
    assert np.array_equal(read_arrays(tmp_path / "trace")["x"], X)
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path / "folder").code == "INPUTS_UNREADABLE"


def test_pickles_are_never_loaded(tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "pwned"), "w")

    evil = np.array([Evil()], dtype=object)
    np.save(tmp_path / "a.npy", evil, allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=evil)
    for name in ("a.npy", "a.npz"):
        assert refusal(tmp_path / name, RefusedError).code == "UNSAFE_PICKLE"
    assert not (tmp_path / "pwned").exists()


def test_an_npz_is_an_archive_like_any_other(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("../x.npy", b"")
    assert refusal(tmp_path / "a.npz", RefusedError).code == "ARCHIVE_TRAVERSAL"
    monkeypatch.setattr(zip_safety, "BOMB_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "b.npz", x=np.zeros(1 << 20))
    assert refusal(tmp_path / "b.npz", RefusedError).code == "ARCHIVE_BOMB"


def npy_bytes(shape, data=b""):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    return stream.getvalue() + data


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.npz", b"", "empty"),
        ("a.npz", b"PK\x03\x04 cut", "missing"),
        ("a.npy", npy_bytes((1 << 40,)), "needs 4398046511104 bytes and has 0"),
        ("a.npy", npy_bytes((2**33, 2**33)), "needs"),
        ("a.npy", npy_bytes((2,), b"1234"), "needs 8 bytes and has 4"),
        ("a.npy", b"\x93NUMPY\x01\x00\x10\x00not a header at all", "no array"),
        ("a.npy", b"\x93NUMPY\x09\x00", "version"),
        ("a.npz", b"<html>404", "HTML"),
        ("a.dat", b"1.0 2.0 3.0", "none of the formats"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, data, expected):
    (tmp_path / name).write_bytes(data)
    error = refusal(tmp_path / name)
    assert error.code == "INPUTS_UNREADABLE"
    assert expected in error.why


def test_a_member_of_another_size_and_a_bit_flip(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", npy_bytes((1 << 38,)))
    assert "needs" in refusal(tmp_path / "a.npz").why
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no array" in refusal(tmp_path / "c.npz").why
    np.savez(tmp_path / "b.npz", x=np.full(100, 7, np.uint8))
    raw = bytearray((tmp_path / "b.npz").read_bytes())
    raw[raw.index(b"\x07" * 100) + 5] ^= 1
    (tmp_path / "b.npz").write_bytes(raw)
    assert "CRC" in refusal(tmp_path / "b.npz").why


def test_raw_items_are_not_taken_for_numbers(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones(2, ml_dtypes.bfloat16))
    assert "safetensors" in refusal(tmp_path / "a.npz").why


@pytest.mark.parametrize(
    ("header", "data", "expected"),
    [
        (b"{" * 9_000_000, b"", "no JSON"),
        (b"[1]", b"", "no JSON object"),
        ({f"t{i}": entry(0, 0, shape=[0]) for i in range(100_000)}, b"", "100000 tensors"),
        ({"a": entry(0, 4), "b": entry(2, 6)}, bytes(6), "overlap"),
        ({"a": entry(0, 4), "b": entry(5, 6)}, bytes(6), "gap"),
        ({"a": entry(0, 4)}, bytes(6), "end at byte"),
        ({"a": entry(0, 4, shape=[2**62, 4])}, bytes(4), "another number of bytes"),
        ({"a": entry(0, 4, shape=[-4, -1])}, bytes(4), "no sizes"),
        ({"a": entry(0, 4, shape=[True, 4])}, bytes(4), "no sizes"),
        ({"a": entry(0, 4, dtype="F99")}, bytes(4), "unknown type"),
        ({"a": {"dtype": "U8"}}, b"", "incomplete"),
        ({"a": [1, 2]}, b"", "incomplete"),
        (b'{"a": 1, "a": 2}', b"", "twice"),
    ],
)
def test_hostile_safetensors_cost_nothing(tmp_path, header, data, expected):
    path = safetensors_file(tmp_path / "a.safetensors", header, data)
    before, found = psutil.Process().memory_info().rss, []
    lines = lines_run(lambda: found.append(refusal(path)))
    (error,) = found
    assert lines < 10_000 + path.stat().st_size
    assert psutil.Process().memory_info().rss - before < 500 << 20
    assert error.code == "INPUTS_UNREADABLE"
    assert expected in error.why


def test_a_header_longer_than_any_file(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    assert "claims 1152921504606846976 bytes" in refusal(tmp_path / "a.safetensors").why


def test_npz_round_trip_notes_what_it_could_not_keep(tmp_path):
    arrays = {
        "x": X,
        "seq": [N, None],
        "words": np.array(["a", b"b"], dtype=object),
        "half": np.array([1.5, 448], ml_dtypes.bfloat16),
        "four": np.array([-8, 7], ml_dtypes.int4),
    }
    notes = write_arrays(tmp_path / "a.npz", arrays)
    back = read_arrays(tmp_path / "a.npz")
    assert np.array_equal(back["x"], X)
    assert np.array_equal(back["seq[0]"], N)
    assert back["words"].tolist() == ["a", "b"]
    assert back["half"].tolist() == [1.5, 448.0]
    assert back["four"].tolist() == [-8, 7]
    assert len(notes) == 3
    assert "bfloat16" in notes[1]
    assert "absent" in notes[0]


def test_writing_never_follows_a_link_nor_leaves_half_a_file(tmp_path):
    target = tmp_path / "target.npz"
    target.write_bytes(b"precious")
    (tmp_path / "link.npz").symlink_to(target)
    with pytest.raises(RefusedError) as raised:
        write_arrays(tmp_path / "link.npz", {"x": X})
    assert raised.value.code == "OUTPUT_IS_LINK"
    assert target.read_bytes() == b"precious"
    with pytest.raises(UsageError, match="safetensors cannot hold string"):
        write_arrays(tmp_path / "a.safetensors", {"x": np.array(["a"])})
    with pytest.raises(UsageError, match="named"):
        write_arrays(tmp_path / "b.npz", {"../../x": X})
    with pytest.raises(UsageError, match=r"\.csv"):
        write_arrays(tmp_path / "b.csv", {"x": X})
    with pytest.raises(UsageError) as raised:
        write_arrays(tmp_path / "no" / "such.npz", {"x": X})
    assert raised.value.code == "OUTPUT_UNWRITABLE"
    assert {path.name for path in tmp_path.iterdir()} == {"target.npz", "link.npz"}
