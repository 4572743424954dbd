import numpy as np
import pytest

from isomorph.oracle.call import Call

pytest.importorskip("tensorflow")

from isomorph.frameworks.tensorflow import op_noise

ENDS = np.array([-(2**31), -7, -1, 0, 1, 3, 2**31 - 1])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("op", sorted(op_noise.COUNTED))
def test_counters_are_what_tensorflow_makes_of_them(op, dtype, monkeypatch):
    left, right = ENDS.astype(dtype)[:, None], ENDS.astype(dtype)
    call = Call(op=op, attributes={"T": dtype})
    (found,) = op_noise.moved_as_declared(call, left, right)
    monkeypatch.setattr(op_noise, "COUNTED", {})
    (native,) = op_noise.moved_as_declared(call, left, right)
    assert found.dtype == native.dtype
    assert np.array_equal(found, native)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("op", sorted(op_noise.FILLED))
def test_filled_tensors_are_what_tensorflow_makes_of_them(op, dtype, monkeypatch):
    call = Call(op=op, attributes={"T": dtype})
    given = np.arange(6).reshape(2, 3).astype(dtype)
    (found,) = op_noise.moved_as_declared(call, given)
    monkeypatch.setattr(op_noise, "FILLED", {})
    (native,) = op_noise.moved_as_declared(call, given)
    assert found.dtype == native.dtype
    assert np.array_equal(found, native)
