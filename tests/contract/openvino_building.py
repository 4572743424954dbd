"""Small OpenVINO models, written element by element: no package of OpenVINO's is needed."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

PRECISIONS = {
    "float32": ("f32", "FP32"), "float16": ("f16", "FP16"), "int8": ("i8", "I8"),
    "int64": ("i64", "I64"), "uint8": ("u8", "U8"), "int32": ("i32", "I32"),
    "bool": ("boolean", "BOOL"),
}  # fmt: skip


class Net:
    """Adds layers one after the other; every method returns what a later layer reads."""

    def __init__(self, name="sample"):
        self.name, self.layers, self.edges, self.weights = name, [], [], b""

    def _layer(self, name, kind, version, data, inputs, outputs, extra=""):
        key = len(self.layers)
        words = "".join(f" {k}={quoteattr(str(v))}" for k, v in data.items())
        text = f'<layer id="{key}" name={quoteattr(name)} type="{kind}" version="{version}">'
        text += f"<data{words} />" if data else ""
        ports = [f'<port id="{k}" precision="{PRECISIONS[t][1]}">{_dims(s)}</port>'
                 for k, (_, _, t, s) in enumerate(inputs)]  # fmt: skip
        text += f"<input>{''.join(ports)}</input>" if ports else ""
        made = []
        for place, (dtype, shape) in enumerate(outputs):
            port = len(inputs) + place
            called = f" names={quoteattr(name)}" if len(outputs) == 1 else ""
            kind = PRECISIONS[dtype][1]
            made.append(f'<port id="{port}" precision="{kind}"{called}>{_dims(shape)}</port>')
        text += f"<output>{''.join(made)}</output>" if made else ""
        self.layers.append(text + extra + "</layer>")
        for place, (layer, port, _, _) in enumerate(inputs):
            self.edges.append((layer, port, key, place))
        return [(key, len(inputs) + place, *each) for place, each in enumerate(outputs)]

    def parameter(self, name, shape, dtype="float32"):
        data = {"shape": ",".join(map(str, shape)), "element_type": PRECISIONS[dtype][0]}
        return self._layer(name, "Parameter", "opset1", data, [], [(dtype, shape)])[0]

    def constant(self, name, value):
        value = np.asarray(value)
        dtype, shape = value.dtype.name, value.shape
        data = {
            "element_type": PRECISIONS[dtype][0],
            "shape": ", ".join(map(str, shape)),
            "offset": len(self.weights),
            "size": value.nbytes,
        }
        self.weights += value.tobytes()
        return self._layer(name, "Const", "opset1", data, [], [(dtype, shape)])[0]

    def op(self, name, kind, inputs, shape, *, dtype="float32", version="opset1", more=(), **data):
        """``more`` are the types and shapes of further outputs."""
        data = {key.replace("__", "-"): value for key, value in data.items()}
        found = self._layer(name, kind, version, data, inputs, [(dtype, shape), *more])
        return found if more else found[0]

    def result(self, tensor):
        return self._layer(f"result {len(self.layers)}", "Result", "opset1", {}, [tensor], [])

    def text(self):
        edges = "".join(
            f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}" />'
            for a, b, c, d in self.edges
        )
        layers = "\n".join(self.layers)
        return (
            f'<?xml version="1.0"?>\n<net name="{self.name}" version="11">\n'
            f"<layers>\n{layers}\n</layers>\n<edges>{edges}</edges>\n<rt_info />\n</net>\n"
        )

    def write(self, path: Path) -> Path:
        path.write_text(self.text(), encoding="utf-8")
        path.with_suffix(".bin").write_bytes(self.weights)
        return path


def _dims(shape):
    return "".join(f"<dim>{size}</dim>" for size in shape)


def network(path: Path) -> Path:
    """A convolution, two branches, a mean, a product with weights of 8 bits, and a label."""
    rng = np.random.default_rng(0)
    net = Net()
    x = net.parameter("x", (2, 3, 6, 6))
    w = net.constant("w", rng.normal(size=(4, 3, 3, 3)).astype(np.float32))
    conv = net.op("conv", "Convolution", [x, w], (2, 4, 6, 6), strides="1, 1",
                  dilations="1, 1", pads_begin="1, 1", pads_end="1, 1",
                  auto_pad="explicit")  # fmt: skip
    b = net.constant("b", rng.normal(size=(1, 4, 1, 1)).astype(np.float32))
    biased = net.op("biased", "Add", [conv, b], (2, 4, 6, 6), auto_broadcast="numpy")
    relu = net.op("relu", "ReLU", [biased], (2, 4, 6, 6))
    gate = net.op("gate", "Sigmoid", [biased], (2, 4, 6, 6))
    product = net.op("product", "Multiply", [relu, gate], (2, 4, 6, 6), auto_broadcast="numpy")
    axes = net.constant("axes", np.array([2, 3], np.int64))
    pool = net.op("pool", "ReduceMean", [product, axes], (2, 4), keep_dims="false")
    q = net.constant("q", rng.integers(-127, 128, (5, 4)).astype(np.int8))
    real = net.op("real", "Convert", [q], (5, 4), destination_type="f32")
    scale = net.constant("scale", rng.uniform(0.01, 0.02, (5, 1)).astype(np.float32))
    k = net.op("k", "Multiply", [real, scale], (5, 4), auto_broadcast="numpy")
    logits = net.op("logits", "MatMul", [pool, k], (2, 5), transpose_a="false",
                    transpose_b="true")  # fmt: skip
    best = net.constant("best", np.array(1, np.int64))
    _, label = net.op("label", "TopK", [logits, best], (2, 1), version="opset11",
                      more=[("int64", (2, 1))], axis=1, mode="max", sort="value",
                      index_element_type="i64", stable="false")  # fmt: skip
    net.result(logits)
    net.result(label)
    return net.write(path)


def unknown(path: Path, operator: str) -> Path:
    """A model with one operator that nothing knows."""
    net = Net("unknown")
    x = net.parameter("x", (2,))
    net.result(net.op("odd_one", operator, [x], (2,), version="extension"))
    return net.write(path)
