"""A small convolutional network with one wrong attribute, and its report."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

import isomorph
from isomorph.reporters.html import page_data
from isomorph.reporters.json import as_json

HOSTILE = "</script><img src=x onerror=alert(1)><b>bold</b>\u202e&amp;{{7*7}}"


def _network(path, *, slope, prefix):
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "image"
    for layer in range(4):
        weight = rng.normal(0, 0.3, (4 if layer else 3, 3 if layer == 0 else 4, 3, 3))
        weight = weight if layer else rng.normal(0, 0.3, (4, 3, 3, 3))
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"{prefix}w{layer}"))
        alpha = slope if layer == 2 else 0.1
        nodes += [
            helper.make_node("Conv", [last, f"{prefix}w{layer}"], [f"{prefix}c{layer}"],
                             name=f"{prefix}conv{layer}", pads=[1, 1, 1, 1]),
            helper.make_node("LeakyRelu", [f"{prefix}c{layer}"], [f"{prefix}r{layer}"],
                             name=f"{prefix}relu{layer}", alpha=alpha),
        ]  # fmt: skip
        last = f"{prefix}r{layer}"
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["y"], name=f"{prefix}pool"))
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 1, 1])],
        weights,
    )  # fmt: skip
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def checked(folder):
    """The JSON that the page of the two networks holds."""
    right = _network(folder / "right.onnx", slope=0.1, prefix="a_")
    wrong = _network(folder / "wrong.onnx", slope=0.12, prefix="b_")
    report = isomorph.check(
        right, wrong, in_process=True, options=isomorph.CheckOptions(profile=True)
    )
    return as_json(page_data(report))
