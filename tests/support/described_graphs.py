"""Descriptions of graphs, as a framework would give them, for what reads descriptions alone."""

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, TensorSpec

SHAPE = (1, 8)


def node(name, op, inputs, outputs=None, *, native=None, bodies=None, **attributes):
    """A node whose output has its name; ``inputs`` are words."""
    return Node(
        name=name,
        op=op,
        native_op=native or op,
        inputs=tuple(inputs.split()),
        outputs=tuple((outputs or f"{name}.out").split()),
        attributes=attributes,
        bodies=bodies or {},
    )


def graph(nodes, constants=(), *, inputs="x", output=None, shapes=(), framework="onnx"):
    """A graph of these nodes; ``constants`` are arrays by name, ``shapes`` of single tensors."""
    known = {name: spec(name) for each in nodes for name in each.outputs}
    known |= {name: spec(name) for name in inputs.split()}
    known |= {name: spec(name, shape) for name, shape in dict(shapes).items()}
    ends = (output or nodes[-1].outputs[0]).split()
    return Graph(
        name="g",
        inputs=tuple(known[name] for name in inputs.split()),
        outputs=tuple(known[name] for name in ends),
        nodes=tuple(nodes),
        tensors=known,
        constants={name: constant_of(name, array) for name, array in dict(constants).items()},
        framework=framework,
    )


def spec(name, shape=SHAPE):
    return TensorSpec(name=name, dtype="float32", shape=shape)


def weight(seed, *shape):
    """A weight that no other seed gives."""
    return np.random.default_rng(seed).normal(size=shape or (8, 8)).astype(np.float32)
