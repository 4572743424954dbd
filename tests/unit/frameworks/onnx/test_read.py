"""Files that are cut, empty, damaged or lie about their tensors."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.unit.frameworks.onnx.test_file_structure import nested_graphs

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.onnx.read import open_bytes, open_path, open_proto


def with_weight(tensor):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[2,4] x) => (float[2,4] y)'
        "{ y = MatMul(x, w) }"
    )
    proto.graph.initializer.append(tensor)
    return proto


GOOD = with_weight(numpy_helper.from_array(np.eye(4, dtype=np.float32), "w"))


def refusal(data):
    with pytest.raises(UnreadableModelError) as caught:
        open_bytes(data)
    return caught.value


def test_a_good_file_is_read_and_its_bytes_identified(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(GOOD.SerializeToString())
    found = open_path(path, trusted=False)
    assert np.array_equal(found.model.initializer("w"), np.eye(4))
    assert found.digest == open_bytes(path.read_bytes()).digest
    assert found.notes == ()


def test_a_truncated_file_reports_size_and_place(tmp_path):
    data = GOOD.SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(UnreadableModelError) as caught:
        open_path(path, trusted=False)
    assert caught.value.code == "MODEL_TRUNCATED"
    assert str(path.stat().st_size) in caught.value.what
    assert "byte" in caught.value.where


def test_an_empty_file_is_no_model(tmp_path):
    path = tmp_path / "m.onnx"
    path.touch()
    with pytest.raises(UnreadableModelError) as caught:
        open_path(path, trusted=False)
    assert caught.value.code == "MODEL_EMPTY"
    assert refusal(b"").code == "MODEL_EMPTY"


def test_a_web_page_is_no_model():
    assert refusal(b"<html>404 not found</html>").code == "NOT_A_MODEL"


@pytest.mark.parametrize("kind", ["folder", "fifo", "missing", "loop"])
def test_what_is_not_a_file_is_never_opened(tmp_path, kind):
    path = tmp_path / "m.onnx"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    with pytest.raises(UnreadableModelError) as caught:
        open_path(path, trusted=False)
    codes = {"missing": "FILE_NOT_FOUND", "loop": "PATH_LOOP"}
    assert caught.value.code == codes.get(kind, "NOT_REGULAR_FILE")


@pytest.mark.parametrize("depth", [60, 5000])
def test_deep_nesting_is_refused_and_never_a_recursion_error(depth):
    error = refusal(nested_graphs(depth))
    assert error.code == "NESTING_TOO_DEEP"
    assert str(depth) in error.what


def test_thirty_nested_branches_are_supported():
    from isomorph.frameworks.onnx.framework import OnnxFramework

    value = helper.make_tensor_value_info
    inner = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["o0"])],
        "b",
        [],
        [value("o0", TensorProto.FLOAT, [1])],
    )
    for level in range(1, 31):
        other = helper.make_graph(
            [helper.make_node("Neg", ["x"], [f"e{level}"])],
            "e",
            [],
            [value(f"e{level}", TensorProto.FLOAT, [1])],
        )
        node = helper.make_node("If", ["c"], [f"o{level}"], then_branch=inner, else_branch=other)
        inner = helper.make_graph([node], "b", [], [value(f"o{level}", TensorProto.FLOAT, [1])])
    inner.input.extend([value("x", TensorProto.FLOAT, [1]), value("c", TensorProto.BOOL, [])])
    proto = helper.make_model(inner, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    graph = OnnxFramework().load(proto.SerializeToString(), {}).graph
    for _ in range(30):
        graph = graph.nodes[0].bodies["then_branch"]
    assert graph.nodes[0].op == "Identity"
    assert graph.nodes[0].name.count("/then_branch#0/") == 30


def test_an_element_type_that_does_not_exist():
    error = refusal(
        with_weight(TensorProto(name="w", data_type=777, dims=[4, 4])).SerializeToString()
    )
    assert error.code == "BAD_DTYPE"
    assert "777" in error.what
    assert "'w'" in error.where


def test_too_few_bytes_report_declared_and_got():
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 4], raw_data=bytes(10))
    error = refusal(with_weight(tensor).SerializeToString())
    assert error.code == "TENSOR_SIZE_MISMATCH"
    assert "declared 64" in error.what
    assert "got 10" in error.what


@pytest.mark.parametrize(
    ("kind", "field", "count"),
    [
        ("FLOAT", "float_data", 3), ("INT64", "int64_data", 5), ("DOUBLE", "double_data", 1),
        ("INT8", "int32_data", 3), ("UINT64", "uint64_data", 0), ("FLOAT16", "int32_data", 5),
    ],
)  # fmt: skip
def test_typed_fields_are_counted_too(kind, field, count):
    tensor = TensorProto(name="w", data_type=getattr(TensorProto, kind), dims=[4])
    getattr(tensor, field).extend([1] * count)
    error = refusal(with_weight(tensor).SerializeToString())
    assert error.code == "TENSOR_SIZE_MISMATCH"
    getattr(tensor, field).extend([1] * 9)
    del getattr(tensor, field)[4:]
    open_proto(with_weight(tensor))


@pytest.mark.parametrize("dims", [[-4, 4], [2**32, 2**32], [2**62, 2], [2**63 - 1]])
def test_impossible_dimensions(dims):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"")
    error = refusal(with_weight(tensor).SerializeToString())
    assert error.code == "BAD_DIMS"
    assert str(dims) in error.what


@pytest.mark.parametrize("dtype", ["int4", "uint4", "bfloat16", "float8_e4m3fn", "complex64"])
def test_small_and_odd_types_round_trip(dtype):
    import ml_dtypes

    values = np.array([1, 0, 3, 2, 1]).astype(getattr(ml_dtypes, dtype, dtype))
    found = open_proto(with_weight(numpy_helper.from_array(values, "w")))
    assert np.array_equal(found.model.initializer("w"), values)
