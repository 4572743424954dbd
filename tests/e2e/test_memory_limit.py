"""A limit on memory is kept by models whose tensors together exceed it, and costs no verdict."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from isomorph import api

LIMIT = 100 << 20
SIDE, DEPTH = 256, 48


def chain(path, slope):
    """96 MiB of tensors in float64, 2 MiB each, beside what a worker takes for itself."""
    random = np.random.default_rng(0)
    nodes, stored, last = [], [], "x"
    for place in range(DEPTH):
        name, kind = f"n{place}", ("Conv", "LeakyRelu", "Add", "Tanh")[place % 4]
        inputs, attributes = [last], {}
        if kind in {"Conv", "Add"}:
            shape = (4, 4, 1, 1) if kind == "Conv" else (1, 4, 1, 1)
            weight = (0.7 * random.normal(size=shape)).astype(np.float32)
            stored.append(numpy_helper.from_array(weight, f"w{place}"))
            inputs.append(f"w{place}")
        elif kind == "LeakyRelu":
            attributes["alpha"] = slope if place == 17 else 0.1
        nodes.append(helper.make_node(kind, inputs, [f"t{place}"], name=name, **attributes))
        last = f"t{place}"
    nodes.append(
        helper.make_node("MaxPool", [last], ["y"], kernel_shape=[32, 32], strides=[32, 32])
    )
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "chain",
        [value("x", TensorProto.FLOAT, [1, 4, SIDE, SIDE])],
        [value("y", TensorProto.FLOAT, [1, 4, SIDE // 32, SIDE // 32])],
        stored,
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_a_faulty_node_is_found_within_less_memory_than_the_tensors_take(tmp_path):
    reference, candidate = chain(tmp_path / "a.onnx", 0.1), chain(tmp_path / "b.onnx", 0.3)
    x = np.random.default_rng(1).normal(size=(1, 4, SIDE, SIDE)).astype(np.float32)
    report = api.check(
        reference,
        candidate,
        inputs={"x": x},
        options=api.CheckOptions(runtime=api.RuntimeOptions(limits=api.Limits(memory=LIMIT))),
    )
    assert report.verdict.value == "divergent"
    assert report.findings[0].node == "n17"
    assert report.findings[0].cause == "attribute"
    assert "OUT_OF_MEMORY" not in {finding.code for finding in report.findings}
