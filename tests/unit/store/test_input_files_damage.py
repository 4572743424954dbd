"""A damaged file of arrays is an error of the file, wherever in the reading it shows."""

import random
import zipfile

import ml_dtypes
import numpy as np
import pytest

from isomorph.core.errors import IsomorphError, UsageError
from isomorph.store.format_detection import source_kind
from isomorph.store.input_files import read_arrays, write_arrays

ARRAYS = {"x": np.arange(12, dtype=np.float32).reshape(3, 4), "n": np.arange(40)}


def _write(path):
    match path.name:
        case "plain.npz":
            np.savez(path, **ARRAYS, words=np.array(["a", "bc"]))
        case "compressed.npz":
            np.savez_compressed(path, **ARRAYS)
        case "one.npy":
            np.save(path, ARRAYS["x"])
        case _:
            write_arrays(path, {**ARRAYS, "b": np.ones(4, ml_dtypes.bfloat16)})
    return path.read_bytes()


def _spoilt(data, seed):
    draw = random.Random(seed)
    made, place, count = bytearray(data), draw.randrange(len(data)), draw.randint(1, 32)
    match seed % 4:
        case 0:
            del made[place:]
        case 1:
            del made[place : place + count]
        case 2:
            made[place : place + count] = made[:count]
        case _:
            for _ in range(draw.randint(1, 6)):
                made[draw.randrange(len(data))] ^= draw.randrange(1, 256)
    return bytes(made)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["plain.npz", "compressed.npz", "one.npy", "some.safetensors"])
@pytest.mark.parametrize("most_bytes", [None, 1])
def test_spoilt_bytes_are_an_error_of_the_file_or_harmless(tmp_path, name, most_bytes):
    path = tmp_path / name
    whole = _write(path)
    codes = []
    for seed in range(600):
        path.write_bytes(_spoilt(whole, seed))
        try:
            source_kind(str(path))
            read_arrays(path, most_bytes=most_bytes)
        except IsomorphError as error:
            codes.append(error.exit_code)
    assert set(codes) <= {2, 4}
    assert len(codes) > 300, "most damage must be noticed"


def _message(path):
    with pytest.raises(UsageError) as caught:
        read_arrays(path)
    assert caught.value.code == "INPUTS_UNREADABLE"
    return caught.value.why


def test_a_member_that_claims_to_be_encrypted_is_damage(tmp_path):
    path = tmp_path / "a.npz"
    data = bytearray(_write(tmp_path / "plain.npz"))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    assert "encrypted" in _message(path)


def test_a_stream_that_does_not_unpack_is_damage(tmp_path):
    path = tmp_path / "a.npz"
    data = bytearray(_write(tmp_path / "compressed.npz"))
    start = data.index(b"x.npy") + len(b"x.npy") + 20
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(bytes(data))
    assert "damaged" in _message(path)


def test_a_header_that_never_ends_is_damage(tmp_path):
    path = tmp_path / "a.npy"
    data = _write(tmp_path / "one.npy")
    path.write_bytes(data.replace(b"(3, 4)", b"(3, 4 "))
    assert "no array" in _message(path)


def test_an_unusual_compression_that_does_not_unpack_is_damage(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", bytes(range(256)) * 20)
    data = bytearray(path.read_bytes())
    start = data.index(b"x.npy") + len(b"x.npy") + 12
    data[start : start + 24] = b"\xff" * 24
    path.write_bytes(bytes(data))
    assert _message(path)


@pytest.mark.parametrize("word", [b'["F32"]', b'{"F": 32}', b"32", b"null"])
def test_a_type_that_is_no_word_is_damage(tmp_path, word):
    path = tmp_path / "a.safetensors"
    data = _write(path)
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].replace(b'"F32"', word)
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + length :])
    assert "unknown type" in _message(path)
