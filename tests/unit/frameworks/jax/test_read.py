"""Damaged and hostile exported functions are refused with a code, whatever was done to them."""

import pytest

from isomorph.core import program_limits
from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.jax import inline as writing_out
from isomorph.frameworks.jax.file_structure import looks_like_export, place_of_module
from isomorph.frameworks.jax.framework import JaxFramework
from jax_building import exported

jax = pytest.importorskip("jax")
jnp = jax.numpy


def refused(tmp_path, data):
    path = tmp_path / "function.jax"
    path.write_bytes(data)
    with pytest.raises(UnreadableModelError) as caught:
        JaxFramework().load(str(path), {})
    return caught.value


def test_what_is_cut_off_behind_its_beginning_is_known_and_refused_as_truncated(tmp_path):
    data = exported()
    path = tmp_path / "cut.jax"
    for length in (len(data) // 3, 2 * len(data) // 3):
        path.write_bytes(data[:length])
        assert looks_like_export(path, data[:4096])
        assert refused(tmp_path, data[:length]).code == "MODEL_TRUNCATED"


def test_an_empty_file_is_refused_as_empty(tmp_path):
    assert refused(tmp_path, b"").code == "MODEL_EMPTY"


@pytest.mark.parametrize(
    "data", [b"\0" * 64, b"TFL3" * 20, b"\xff" * 400, b"<html>" * 50, b"\x40\0\0\0" * 99]
)
def test_other_bytes_are_no_exported_function(data, tmp_path):
    path = tmp_path / "other.bin"
    path.write_bytes(data)
    assert not looks_like_export(path, data)
    assert refused(tmp_path, data).code == "NOT_A_MODEL"


def test_a_spoilt_module_is_refused_with_the_reason(tmp_path):
    data = bytearray(exported())
    start, _ = place_of_module(bytes(data))
    data[start + 4 : start + 40] = b"\x7f" * 36
    error = refused(tmp_path, bytes(data))
    assert error.code == "MODEL_NOT_BUILT"
    assert error.why


def test_a_module_without_a_main_function_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(writing_out, "_name", lambda operation: "another")
    assert refused(tmp_path, exported()).code == "NO_GRAPH"


def test_calls_that_multiply_beyond_the_limit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(writing_out, "MOST_STABLEHLO_OPERATIONS", 12)
    assert program_limits.MOST_STABLEHLO_OPERATIONS > 1000
    error = refused(tmp_path, exported())
    assert error.code == "MODEL_TOO_LARGE"
    assert "at most 12" in error.why


CALLING = """
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @one(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func private @one(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @NEXT(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func private @two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @one(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
"""


@pytest.mark.parametrize("following", ["one", "two"])
def test_a_function_that_calls_itself_is_refused(following):
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(CALLING.replace("NEXT", following))
        with pytest.raises(UnreadableModelError, match="calls itself") as caught:
            writing_out.inline(module, file="a.jax")
    assert caught.value.code == "RECURSIVE_FUNCTION"
