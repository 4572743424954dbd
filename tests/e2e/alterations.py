"""Changes to the export of the shared network: one thing each."""

import numpy as np
import onnx
from onnx import helper, numpy_helper


def edited(pair, name, edit):
    """A copy of the export with one thing changed."""
    model = onnx.load(pair / "net.onnx")
    edit(model)
    path = pair / name
    onnx.save(model, path)
    return path


def norm_with_epsilon(epsilon):
    def edit(model):
        node = [n for n in model.graph.node if n.op_type == "BatchNormalization"][-1]
        kept = [a for a in node.attribute if a.name != "epsilon"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("epsilon", epsilon)])

    return edit


def rounded_weight(model):
    tensor = next(t for t in model.graph.initializer if "blocks.1.conv.weight" in t.name)
    array = numpy_helper.to_array(tensor).astype(np.float16).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def swapped_outputs(model):
    first, second = model.graph.output[0], model.graph.output[1]
    kept = [second, first]
    copies = [onnx.ValueInfoProto.FromString(each.SerializeToString()) for each in kept]
    del model.graph.output[:]
    model.graph.output.extend(copies)
