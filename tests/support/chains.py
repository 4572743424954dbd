"""Graphs of a few operators, and a session that computes them, cut anywhere."""

from __future__ import annotations

import zlib

import numpy as np

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.core.trace import Capabilities

OPS = {
    "Sin": np.sin,
    "Cos": np.cos,
    "Neg": np.negative,
    "Add": np.add,
    "Mul": np.multiply,
    "Transpose": np.transpose,
    "Identity": lambda array: array,
    "ReduceSum": lambda array: np.asarray(array.sum()),
    "SumOfRows": lambda array: array.sum(axis=1, keepdims=True),
    "SumOfColumns": lambda array: array.sum(axis=0, keepdims=True),
    "Parts": lambda array: tuple(np.split(array, 2)),
    "Twice": lambda array: (array, array),
}


def node(op, inputs, output, *, more=(), **changes):
    return Node(
        name=changes.pop("name", f"make_{output}"), op=op, native_op=changes.pop("native_op", op),
        inputs=tuple(inputs), outputs=(output, *more), **changes,
    )  # fmt: skip


def graph(nodes, *, outputs, constants=(), shape=(4, 6)):
    made = [name for each in nodes for name in each.outputs]
    specs = {name: TensorSpec(name=name, dtype="float32", shape=shape) for name in ("x", *made)}
    return Graph(
        name="g",
        inputs=(specs["x"],),
        outputs=tuple(specs[name] for name in outputs),
        nodes=tuple(nodes),
        tensors=specs,
        constants={each.name: each for each in constants},
    )


class Session:
    """What an oracle is to the stages; ``computed`` counts the nodes that ran."""

    capabilities = Capabilities(noise=True)

    def __init__(self, graph, stored=None):
        self.graph, self.stored = graph, dict(stored or {})
        self.computed, self.most_fetched = 0, 0

    def run(self, feeds, fetch, *, noise=None):
        makers = {name: each for each in self.graph.nodes for name in each.outputs}
        values = {**self.stored, **feeds}
        for each in self._needed(makers, values, fetch):
            result = OPS[each.native_op](*(values[name] for name in each.inputs))
            results = result if isinstance(result, tuple) else (result,)
            if noise is not None and noise.rounding:
                draw = np.random.default_rng(zlib.crc32(f"{noise.seed} {each.name}".encode()))
                results = [
                    part * (1 + 2.0**-24 * draw.normal(size=np.shape(part))) for part in results
                ]
            values.update(zip(each.outputs, results, strict=True))
            self.computed += 1
        self.most_fetched = max(self.most_fetched, len(fetch))
        return {name: np.asarray(values[name]) for name in fetch}

    def _needed(self, makers, known, fetch):
        needed, open_ends = set(), [name for name in fetch if name not in known]
        while open_ends:
            each = makers[open_ends.pop()]
            if each.name not in needed:
                needed.add(each.name)
                open_ends += [name for name in each.inputs if name not in known]
        return [each for each in self.graph.nodes if each.name in needed]

    def close(self):
        pass
