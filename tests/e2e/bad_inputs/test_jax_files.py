"""A, E and F for exported functions of JAX: damaged files, code that they carry, odd values."""

import random

import numpy as np
import pytest

from jax_building import calling, exported

jax = pytest.importorskip("jax")


def small():
    return exported(lambda x: jax.numpy.tanh(x) * 2, (2, 3))


def test_a05_named_as_onnx_is_read_as_jax_and_noted(isomorph, tmp_path):
    (tmp_path / "m.onnx").write_bytes(small())
    ran = isomorph("check", "m.onnx", "--format", "json")
    assert ran.exit == 0, ran
    (summary,) = ran.report["models"]
    assert summary["framework"] == "jax"
    assert any(".onnx" in note and "content is jax" in note for note in summary["notes"])


@pytest.mark.parametrize("share", [1 / 4, 1 / 2, 3 / 4])
def test_a06_cut_off(share, isomorph, tmp_path):
    whole = small()
    (tmp_path / "m.jax").write_bytes(whole[: int(len(whole) * share)])
    isomorph("check", "m.jax").refused("MODEL_TRUNCATED", file="m.jax", mentions=("bytes",))


@pytest.mark.parametrize("seed", range(6))
def test_a07_six_changed_bytes_are_an_error_or_another_digest(seed, isomorph, tmp_path):
    whole = bytearray(small())
    (tmp_path / "right.jax").write_bytes(whole)
    draw = random.Random(seed)
    for place in draw.sample(range(len(whole)), 6):
        whole[place] ^= draw.randrange(1, 256)
    (tmp_path / "changed.jax").write_bytes(whole)
    ran = isomorph("check", "right.jax", "changed.jax", "--format", "json")
    # MLIR may end the worker's process; the parent says so.
    assert ran.exit in (0, 1, 2, 3), ran
    if ran.exit == 2 or not ran.out:
        assert ran.message
    else:
        one, other = ran.report["models"]
        assert one["digest"] != other["digest"]


def test_c01_a_tensor_beyond_the_memory_limit_is_an_error_of_the_runtime(isomorph, tmp_path):
    data = exported(lambda x: jax.numpy.sin(jax.numpy.broadcast_to(x, (1 << 18, 1 << 18))), ())
    (tmp_path / "m.jax").write_bytes(data)
    ran = isomorph("check", "m.jax", "--memory", "2GB")
    assert ran.exit == 3, ran


def test_e05_a_call_back_into_python_is_refused_by_policy(isomorph, tmp_path):
    (tmp_path / "m.jax").write_bytes(calling("xla_ffi_python_cpu_callback"))
    ran = isomorph("check", "m.jax")
    assert ran.exit == 4, ran
    assert "IO_OP_IN_GRAPH" in ran.err


def test_f02_a_tensor_without_elements(isomorph, tmp_path):
    (tmp_path / "m.jax").write_bytes(exported(lambda x: x * 2, (0, 4)))
    np.savez(tmp_path / "x.npz", x=np.zeros((0, 4), np.float32))
    ran = isomorph("check", "m.jax", "m.jax", "--inputs", "x.npz")
    assert ran.exit in (0, 3), ran
    assert "Traceback" not in ran.err
