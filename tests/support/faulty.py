"""Small networks and the ways in which a conversion breaks them."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

HEAD = '<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>'


def network(text, **weights):
    """A model in ONNX's own notation, with weights by name."""
    proto = onnx.parser.parse_model(f"{HEAD} {text}")
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    onnx.checker.check_model(proto)
    return proto


def drawn(*shape, seed=0, scale=1.0):
    values = scale * np.random.default_rng([seed, *shape]).standard_normal(shape)
    return values.astype(np.float32)


def broken(proto, edit):
    """A copy with one thing changed."""
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    edit(copy)
    return copy


def node_of(proto, name):
    return next(node for node in proto.graph.node if node.name == name)


def attribute(node, name, value):
    def edit(proto):
        found = node_of(proto, node)
        kept = [a for a in found.attribute if a.name != name]
        del found.attribute[:]
        found.attribute.extend(kept)
        if value is not None:
            found.attribute.append(helper.make_attribute(name, value))

    return edit


def weight(name, change):
    def edit(proto):
        tensor = next(t for t in proto.graph.initializer if t.name == name)
        value = np.ascontiguousarray(change(numpy_helper.to_array(tensor).copy()))
        tensor.CopyFrom(numpy_helper.from_array(value, name))

    return edit


def inputs(node, *names):
    def edit(proto):
        found = node_of(proto, node)
        del found.input[:]
        found.input.extend(names)

    return edit


def operator(node, op):
    def edit(proto):
        found = node_of(proto, node)
        found.op_type = op
        del found.attribute[:]

    return edit


def bypassed(node):
    """The node is gone, and its readers get what it read."""

    def edit(proto):
        found = node_of(proto, node)
        source, result = found.input[0], found.output[0]
        proto.graph.node.remove(found)
        for each in proto.graph.node:
            for place, name in enumerate(each.input):
                if name == result:
                    each.input[place] = source

    return edit


def inserted(op, tensor, **attributes):
    """A node too many, behind a tensor."""

    def edit(proto):
        result = f"{tensor}_extra"
        for node in proto.graph.node:
            for place, name in enumerate(node.input):
                if name == tensor:
                    node.input[place] = result
        place = next(i for i, n in enumerate(proto.graph.node) if tensor in n.output)
        extra = helper.make_node(op, [tensor], [result], name=f"extra_{tensor}", **attributes)
        proto.graph.node.insert(place + 1, extra)

    return edit


def through_half(tensor):
    """A tensor on its way through float16 and back."""

    def edit(proto):
        inserted("Cast", tensor, to=10)(proto)
        inserted("Cast", f"{tensor}_extra", to=1)(proto)

    return edit


def swapped_branches(node):
    def edit(proto):
        one, other = node_of(proto, node).attribute
        one.name, other.name = other.name, one.name

    return edit


def swapped_outputs(proto):
    copies = [onnx.ValueInfoProto.FromString(o.SerializeToString()) for o in proto.graph.output]
    del proto.graph.output[:]
    proto.graph.output.extend(reversed(copies))


def saved(folder: Path, name: str, proto) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(proto, path)
    return path
