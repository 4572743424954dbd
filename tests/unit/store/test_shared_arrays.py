import errno
import gc
import json

import ml_dtypes
import numpy as np
import psutil
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.store import shared_arrays
from isomorph.store.shared_arrays import MAPPED_BYTES, Outbox, unpack


def crossed(folder, values):
    packed = json.loads(json.dumps(Outbox(folder).pack(values), allow_nan=False))
    return unpack(folder, packed)


ARRAYS = {
    "c order": np.arange(6, dtype=np.int32).reshape(2, 3),
    "fortran order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(20, dtype=np.float32)[::3],
    "scalar": np.array(1.5, np.float16),
    "empty": np.zeros((3, 0), np.int64),
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j, complex("nan")]),
    "bfloat16": np.array([1.5, np.nan, -0.0], ml_dtypes.bfloat16),
    "float8": np.array([1.5, 448.0], ml_dtypes.float8_e4m3fn),
    "int4": np.array([-8, 7], ml_dtypes.int4),
    "uint2": np.array([0, 3], ml_dtypes.uint2),
    "large": np.arange(MAPPED_BYTES, dtype=np.float64),
}


def test_arrays_keep_type_shape_and_bits(tmp_path):
    back = crossed(tmp_path, ARRAYS)
    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert back[name].dtype == array.dtype, name
        assert back[name].shape == array.shape, name
        assert back[name].tobytes() == array.tobytes(), name
        assert back[name].flags.writeable, name


def test_sequences_optionals_maps_and_strings_keep_their_structure(tmp_path):
    values = {
        "sequence": [np.ones(2), [np.zeros(1)], None],
        "absent": None,
        "strings": np.array([["a", b"\xff"], ["", "ü"]], dtype=object),
        "map": [{1: np.float32(0.5), 2: np.float32(np.nan)}],
        "plain": 3,
    }
    back = crossed(tmp_path, values)
    assert back["sequence"][0].tolist() == [1.0, 1.0]
    assert back["sequence"][1][0].tolist() == [0.0]
    assert back["sequence"][2] is None
    assert back["absent"] is None
    assert back["strings"].tolist() == [["a", "\udcff"], ["", "ü"]]
    assert back["map"][0][1] == np.float32(0.5)
    assert np.isnan(back["map"][0][2])
    assert back["plain"] == 3


def test_the_file_is_gone_once_it_is_received(tmp_path):
    back = crossed(tmp_path, {"x": ARRAYS["large"], "y": ARRAYS["bool"]})
    assert not list(tmp_path.iterdir())
    assert np.array_equal(back["x"], ARRAYS["large"])
    assert not crossed(tmp_path, {"s": np.array(["a"]), "n": None, "e": ARRAYS["empty"]})["e"].size
    assert not list(tmp_path.iterdir())


def test_only_large_messages_hold_a_descriptor_and_only_while_they_live(tmp_path):
    process = psutil.Process()
    before = process.num_fds()
    small = [crossed(tmp_path, {"x": np.ones(8)}) for _ in range(50)]
    assert process.num_fds() == before
    large = [crossed(tmp_path, {f"x{i}": ARRAYS["large"] for i in range(5)}) for _ in range(3)]
    assert process.num_fds() == before + 3
    assert len(small) + len(large) == 53
    del large
    gc.collect()
    assert process.num_fds() == before


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path, monkeypatch):
    def full(file, data):
        file.write(data[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shared_arrays, "_write", full)
    with pytest.raises(RuntimeFailedError) as raised:
        Outbox(tmp_path).pack({"x": np.ones(8)})
    assert raised.value.code == "DISK_FULL"
    assert "64 bytes are needed" in raised.value.why
    assert not list(tmp_path.iterdir())


def test_a_type_without_a_name_is_refused_by_the_sender(tmp_path):
    with pytest.raises(ValueError, match="is not an element type"):
        Outbox(tmp_path).pack({"x": np.zeros(2, np.dtype([("a", "f4")]))})


def test_values_that_come_one_by_one_arrive_and_stay_in_the_file(tmp_path):
    outbox = Outbox(tmp_path)
    with outbox.message() as message:
        written = {name: message.put_mapped(name, array) for name, array in ARRAYS.items()}
    assert isinstance(written["large"], np.memmap)
    assert not any(isinstance(each, np.memmap) for name, each in written.items() if name != "large")
    arrived = unpack(tmp_path, message.header())
    for name, array in ARRAYS.items():
        for same in (written[name], arrived[name]):
            assert (same.dtype, same.shape) == (array.dtype, array.shape)
            assert same.tobytes() == array.tobytes()


def test_a_parcel_that_was_given_up_leaves_nothing(tmp_path):
    message = Outbox(tmp_path).message()
    message.put("x", np.ones(8))
    message.__exit__(KeyError, None, None)
    assert not list(tmp_path.iterdir())


def test_a_large_array_in_several_values_travels_once(tmp_path):
    weight, small = np.arange(MAPPED_BYTES, dtype=np.float32), np.ones(3)
    values = {"0": {"w": weight, "x": small}, "1": {"w": weight, "x": small}}
    header = Outbox(tmp_path).pack({name: [values[name]] for name in values})
    assert header["size"] < 2 * weight.nbytes
    back = unpack(tmp_path, json.loads(json.dumps(header)))
    assert back["0"][0]["w"] is back["1"][0]["w"]
    assert back["0"][0]["x"] is not back["1"][0]["x"]
    np.testing.assert_array_equal(back["1"][0]["w"], weight)


def test_a_message_that_is_written_piece_by_piece_keeps_no_array(tmp_path):
    alive = []

    class Tracked(np.ndarray):
        def __del__(self):
            alive.pop()

    with Outbox(tmp_path).message() as message:
        value = np.zeros(MAPPED_BYTES).view(Tracked)
        alive.append(1)
        message.put("x", value)
        del value
        gc.collect()
        assert not alive
