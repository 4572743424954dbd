"""B: graphs that are not graphs, and graphs that are but look odd."""

import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from making import FLOAT, INT64, dense, matrix, model, node, save, stored, value


def test_b01_cycle(isomorph, tmp_path):
    nodes = [node("Add", ["x", "b"], ["a"], "plus"), node("Relu", ["a"], ["b"], "bend")]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [2])], [value("b", [2])]))
    isomorph("check", "m.onnx").refused(
        "GRAPH_CYCLE", file="m.onnx", mentions=("plus -> bend -> plus",)
    )


def test_b02_dangling_input(isomorph, tmp_path):
    made = dense()
    del made.graph.initializer[:]
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused(
        "DANGLING_INPUT", file="m.onnx", mentions=("'product'", "input 'w'")
    )


def test_b03_one_name_for_two_nodes(isomorph, tmp_path):
    """ONNX Runtime refuses the file; the report says so, and the renamed copy is compared."""
    made = dense()
    for each in made.graph.node:
        each.name = "same"
    save(tmp_path / "m.onnx", made)
    ran = isomorph("check", "m.onnx", "--format", "json")
    assert ran.exit == 0
    (summary,) = ran.report["models"]
    (note,) = [each for each in summary["notes"] if "same" in each]
    assert "ONNX Runtime refuses" in note
    assert "renamed" in note


def test_b04_one_tensor_written_twice(isomorph, tmp_path):
    nodes = [node("Relu", ["x"], ["y"], "first"), node("Neg", ["x"], ["y"], "second")]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [2])], [value("y", [2])]))
    isomorph("check", "m.onnx").refused(
        "NOT_SSA", file="m.onnx", mentions=("'y'", "first", "second")
    )


def test_b05_nodes_without_names(isomorph, tmp_path):
    made = dense()
    for each in made.graph.node:
        each.name = ""
    save(tmp_path / "m.onnx", made)
    assert isomorph("check", "m.onnx").exit == 0
    shown = isomorph("inspect", "m.onnx", "--nodes")
    assert shown.exit == 0
    assert "MatMul@t" in shown.out
    assert "Relu@y" in shown.out


def test_b06_unknown_element_type(isomorph, tmp_path):
    made = dense()
    made.graph.initializer[0].data_type = 777
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused("BAD_DTYPE", file="m.onnx", mentions=("777", "'w'"))


def test_b07_too_few_bytes(isomorph, tmp_path):
    made = dense()
    made.graph.initializer[0].raw_data = bytes(10)
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused(
        "TENSOR_SIZE_MISMATCH", file="m.onnx", mentions=("64", "10", "'w'")
    )


@pytest.mark.parametrize("dims", [[-4, 4], [2**32, 2**32]])
def test_b08_absurd_dimensions(isomorph, tmp_path, dims):
    made = dense()
    made.graph.initializer[0].dims[:] = dims
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused("BAD_DIMS", file="m.onnx", mentions=("'w'", str(dims[0])))


def test_b09_unknown_operator(isomorph, tmp_path):
    nodes = [node("Reluu", ["x"], ["t"], "left"), node("Reluu", ["t"], ["y"], "right")]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [2])], [value("y", [2])]))
    isomorph("check", "m.onnx").refused(
        "UNSUPPORTED_OP", file="m.onnx",
        mentions=("Reluu", "ai.onnx", "version 18", "left, right", "nearest name is Relu"),
    )  # fmt: skip


def test_b09_custom_domain(isomorph, tmp_path):
    nodes = [node("Twist", ["x"], ["y"], "twister", domain="acme.ops")]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme.ops", 3)]
    made = model(nodes, [value("x", [2])], [value("y", [2])], opsets=opsets)
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused(
        "UNSUPPORTED_OP", file="m.onnx",
        mentions=("Twist", "acme.ops", "version 3", "twister", "--set custom_ops="),
    )  # fmt: skip


def test_b10_recursive_function(isomorph, tmp_path):
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    calls_itself = [node("F", ["a"], ["b"], "again", domain="own")]
    function = helper.make_function("own", "F", ["a"], ["b"], calls_itself, opsets)
    made = model(
        [node("F", ["x"], ["y"], "call", domain="own")], [value("x", [2])], [value("y", [2])],
        opsets=opsets, functions=[function],
    )  # fmt: skip
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused("RECURSIVE_FUNCTION", file="m.onnx", mentions=("F -> F",))


def _nested(depth):
    """If in If in If …, each with the other branch as a way out."""
    body = helper.make_graph(
        [node("Neg", ["x"], ["y0"], "core")], "b0", [], [value("y0", None, FLOAT)]
    )
    for level in range(1, depth + 1):
        other = helper.make_graph(
            [node("Identity", ["x"], [f"e{level}"])], f"e{level}", [], [value(f"e{level}", None)]
        )
        branch = node("If", ["c"], [f"y{level}"], f"if{level}", then_branch=body, else_branch=other)
        body = helper.make_graph([branch], f"b{level}", [], [value(f"y{level}", None)])
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    made.graph.input.extend([value("x", [2]), value("c", [], TensorProto.BOOL)])
    made.graph.output[0].CopyFrom(value(f"y{depth}", [2]))
    return made


def test_b11_thirty_nested_ifs_are_supported(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _nested(30))
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit == 0, ran
    assert ran.report["outputs"][0]["observed"]["distance"]["compared"] == 2


@pytest.mark.parametrize("depth", [60, 3000])
def test_b11_deeper_nesting_is_refused(isomorph, tmp_path, depth):
    # Written by hand: neither the helper nor the encoder nests this deep.
    data = onnx.GraphProto(name="core").SerializeToString()
    for _ in range(depth):
        attribute = b"\x0a\x0bthen_branch" + _field(6, data) + b"\xa0\x01\x05"
        data = _field(1, b"\x22\x02If" + _field(5, attribute))
    (tmp_path / "m.onnx").write_bytes(b"\x08\x0a" + _field(8, b"\x10\x12") + _field(7, data))
    isomorph("check", "m.onnx").refused("NESTING_TOO_DEEP", file="m.onnx")


def _field(number, data):
    length, size = b"", len(data)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def _if(weight):
    branches = {
        "then_branch": [node("MatMul", ["h", "w"], ["a"], "inner")],
        "else_branch": [node("Neg", ["h"], ["a"], "other")],
    }
    graphs = {
        key: helper.make_graph(nodes, key, [], [value("a", [2, 4])])
        for key, nodes in branches.items()
    }
    nodes = [
        node("Relu", ["x"], ["h"], "before"),
        node("ReduceSum", ["h"], ["s"], "sum", keepdims=0),
        node("Less", ["s", "limit"], ["c"], "less"),
        node("If", ["c"], ["y"], "choice", **graphs),
    ]
    weights = [stored("w", weight), stored("limit", np.float32(1000))]
    return model(nodes, [value("x", [2, 4])], [value("y", [2, 4])], weights)


def _loop(weight):
    body = helper.make_graph(
        [
            node("MatMul", ["h", "w"], ["n"], "step"),
            node("Identity", ["go"], ["on"], "carry"),
        ],
        "body",
        [value("i", [], INT64), value("go", [], TensorProto.BOOL), value("h", [2, 4])],
        [value("on", [], TensorProto.BOOL), value("n", [2, 4])],
    )
    nodes = [node("Loop", ["trips", "", "x"], ["y"], "repeat", body=body)]
    weights = [stored("w", weight), stored("trips", np.int64(3))]
    return model(nodes, [value("x", [2, 4])], [value("y", [2, 4])], weights)


def _scan(weight):
    body = helper.make_graph(
        [
            node("Add", ["sum", "row"], ["total"], "add"),
            node("Mul", ["total", "w"], ["out"], "mul"),
        ],
        "body",
        [value("sum", [4]), value("row", [4])],
        [value("total", [4]), value("out", [4])],
    )
    nodes = [node("Scan", ["start", "x"], ["end", "y"], "sweep", body=body, num_scan_inputs=1)]
    weights = [stored("w", weight[0]), stored("start", weight[1])]
    return model(nodes, [value("x", [2, 4])], [value("y", [2, 4]), value("end", [4])], weights)


@pytest.mark.parametrize("make", [_if, _loop, _scan])
def test_b12_bodies_that_read_the_outer_scope(isomorph, tmp_path, make):
    """The captured weight is part of the comparison, and of what is fetched."""
    save(tmp_path / "a.onnx", make(matrix()))
    save(tmp_path / "b.onnx", make(matrix() * 1.25))
    assert isomorph("check", "a.onnx", "a.onnx").exit == 0
    assert isomorph("check", "a.onnx", "b.onnx").exit == 1
    kept = isomorph("run", "a.onnx", "--all", "-o", "trace.npz", makes=["trace.npz"])
    assert kept.exit == 0


def test_b13_a_file_that_hangs_its_validator(isomorph, tmp_path):
    nodes = [node("Einsum", ["x"], ["y"], "sum", equation="...ij...,k->z")]
    path = save(tmp_path / "m.onnx", model(nodes, [value("x", [1, 4])], [value("y", None)]))
    if not _hangs(path):
        pytest.skip("this version of onnx does not hang on it")
    ran = isomorph("check", "m.onnx", "--timeout", "2", within=60)
    ran.refused("VALIDATION_TIMEOUT", exit_code=3, file="m.onnx", mentions=("2 s", "--timeout"))


def _hangs(path):
    """Whether it takes more of the processor than any sound model of this size."""
    code = (
        "import resource, sys, onnx; resource.setrlimit(resource.RLIMIT_CPU, (3, 3)); "
        "onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]))"
    )
    line = [sys.executable, "-c", code, path]
    return subprocess.run(line, capture_output=True, check=False).returncode in {
        -signal.SIGXCPU,
        -signal.SIGKILL,
    }
