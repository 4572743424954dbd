"""Small networks, and what ONNX Runtime's optimizers and quantizers make of them."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

LEVELS = {
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "layout": ort.GraphOptimizationLevel.ORT_ENABLE_LAYOUT,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


class Network:
    """A graph under construction."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0

    def constant(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape, spread=None):
        fan = np.prod(shape[1:]) if spread is None else 1.0
        spread = np.sqrt(2.0 / fan) if spread is None else spread
        return self.constant(self.random.normal(0, spread, shape).astype(np.float32))

    def add(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{op.lower()}_{self.count}" + (f"_{k}" if k else "") for k in range(outputs)]
        self.nodes.append(
            helper.make_node(op, list(inputs), names, name=f"{op}_{self.count}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def conv(self, x, inner, outer, kernel=3, group=1, **attributes):
        pads = attributes.pop("pads", [kernel // 2] * 4)
        w = self.weight(outer, inner // group, kernel, kernel)
        return self.add("Conv", x, w, self.weight(outer, spread=0.1), group=group, pads=pads,
                        **attributes)  # fmt: skip

    def norm(self, x, channels):
        positive = self.constant(self.random.uniform(0.5, 1.5, channels).astype(np.float32))
        parts = [self.weight(channels, spread=0.2) for _ in range(3)]
        return self.add("BatchNormalization", x, parts[0], parts[1], parts[2], positive)

    def model(self, inputs, outputs, opset=17):
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()],
            [onnx.helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
            self.weights,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10
        )
        return onnx.shape_inference.infer_shapes(model)


def residual_cnn(*, plain=False):
    """Convolutions of every kind; ``plain`` keeps to what quantizes well."""
    net = Network(1)
    x = net.add("Relu", net.norm(net.conv("x", 3, 16), 16))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = net.add("Relu", net.norm(net.conv(x, 16, 16), 16))
    y = net.norm(net.conv(y, 16, 16), 16)
    x = net.add("Relu", net.add("Add", x, y))
    x = net.add("LeakyRelu", net.conv(x, 16, 24, kernel=1), alpha=0.1)
    if not plain:
        depth = net.conv(x, 24, 24, group=24)
        x = net.add("Clip", depth, net.constant(np.float32(0)), net.constant(np.float32(6)))
        up = net.add("Resize", net.conv(x, 24, 16, strides=[2, 2]), "",
                     net.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                     nearest_mode="floor", coordinate_transformation_mode="asymmetric")  # fmt: skip
        x = net.add("Concat", x, net.add("Sigmoid", up), axis=1)
        x = net.conv(x, 40, 32, kernel=1)
    else:
        x = net.conv(x, 24, 32, kernel=1)
    x = net.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    x = net.add("Gemm", x, net.weight(10, 32), net.weight(10, spread=0.1), transB=1)
    return net.model({"x": (TensorProto.FLOAT, [2, 3, 16, 16])}, [x])


def transformer_block(width=16, heads=2, length=6):
    """Word and mask in, one block of attention with GELU out, spelled as exporters do."""
    net = Network(2)
    ids, size = net.weight(11, width, spread=1.0), width // heads
    x = net.add("Gather", ids, "ids")
    hidden = net.add("Cast", "mask", to=TensorProto.FLOAT)
    hidden = net.add("Sub", net.constant(np.float32(1)), hidden)
    hidden = net.add("Mul", hidden, net.constant(np.float32(-10000)))
    hidden = net.add("Unsqueeze", hidden, net.constant(np.array([1, 2])))

    def normalized(value):
        gamma = net.constant(net.random.uniform(0.5, 1.5, width).astype(np.float32))
        return net.add("LayerNormalization", value, gamma, net.weight(width, spread=0.1),
                       axis=-1, epsilon=1e-5)  # fmt: skip

    def linear(value, inner, outer):
        product = net.add("MatMul", value, net.weight(inner, outer, spread=inner**-0.5))
        return net.add("Add", net.weight(outer, spread=0.1), product)

    def by_head(value, perm):
        value = net.add("Reshape", value, net.constant(np.array([0, 0, heads, size])))
        return net.add("Transpose", value, perm=perm)

    x = normalized(x)
    q, k, v = (by_head(linear(x, width, width), perm) for perm in
               ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))  # fmt: skip
    scores = net.add("Div", net.add("MatMul", q, k), net.constant(np.float32(size**0.5)))
    weights = net.add("Softmax", net.add("Add", scores, hidden), axis=-1)
    mixed = net.add("Transpose", net.add("MatMul", weights, v), perm=[0, 2, 1, 3])
    mixed = net.add("Reshape", mixed, net.constant(np.array([0, 0, width])))
    x = normalized(net.add("Add", linear(mixed, width, width), x))
    inner = linear(x, width, 4 * width)
    halves = net.add("Div", inner, net.constant(np.float32(2**0.5)))
    gate = net.add("Add", net.add("Erf", halves), net.constant(np.float32(1)))
    inner = net.add("Mul", net.add("Mul", inner, gate), net.constant(np.float32(0.5)))
    x = normalized(net.add("Add", linear(inner, 4 * width, width), x))
    whole = (TensorProto.INT64, [2, length])
    return net.model({"ids": whole, "mask": whole}, [x])


def lstm_network(width=8, hidden=8):
    """A recurrent layer and a product behind it."""
    net = Network(3)
    y, _, _ = net.add(
        "LSTM", "x", net.weight(1, 4 * hidden, width, spread=0.3),
        net.weight(1, 4 * hidden, hidden, spread=0.3), net.weight(1, 8 * hidden, spread=0.1),
        outputs=3, hidden_size=hidden,
    )  # fmt: skip
    y = net.add("Squeeze", y, net.constant(np.array([1])))
    y = net.add("MatMul", y, net.weight(hidden, 12, spread=0.3))
    y = net.add("Add", y, net.weight(12, spread=0.1))
    return net.model({"x": (TensorProto.FLOAT, [7, 2, width])}, [y])


def gated_network():
    """Gates, a concatenation and a product of activations with each other."""
    net = Network(5)
    left, right = net.conv("x", 3, 16), net.conv("x", 3, 16)
    gated = net.add("Mul", net.add("Sigmoid", left), right)
    gated = net.add("Mul", gated, net.add("Sigmoid", gated))
    x = net.add("Concat", gated, left, axis=1)
    x = net.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    columns = net.add("Reshape", x, net.constant(np.array([2, 32, 64])))
    rows = net.add("Transpose", columns, perm=[0, 2, 1])
    scores = net.add("Mul", net.add("MatMul", rows, columns), net.constant(np.float32(0.02)))
    x = net.add("MatMul", net.add("Softmax", scores, axis=-1), rows)
    x = net.add("LeakyRelu", net.add("MatMul", x, net.weight(32, 8, spread=0.2)), alpha=0.1)
    x = net.add("ReduceMean", x, axes=[1], keepdims=0)
    return net.model({"x": (TensorProto.FLOAT, [2, 3, 16, 16])}, [x])


def block_quantized_network():
    """A product with weights of 4 bits in blocks, as language models store them."""
    net = Network(8)
    int4 = onnx.helper.tensor_dtype_to_np_dtype(TensorProto.INT4)
    weights, zeros = (net.constant(net.random.integers(-8, 8, shape).astype(int4))
                      for shape in ((64, 32), (2, 32)))  # fmt: skip
    scales = net.constant(net.random.uniform(0.01, 0.1, (2, 32)).astype(np.float32))
    real = net.add("DequantizeLinear", weights, scales, zeros, axis=0, block_size=32)
    y = net.add("MatMul", "x", real)
    return net.model({"x": (TensorProto.FLOAT, [3, 64])}, [y], opset=21)


def feeds_of(model, seed=9):
    random = np.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            feeds[value.name] = random.normal(size=shape).astype(np.float32)
        elif value.name == "mask":
            feeds[value.name] = (np.arange(shape[1]) < [[4], [6]]).astype(np.int64)
        else:
            feeds[value.name] = random.integers(0, 11, shape)
    return feeds


class _Calibration(quantization.CalibrationDataReader):
    def __init__(self, model):
        self.batches = iter([feeds_of(model, seed) for seed in range(4)])

    def get_next(self):
        return next(self.batches, None)


# Weights in seven bits throughout: on CPUs without VNNI, ONNX Runtime saturates otherwise.


def statically_quantized(model, folder, quant_format):
    onnx.save(model, folder / "float.onnx")
    quantization.quantize_static(
        folder / "float.onnx", folder / "int8.onnx", _Calibration(model),
        quant_format=quant_format, per_channel=True, reduce_range=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )  # fmt: skip
    return onnx.load(folder / "int8.onnx")


def dynamically_quantized(model, folder):
    onnx.save(model, folder / "float.onnx")
    quantization.quantize_dynamic(
        folder / "float.onnx",
        folder / "int8.onnx",
        weight_type=quantization.QuantType.QInt8,
        reduce_range=True,
    )
    return onnx.load(folder / "int8.onnx")


def optimized(model, level, folder):
    """The graph that ONNX Runtime really runs at this level, and what it gives."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(folder / f"{level}.onnx")
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return onnx.load(options.optimized_model_filepath), session.run(None, feeds_of(model))[0]
