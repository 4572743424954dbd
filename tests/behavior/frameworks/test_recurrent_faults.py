"""A wrong weight of a recurrent layer is named, whatever the candidate made of the layer."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from recurrent_models import BATCH, GATES, HIDDEN, STEPS, recurrent

SETTINGS = {"candidate.precision": "f32"}


def turned(name, gate, rows=HIDDEN):
    """Change the signs of one gate of one weight."""

    def change(stored):
        stored[name][:, gate * rows : (gate + 1) * rows] *= -1

    return change


def named(report):
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    (finding,) = [each for each in report.findings if each.code == "GUILTY_NODE"]
    assert finding.status == "confirmed"
    return finding


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(
    ("op", "name", "gate"), [("LSTM", "r", 1), ("LSTM", "w", 3), ("GRU", "r", 0), ("GRU", "w", 2)]
)
def test_the_operator_of_openvino_has_the_wrong_weight(op, name, gate, direction, tmp_path):
    ov = pytest.importorskip("openvino")
    right, feeds = recurrent(op, direction=direction)
    onnx.save(right, tmp_path / "right.onnx")
    onnx.save(recurrent(op, direction=direction, change=turned(name, gate))[0], tmp_path / "f.onnx")
    faulty = tmp_path / "faulty.xml"
    ov.save_model(ov.convert_model(tmp_path / "f.onnx"), faulty, compress_to_fp16=False)
    report = isomorph.check(
        tmp_path / "right.onnx", faulty, inputs=feeds, settings=SETTINGS, in_process=True
    )
    finding = named(report)
    assert finding.cause == "weight"
    assert "Sequence" in finding.node
    size = right.graph.initializer[0 if name == "w" else 1].dims
    differing = int(np.prod(size)) // GATES[op]
    assert f"{differing} of {int(np.prod(size))} values differ" in finding.summary


def test_a_layer_written_out_node_by_node_has_the_wrong_weight(tmp_path):
    ov, torch = pytest.importorskip("openvino"), pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.GRU(3, HIDDEN, batch_first=True)

        def forward(self, x):
            return self.layer(x)[0][:, -1]

    torch.manual_seed(1)
    net, x = Net().eval(), torch.randn(BATCH, STEPS, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.export's own, about every recurrent layer
        torch.export.save(torch.export.export(net, (x,)), tmp_path / "right.pt2")
        with torch.no_grad():
            net.layer.weight_hh_l0[HIDDEN : 2 * HIDDEN] *= -1
        model = ov.convert_model(torch.export.export(net, (x,)))
    faulty = tmp_path / "faulty.xml"
    ov.save_model(model, faulty, compress_to_fp16=False)
    report = isomorph.check(tmp_path / "right.pt2", faulty, settings=SETTINGS, in_process=True)
    finding = named(report)
    assert finding.cause == "weight"
    assert len(finding.nodes) > 50  # so many nodes alone would say little
    assert finding.node in finding.nodes[: len(finding.nodes) // 2]
    assert f"{HIDDEN * HIDDEN} of {3 * HIDDEN * HIDDEN} values differ" in finding.summary


def loop(weights):
    """A GRU whose linear part comes before the reset, as a loop that keeps each gate by itself."""
    made, held = [], []

    def node(op, *inputs, output=None, **attributes):
        output = output or f"t{len(made)}"
        made.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def product(data, name, gate):
        block = np.split(weights[name][0], 3)[gate].T.astype(np.float32)
        held.append(numpy_helper.from_array(block, f"{name}{gate}"))
        return node("MatMul", data, f"{name}{gate}")

    held.append(numpy_helper.from_array(np.ones((), np.float32), "one"))
    step = node("Gather", "x", "i", axis=0)
    own = [(product(step, "w", gate), product("h", "r", gate)) for gate in range(3)]
    update, reset = (node("Sigmoid", node("Add", *own[gate])) for gate in (0, 1))
    fresh = node("Tanh", node("Add", own[2][0], node("Mul", reset, own[2][1])))
    kept = node("Mul", update, "h")
    node("Add", node("Mul", node("Sub", "one", update), fresh), kept, output="next")
    node("Identity", "next", output="step")
    node("Identity", "on", output="still")
    info, size = helper.make_tensor_value_info, [BATCH, HIDDEN]
    body = helper.make_graph(
        made, "body",
        [info("i", TensorProto.INT64, []), info("on", TensorProto.BOOL, []), info("h", 1, size)],
        [info("still", TensorProto.BOOL, []), info("next", 1, size), info("step", 1, size)], held,
    )  # fmt: skip
    outer = [
        helper.make_node("Squeeze", ["h0", "first"], ["start"]),
        helper.make_node("Loop", ["count", "", "start"], ["end", "steps"], "layer", body=body),
        helper.make_node("Unsqueeze", ["steps", "second"], ["y"]),
        helper.make_node("Unsqueeze", ["end", "first"], ["h"]),
    ]
    numbers = {"count": np.array(STEPS), "first": np.array([0]), "second": np.array([1])}
    graph = helper.make_graph(
        outer, "g", [info("x", 1, [STEPS, BATCH, 3]), info("h0", 1, [1, *size])],
        [info("y", 1, None), info("h", 1, None)],
        [numpy_helper.from_array(value.astype(np.int64), name) for name, value in numbers.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("gate", [None, 0, 2])
def test_a_loop_that_keeps_gate_by_gate_has_the_wrong_weight(gate, tmp_path):
    stored = {}
    right, feeds = recurrent("GRU", biases=False, change=stored.update, linear_before_reset=1)
    stored = {name: value.copy() for name, value in stored.items()}
    if gate is not None:
        turned("r", gate)(stored)
    onnx.save(right, tmp_path / "right.onnx")
    onnx.save(loop(stored), tmp_path / "loop.onnx")
    report = isomorph.check(
        tmp_path / "right.onnx", tmp_path / "loop.onnx", inputs=feeds, in_process=True
    )
    if gate is None:
        assert report.verdict is isomorph.Verdict.EQUIVALENT, report.reason
        return
    finding = named(report)
    assert (finding.node, finding.cause) == ("layer", "weight")
    assert f"layer/body#0/r{gate}" in finding.summary
