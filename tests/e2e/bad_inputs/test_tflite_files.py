"""A, B, C and F for TFLite: damaged files, impossible graphs, bombs, and odd values."""

import random

import numpy as np
import pytest

from making import dense, save
from tflite_building import Building, small, unknown
from watching import MIB

LARGE = 500 * MIB


def write(path, model):
    path.write_bytes(model.data())
    return path


def test_a05_named_as_onnx_is_read_as_tflite_and_noted(isomorph, tmp_path):
    write(tmp_path / "m.onnx", small())
    ran = isomorph("check", "m.onnx", "--format", "json")
    assert ran.exit == 0, ran
    (summary,) = ran.report["models"]
    assert summary["framework"] == "tflite"
    assert any(".onnx" in note and "content is tflite" in note for note in summary["notes"])


def test_a05_onnx_named_as_tflite_is_read_as_onnx(isomorph, tmp_path):
    save(tmp_path / "m.tflite", dense())
    ran = isomorph("check", "m.tflite", "--format", "json")
    assert ran.exit == 0, ran
    assert ran.report["models"][0]["framework"] == "onnx"


def test_a06_without_its_identifier_it_is_still_a_model(isomorph, tmp_path):
    (tmp_path / "m.tflite").write_bytes(small().data(identifier=None))
    ran = isomorph("inspect", "m.tflite")
    assert ran.exit == 0, ran
    assert "tflite" in ran.out


@pytest.mark.parametrize("kind", ["header", "half", "most", "random", "zeros"])
def test_a06_cut_or_overwritten(isomorph, tmp_path, kind):
    whole = small().data()
    noise = random.Random(3).randbytes(len(whole))
    data = {
        "header": whole[:8],
        "half": whole[: len(whole) // 2],
        "most": whole[: len(whole) * 9 // 10],
        "random": whole[:8] + noise[8:],
        "zeros": whole[:8] + bytes(len(whole) - 8),
    }[kind]
    (tmp_path / "m.tflite").write_bytes(data)
    isomorph("check", "m.tflite").refused(
        "MODEL_TRUNCATED", file="m.tflite", mentions=(f"{len(data)} bytes",)
    )


@pytest.mark.parametrize("seed", range(8))
def test_a07_six_changed_bytes_are_an_error_or_another_digest(isomorph, tmp_path, seed):
    whole = bytearray(small().data())
    write(tmp_path / "right.tflite", small())
    draw = random.Random(seed)
    for place in draw.sample(range(len(whole)), 6):
        whole[place] ^= draw.randrange(1, 256)
    (tmp_path / "changed.tflite").write_bytes(whole)
    ran = isomorph("check", "right.tflite", "changed.tflite", "--format", "json")
    if ran.exit in (2, 4) or not ran.out:
        assert ran.message
        return
    digests = [summary["digest"] for summary in ran.report["models"]]
    assert digests[0] != digests[1]


def spoiled(tmp_path, change):
    model = small()
    change(model.made.subgraphs[0], model.made)
    return write(tmp_path / "m.tflite", model).name


def _later(graph, _):
    graph.operators[:2] = [graph.operators[1], graph.operators[0]]


def _nowhere(graph, _):
    graph.operators[1].inputs = np.array([700], np.int32)


def _twice(graph, _):
    graph.operators[2].outputs = graph.operators[1].outputs


def _type(graph, _):
    graph.tensors[4].type = 99


def _short(_, model):
    model.buffers[1].data = model.buffers[1].data[:10]


def _negative(graph, _):
    graph.tensors[0].shape = np.array([-4, 4], np.int32)


def _overflowing(graph, _):
    graph.tensors[3].shape = np.array([2**31 - 1] * 3, np.int32)


@pytest.mark.parametrize(
    ("change", "code", "expected"),
    [
        (_later, "GRAPH_CYCLE", ("RELU:0", "CONV_2D:1")),
        (_nowhere, "DANGLING_INPUT", ("RELU:1", "700")),
        (_twice, "NOT_SSA", ("net/relu", "LOGISTIC:2")),
        (_type, "BAD_DTYPE", ("99",)),
        (_short, "TENSOR_SIZE_MISMATCH", ("432", "10", "conv/kernel")),
        (_negative, "BAD_DIMS", ("-4",)),
        (_overflowing, "BAD_DIMS", ("2147483647",)),
    ],
    ids=["b01", "b02", "b04", "b06", "b07", "b08-negative", "b08-overflow"],
)
def test_b_graphs_that_cannot_be(isomorph, tmp_path, change, code, expected):
    name = spoiled(tmp_path, change)
    isomorph("check", name).refused(code, file=name, mentions=expected)


def test_b05_tensors_without_names(isomorph, tmp_path):
    def nameless(graph, _):
        for tensor in graph.tensors:
            tensor.name = None

    ran = isomorph("check", spoiled(tmp_path, nameless), "--format", "json")
    assert ran.exit == 0, ran
    assert [each["reference_output"] for each in ran.report["outputs"]] == [
        "tensor#11",
        "tensor#13",
    ]


@pytest.mark.parametrize("operator", ["Frobnicate", "FlexErf"])
def test_b09_custom_operators(isomorph, tmp_path, operator):
    write(tmp_path / "m.tflite", unknown(operator))
    ran = isomorph("run", "m.tflite")
    ran.refused("UNSUPPORTED_OP", file="m.tflite", mentions=(operator, f"{operator}:0"))


def nested(depth):
    """IF inside IF inside its first branch; the other branch is always the last sub-graph."""
    model = Building()
    for level in range(depth + 1):
        graph = model.graph(f"level{level}")
        x, yes = graph.tensor("x", (2,)), graph.tensor("yes", (), "bool", value=True)
        inner, y = graph.tensor("inner", (2,)), graph.tensor("y", (2,))
        if level < depth:
            places = {"thenSubgraphIndex": level + 1, "elseSubgraphIndex": depth}
            graph.op("IF", [yes, x], [inner], "If", **places)
        else:
            graph.op("TANH", [x], [inner])
        graph.op("NEG", [inner], [y], "Neg")
        graph.ends([x], [y])
    return model


def test_b10_a_body_that_runs_itself(isomorph, tmp_path):
    model = nested(2)
    last = model.made.subgraphs[2].operators[0]
    donor = model.made.subgraphs[1].operators[0]
    last.opcodeIndex, last.inputs = donor.opcodeIndex, np.array([1, 0], np.int32)
    last.builtinOptionsType, last.builtinOptions = donor.builtinOptionsType, donor.builtinOptions
    write(tmp_path / "m.tflite", model)
    isomorph("check", "m.tflite").refused("RECURSIVE_FUNCTION", file="m.tflite")


def test_b11_thirty_nested_bodies_are_supported(isomorph, tmp_path):
    write(tmp_path / "m.tflite", nested(30))
    ran = isomorph("check", "m.tflite", "--format", "json")
    assert ran.exit == 0, ran


def test_b11_deeper_nesting_is_refused(isomorph, tmp_path):
    write(tmp_path / "m.tflite", nested(60))
    isomorph("check", "m.tflite").refused("NESTING_TOO_DEEP", file="m.tflite")


def test_c01_memory_bomb(isomorph, tmp_path):
    model = Building()
    graph = model.graph()
    x, one = graph.tensor("x", (1,)), graph.tensor("one", (), value=1.0)
    sizes = graph.tensor("sizes", (2,), "int32", value=[2**17, 2**17])
    filled = graph.tensor("filled", (), has_rank=False)
    axes = graph.tensor("axes", (2,), "int32", value=[0, 1])
    largest, y = graph.tensor("largest", ()), graph.tensor("y", (1,))
    graph.op("FILL", [sizes, one], [filled], "Fill")
    graph.op("REDUCE_MAX", [filled, axes], [largest], "Reducer")
    graph.op("ADD", [x, largest], [y], "Add")
    write(tmp_path / "m.tflite", graph.ends([x], [y]).model)
    ran = isomorph("check", "m.tflite", "--memory", "2GiB", "--format", "json", peak=LARGE)
    assert ran.exit == 3
    assert ran.finding("OUT_OF_MEMORY")["node"] == "FILL:0"


def test_c02_endless_loop(isomorph, tmp_path):
    model = Building()
    graph, condition, body = model.graph(), model.graph("condition"), model.graph("body")
    x, y = graph.tensor("x", (2,)), graph.tensor("y", (2,))
    graph.op("WHILE", [x], [y], "While", condSubgraphIndex=1, bodySubgraphIndex=2)
    graph.ends([x], [y])
    asked, yes = condition.tensor("a", (2,)), condition.tensor("yes", (), "bool", value=True)
    condition.ends([asked], [yes])
    old, new = body.tensor("old", (2,)), body.tensor("new", (2,))
    body.op("COS", [old], [new], "Cos")
    body.ends([old], [new])
    write(tmp_path / "m.tflite", model)
    ran = isomorph("check", "m.tflite", "--timeout", "2", "--format", "json", within=90)
    assert ran.exit == 3
    found = [each for each in ran.report["findings"] if each["code"] == "TIMEOUT"]
    assert {each["evidence"]["phase"] for each in found} == {"run", "oracle"}


def test_d06_names_are_only_names(isomorph, tmp_path):
    def hostile(graph, _):
        names = ["../../../tmp/pwn", "CON", "n" * 5000, "\x1b]0;title\x07", "NET/CONV"]
        for tensor, name in zip(graph.tensors[2:], names, strict=False):
            tensor.name = name.encode()

    name = spoiled(tmp_path, hostile)
    assert isomorph("check", name).exit == 0
    ran = isomorph("run", name, "--all", "--output", "trace", makes=["trace"])
    assert ran.exit == 0, ran


def test_f02_f03_empty_batches_and_scalars(isomorph, tmp_path):
    model = Building()
    graph = model.graph()
    x, y = (
        graph.tensor("x", (1, 3), signature=(-1, 3)),
        graph.tensor("y", (1, 3), signature=(-1, 3)),
    )
    s, t = graph.tensor("s", ()), graph.tensor("t", ())
    graph.op("NEG", [x], [y], "Neg")
    graph.op("NEG", [s], [t], "Neg")
    write(tmp_path / "m.tflite", graph.ends([x, s], [y, t]).model)
    ran = isomorph("check", "m.tflite", "--dim", "x.0=0", "--format", "json")
    assert ran.exit == 0, ran
    shapes = {each["reference_output"]: each["shape"] for each in ran.report["outputs"]}
    assert shapes == {"y": [0, 3], "t": []}
