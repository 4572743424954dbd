"""One network in four frameworks, with faults that can be planted in each of them."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(17)


def _draw(*shape, scale=0.4):
    return (scale * RNG.normal(size=shape)).astype(np.float32)


WEIGHTS = {
    "w1": _draw(6, 3, 3, 3), "b1": _draw(6), "w2": _draw(6, 6, 3, 3), "b2": _draw(6),
    "k1": _draw(6, 10, scale=0.8), "h1": _draw(10), "gain": _draw(10) + 1, "shift": _draw(10),
    "k2": _draw(10, 5), "h2": _draw(5),
}  # fmt: skip
IMAGE = RNG.normal(size=(2, 3, 8, 8)).astype(np.float32)

# Each fault with the operators that may be named for it, whatever the framework makes of them.
FAULTS = {
    "slope": {"LeakyRelu"},
    "operands": {"Sub", "Neg"},
    "epsilon": {"LayerNormalization", "Add", "Rsqrt", "Sqrt", "Div", "Mul", "Reciprocal"},
    "stale": {"Gemm", "MatMul", "Add", "BiasAdd"},
    "bias": {"Conv", "BiasAdd", "Add"},
    "corrupted": {"Conv", "BiasAdd", "Add"},
    "axis": {"Softmax", "Transpose"},
    "gate": {"Sigmoid", "Tanh", "Mul"},
}


def settings(*faults: str):
    """The numbers of the network with these faults planted."""
    weights = {name: value.copy() for name, value in WEIGHTS.items()}
    if "stale" in faults:
        weights["k2"] = weights["k2"][::-1] * 1.5
    if "bias" in faults:
        weights["b1"] = np.zeros_like(weights["b1"])
    if "corrupted" in faults:
        weights["w2"].flat[7] += 1.0
    return {
        **weights,
        "slope": 0.2 if "slope" in faults else 0.1,
        "epsilon": 3e-1 if "epsilon" in faults else 1e-3,
        "swapped": "operands" in faults,
        "axis": 0 if "axis" in faults else 1,
        "tanh": "gate" in faults,
    }


def pytorch(*faults: str):
    """An exported program."""
    import torch
    import torch.nn.functional as f

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.values = settings(*faults)
            for name in WEIGHTS:
                value = torch.from_numpy(np.ascontiguousarray(self.values[name]))
                self.register_buffer(name, value)

        def forward(self, x):
            a = f.leaky_relu(f.conv2d(x, self.w1, self.b1, padding=1), self.values["slope"])
            c = f.conv2d(a, self.w2, self.b2, padding=1)
            d = torch.tanh(a - c if self.values["swapped"] else c - a)
            z = d.amax((2, 3)) @ self.k1 + self.h1
            z = f.layer_norm(z, (10,), self.gain, self.shift, self.values["epsilon"])
            z = z * (torch.tanh(z) if self.values["tanh"] else torch.sigmoid(z))
            return torch.softmax(z @ self.k2 + self.h2, self.values["axis"])

    return torch.export.export(Net().eval(), (torch.from_numpy(IMAGE),))


def tensorflow(*faults: str):
    """A function of images with their channels last."""
    import tensorflow as tf

    values = settings(*faults)
    kernels = {name: values[name].transpose(2, 3, 1, 0) for name in ("w1", "w2")}

    @tf.function(input_signature=[tf.TensorSpec([2, 8, 8, 3], tf.float32, name="x")])
    def net(x):
        first = tf.nn.bias_add(tf.nn.conv2d(x, kernels["w1"], 1, "SAME"), values["b1"])
        a = tf.nn.leaky_relu(first, values["slope"])
        c = tf.nn.bias_add(tf.nn.conv2d(a, kernels["w2"], 1, "SAME"), values["b2"])
        d = tf.tanh(a - c if values["swapped"] else c - a)
        z = tf.reduce_max(d, (1, 2)) @ values["k1"] + values["h1"]
        mean = tf.reduce_mean(z, 1, keepdims=True)
        variance = tf.reduce_mean(tf.math.squared_difference(z, mean), 1, keepdims=True)
        z = (z - mean) * tf.math.rsqrt(variance + values["epsilon"])
        z = z * values["gain"] + values["shift"]
        z = z * (tf.tanh(z) if values["tanh"] else tf.sigmoid(z))
        logits = z @ values["k2"] + values["h2"]
        if values["axis"] == 0:
            return tf.transpose(tf.nn.softmax(tf.transpose(logits)))
        return tf.nn.softmax(logits)

    return net


def tflite(*faults: str) -> bytes:
    """The same function as a flatbuffer."""
    import tensorflow as tf

    function = tensorflow(*faults).get_concrete_function()
    return tf.lite.TFLiteConverter.from_concrete_functions([function]).convert()


def onnx(*faults: str):
    """The same network, written by hand."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    values, n = settings(*faults), helper.make_node
    nodes = [
        n("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        n("LeakyRelu", ["c1"], ["a"], "bend", alpha=values["slope"]),
        n("Conv", ["a", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        n("Sub", ["a", "c2"] if values["swapped"] else ["c2", "a"], ["d"], "minus"),
        n("Tanh", ["d"], ["t"], "squash"),
        n("ReduceMax", ["t"], ["p"], "peak", axes=[2, 3], keepdims=0),
        n("Gemm", ["p", "k1", "h1"], ["z"], "dense1"),
        n("LayerNormalization", ["z", "gain", "shift"], ["l"], "norm", epsilon=values["epsilon"]),
        n("Tanh" if values["tanh"] else "Sigmoid", ["l"], ["g"], "gate"),
        n("Mul", ["l", "g"], ["s"], "gated"),
        n("Gemm", ["s", "k2", "h2"], ["logits"], "dense2"),
        n("Softmax", ["logits"], ["y"], "soft", axis=values["axis"]),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        [numpy_helper.from_array(np.ascontiguousarray(values[name]), name) for name in WEIGHTS],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made


MAKERS = {"pytorch": pytorch, "tensorflow": tensorflow, "tflite": tflite, "onnx": onnx}
