"""The work of a check grows as the model does, counted in lines of code and not in seconds."""

import numpy as np
import onnx
from onnx import TensorProto, helper

import isomorph
from line_counts import lines_run


def chain(path, count):
    """Exact on every CPU, so that no doubt about rounding asks for more draws."""
    nodes = [
        helper.make_node("Relu" if place % 4 == 3 else "Neg", [f"t{place}"], [f"t{place + 1}"])
        for place in range(count)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4])
        for name in ("t0", f"t{count}")
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, path)
    return path


def test_four_times_the_nodes_are_at_most_four_times_the_work(tmp_path):
    def checked(count):
        path = chain(tmp_path / f"{count}.onnx", count)
        x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
        return lambda: isomorph.check(path, path, inputs={"t0": x}, in_process=True)

    checked(4)()  # what is imported and made once is no part of it
    few, many = (lines_run(checked(count)) for count in (60, 240))
    assert few > 60_000, "the work was not seen"
    assert many <= 4.2 * few
