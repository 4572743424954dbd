"""Small ONNX models, well-formed unless a test makes them otherwise."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64


def value(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, name=None, **attributes):
    return helper.make_node(op, inputs, outputs, name=name or f"{op}_{outputs[0]}", **attributes)


def stored(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, weights=(), *, opset=18, ir=10, **more):
    """A ModelProto; ``more`` goes to ``helper.make_model``."""
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    opsets = more.pop("opsets", [helper.make_opsetid("", opset)])
    made = helper.make_model(graph, opset_imports=opsets, **more)
    made.ir_version = ir
    return made


def save(path, made):
    path.write_bytes(made.SerializeToString())
    return path


def matrix(rows=4, columns=4):
    draw = np.random.default_rng(rows * 100 + columns)
    return draw.standard_normal((rows, columns)).astype(np.float32)


def dense(**more):
    """y = relu(x·w), the model to be spoiled."""
    return model(
        [node("MatMul", ["x", "w"], ["t"], "product"), node("Relu", ["t"], ["y"], "relu")],
        [value("x", [2, 4])],
        [value("y", [2, 4])],
        [stored("w", matrix())],
        **more,
    )


def one(op, inputs=1, *, shape=(2, 4), out=None, dtype=FLOAT, out_dtype=None, **attributes):
    """A model of one node over equal inputs."""
    names = ["x", "z", "u"][:inputs]
    return model(
        [node(op, names, ["y"], op.lower(), **attributes)],
        [value(name, list(shape), dtype) for name in names],
        [value("y", None if out is None else list(out), out_dtype or dtype)],
    )


def external(tensor, location, *, offset=None, length=None):
    """The tensor with its values declared to be in another file."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": location, "offset": offset, "length": length}
    for key, word in entries.items():
        if word is not None:
            tensor.external_data.add(key=key, value=str(word))
    return tensor
