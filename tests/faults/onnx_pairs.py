"""Small ONNX models for the tests of localization, and the check that they go through."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import isomorph


def node(op, inputs, outputs, **attributes):
    """A node named by its operator and its first output."""
    names = outputs.split()
    return helper.make_node(op, inputs.split(), names, name=f"{op}_{names[0]}", **attributes)


def model(nodes, inputs, outputs, constants=None, opset=20):
    """A model of these nodes; ``inputs`` and ``outputs`` are shapes by name, of float32."""

    def spec(name, shape):
        kind = TensorProto.FLOAT
        if isinstance(shape, tuple):
            kind, shape = shape
        return helper.make_tensor_value_info(name, kind, shape)

    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(
        nodes, "g", [spec(*each) for each in inputs.items()],
        [spec(*each) for each in outputs.items()], stored,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def check(folder, reference, candidate, **options):
    """The report on two models, from files."""
    for name, each in (("reference", reference), ("candidate", candidate)):
        onnx.save(each, folder / f"{name}.onnx")
    return isomorph.check(
        folder / "reference.onnx", folder / "candidate.onnx", in_process=True, **options
    )
