"""A TFLite network by hand, in floats and in eight bits, and what a conversion breaks in it."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tflite_building import Building

RNG = np.random.default_rng(7)
KERNEL = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
BIAS = RNG.normal(size=4).astype(np.float32)
DENSE = RNG.normal(size=(6, 8)).astype(np.float32)
SHIFT = RNG.normal(size=6).astype(np.float32)
IMAGE = RNG.normal(size=(2, 6, 6, 3)).astype(np.float32)
STEPS = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
RELU = schema.ActivationFunctionType.RELU


def network():
    """Conv with ReLU, a leaky branch, both joined, resized, averaged, and a dense layer."""
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (2, 6, 6, 3))
    kernel = graph.tensor("kernel", KERNEL.shape, value=KERNEL)
    bias = graph.tensor("bias", (4,), value=BIAS)
    conv, leak = (graph.tensor(name, (2, 6, 6, 4)) for name in ("conv", "leak"))
    joined, wide = graph.tensor("joined", (2, 6, 6, 8)), graph.tensor("wide", (2, 9, 9, 8))
    size = graph.tensor("size", (2,), "int32", value=[9, 9])
    axes = graph.tensor("axes", (2,), "int32", value=[1, 2])
    mean = graph.tensor("mean", (2, 8))
    dense = graph.tensor("dense", DENSE.shape, value=DENSE)
    shift = graph.tensor("shift", (6,), value=SHIFT)
    y = graph.tensor("y", (2, 6))
    graph.op("CONV_2D", [x, kernel, bias], [conv], "Conv2D", **STEPS)
    graph.op("LEAKY_RELU", [conv], [leak], "LeakyRelu", alpha=0.3)
    graph.op("CONCATENATION", [leak, conv], [joined], "Concatenation", axis=3)
    graph.op("RESIZE_BILINEAR", [joined, size], [wide], "ResizeBilinear", halfPixelCenters=True)
    graph.op("MEAN", [wide, axes], [mean], "Reducer")
    graph.op("FULLY_CONNECTED", [mean, dense, shift], [y], "FullyConnected")
    graph.ends([x], [y])
    return model


def eight_bits():
    """Quantize, a convolution with one scale for each channel, dequantize."""
    step = np.float32(8.0 / 255)
    steps = (np.abs(KERNEL).max(axis=(1, 2, 3)) / 127).astype(np.float32)
    whole = np.rint(KERNEL / steps[:, None, None, None]).astype(np.int8)
    added = np.rint(BIAS / (step * steps)).astype(np.int32)
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (2, 6, 6, 3))
    quantized = graph.tensor("held", (2, 6, 6, 3), "int8", scale=step, zero=0)
    kernel = graph.tensor("kernel", whole.shape, "int8", value=whole, scale=steps)
    bias = graph.tensor("bias", (4,), "int32", value=added, scale=step * steps)
    conv = graph.tensor("conv", (2, 6, 6, 4), "int8", scale=np.float32(40 / 255), zero=0)
    y = graph.tensor("y", (2, 6, 6, 4))
    graph.op("QUANTIZE", [x], [quantized], version=1)
    graph.op("CONV_2D", [quantized, kernel, bias], [conv], "Conv2D", version=3, **STEPS)
    graph.op("DEQUANTIZE", [conv], [y], version=2)
    graph.ends([x], [y])
    return model


def floats_of_eight_bits():
    """The same network without its quantizers."""
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (2, 6, 6, 3))
    kernel = graph.tensor("kernel", KERNEL.shape, value=KERNEL)
    bias = graph.tensor("bias", (4,), value=BIAS)
    y = graph.tensor("y", (2, 6, 6, 4))
    graph.op("CONV_2D", [x, kernel, bias], [y], "Conv2D", **STEPS)
    graph.ends([x], [y])
    return model


def option(place, **settings):
    def edit(model):
        options = model.made.subgraphs[0].operators[place].builtinOptions
        for name, value in settings.items():
            assert getattr(options, name) != value
            setattr(options, name, value)

    return edit


def tensor(model, name):
    found = model.made.subgraphs[0].tensors
    return next(each for each in found if each.name == name.encode())


def stored(name, change):
    """A constant with other values of its own type and shape."""

    def edit(model):
        found = tensor(model, name)
        kinds = {schema.TensorType.FLOAT32: np.float32, schema.TensorType.INT8: np.int8,
                 schema.TensorType.INT32: np.int32}  # fmt: skip
        stored = model.made.buffers[found.buffer]
        old = np.frombuffer(stored.data.tobytes(), kinds[found.type]).reshape(found.shape)
        new = np.ascontiguousarray(change(old.copy())).astype(old.dtype)
        stored.data = np.frombuffer(new.tobytes(), np.uint8)

    return edit


def inputs(place, *order):
    """The operator reads its inputs in another order; None leaves one out."""

    def edit(model):
        operator = model.made.subgraphs[0].operators[place]
        read = [-1 if each is None else int(operator.inputs[each]) for each in order]
        operator.inputs = np.array(read, np.int32)

    return edit


def grid(name, *, scale=1.0, zero=0):
    def edit(model):
        grid_now = tensor(model, name).quantization
        grid_now.scale = (np.asarray(grid_now.scale) * scale).astype(np.float32)
        grid_now.zeroPoint = np.asarray(grid_now.zeroPoint) + zero

    return edit


def too_narrow(model):
    """The grids of ``eight_bits`` as a calibration on inputs five times too small leaves them."""
    for edit in (
        grid("held", scale=0.2),
        grid("bias", scale=0.2),
        stored("bias", lambda bias: bias * 5),
        grid("conv", scale=0.2),
    ):
        edit(model)


def squared_difference():
    """A hard swish, and the squares of what it changes."""
    model = Building()
    graph = model.graph()
    x, bent, y = (graph.tensor(name, (2, 6, 6, 3)) for name in ("x", "bent", "y"))
    graph.op("HARD_SWISH", [x], [bent])
    graph.op("SQUARED_DIFFERENCE", [bent, x], [y], "SquaredDifference")
    graph.ends([x], [y])
    return model


def spelled_out():
    """The same, with the hard swish in four steps."""
    model = Building()
    graph = model.graph()
    x, more, cut, part, bent, y = (
        graph.tensor(name, (2, 6, 6, 3)) for name in ("x", "more", "cut", "part", "bent", "y")
    )
    three = graph.tensor("three", (), value=np.float32(3.0))
    six = graph.tensor("six", (), value=np.float32(6.0))
    graph.op("ADD", [x, three], [more], "Add")
    graph.op("RELU6", [more], [cut])
    graph.op("DIV", [cut, six], [part], "Div")
    graph.op("MUL", [part, x], [bent], "Mul")
    graph.op("SQUARED_DIFFERENCE", [bent, x], [y], "SquaredDifference")
    graph.ends([x], [y])
    return model


def operator(place, op):
    """Another builtin in the place of one."""

    def edit(model):
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, op)
        code.version = 1
        model.made.operatorCodes.append(code)
        operator = model.made.subgraphs[0].operators[place]
        operator.opcodeIndex = len(model.made.operatorCodes) - 1
        operator.builtinOptions, operator.builtinOptionsType = None, 0

    return edit
