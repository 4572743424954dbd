"""ONNX models of one recurrent layer, with random weights."""

import numpy as np
import onnx

STEPS, BATCH, FEATURES, HIDDEN = 5, 2, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
OUTPUTS = {"LSTM": ["y", "h", "c"], "GRU": ["y", "h"], "RNN": ["y", "h"]}


def recurrent(op, *, direction="forward", biases=True, starts=True, lengths=None, change=None,
              **attributes):  # fmt: skip
    """A model with one layer, and values for its inputs; ``change`` alters the weights."""
    draw = np.random.default_rng(3)
    count = 2 if direction == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    stored = {"w": draw.normal(size=(count, rows, FEATURES)),
              "r": draw.normal(size=(count, rows, HIDDEN))}  # fmt: skip
    names = ["x", "w", "r", "", ""]
    if biases:
        stored["b"] = draw.normal(size=(count, 2 * rows))
        names[3] = "b"
    if change is not None:
        change(stored)
    feeds = {"x": draw.normal(size=(STEPS, BATCH, FEATURES)).astype(np.float32)}
    if lengths is not None:
        names[4] = "lengths"
    if starts:
        given = ["h0", "c0"] if op == "LSTM" else ["h0"]
        names += given
        for name in given:
            feeds[name] = draw.normal(size=(count, BATCH, HIDDEN)).astype(np.float32)
    held = [onnx.numpy_helper.from_array(v.astype(np.float32), n) for n, v in stored.items()]
    if lengths is not None:
        held.append(onnx.numpy_helper.from_array(np.array(lengths, np.int32), "lengths"))
    node = onnx.helper.make_node(op, names, OUTPUTS[op], direction=direction, hidden_size=HIDDEN,
                                 **attributes)  # fmt: skip
    graph = onnx.helper.make_graph(
        [node], "g",
        [onnx.helper.make_tensor_value_info(n, 1, v.shape) for n, v in feeds.items()],
        [onnx.helper.make_tensor_value_info(n, 1, None) for n in OUTPUTS[op]], held,
    )  # fmt: skip
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=10), feeds
