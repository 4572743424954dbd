"""Random pairs that differ in an attribute which the given input does not show, or in nothing.

The truth is known by construction: an attribute of a node whose data some input can bring to
where it matters, or one behind a node that keeps all data away from there.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper

from unreached import F32, Pair, model, node

# Operator, attributes, others that differ where data is negative or small.
_BENT = (
    ("LeakyRelu", {"alpha": 0.1}, {"alpha": 0.2}),
    ("Elu", {"alpha": 1.0}, {"alpha": 1.5}),
    ("Celu", {"alpha": 1.0}, {"alpha": 2.0}),
    ("Selu", {"alpha": 1.67, "gamma": 1.05}, {"alpha": 1.2, "gamma": 1.05}),
    ("ThresholdedRelu", {"alpha": -1.0}, {"alpha": -2.0}),
    ("HardSigmoid", {"alpha": 0.2, "beta": 1.0}, {"alpha": 0.3, "beta": 1.0}),
)


def _fixed(random, shape):
    return random.normal(size=shape).astype(np.float32)


def _positive(random, shape):
    return (np.abs(random.normal(size=shape)) + 0.05).astype(np.float32)


def _bent(random, same, wrap):
    """An activation on data that the given input leaves positive."""
    op, right, wrong = _BENT[int(random.integers(len(_BENT)))]
    inner, width = int(random.integers(2, 7)), int(random.integers(2, 7))
    weights = {"w": _positive(random, (inner, width)), "v": _fixed(random, (width, 3))}
    behind = same and random.random() < 0.5
    reads = {"x": (F32, (3, inner))}, {"y": (F32, (3, 3))}
    guard = str(random.choice(["Relu", "Abs", "Sigmoid", "Exp"])) if behind else "Identity"
    sides = []
    for attributes in (right, right if same and not behind else wrong):
        nodes = [
            node("MatMul", "x w", "a"),
            node(guard, "a", "b"),
            node(op, "b", "c", **attributes),
            node("MatMul", "c v", "y"),
        ]
        sides.append((nodes, reads, weights))
    inputs = {"x": _positive(random, (3, inner))}
    return Pair(
        reference=model(*_flat(sides[0])), candidate=wrap(random, *sides[1]), inputs=inputs,
        same=same,
    )  # fmt: skip


def _flat(side):
    nodes, reads, weights = side
    return nodes, *reads, weights


def _as_is(random, nodes, reads, weights):
    return model(nodes, *reads, weights)


def _rewritten(random, nodes, reads, weights):
    """The same graph with other names, and nodes that change nothing."""
    first = {name: f"{name}_" for name in reads[0]}
    made = [node("Identity", name, other) for name, other in first.items()]
    for each in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(each)
        copy.name = f"other_{each.name}"
        del copy.input[:]
        copy.input.extend([first.get(name, name) for name in each.input])
        made.append(copy)
        if random.random() < 0.4 and each.output[0] not in reads[1]:
            name = each.output[0]
            made.append(node("Identity", name, f"{name}_"))
            first[name] = f"{name}_"
    return model(made, *reads, weights)


def _in_half(random, nodes, reads, weights):
    """The same graph in float16, between casts."""
    [(given, _)], [(result, _)] = reads[0].items(), reads[1].items()
    names = {given: "half", result: "narrow"}
    made = [node("Cast", given, "half", to=TensorProto.FLOAT16)]
    for each in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(each)
        for field in (copy.input, copy.output):
            kept = [names.get(name, name) for name in field]
            del field[:]
            field.extend(kept)
        made.append(copy)
    made.append(node("Cast", "narrow", result, to=TensorProto.FLOAT))
    stored = {name: value.astype(np.float16) for name, value in weights.items()}
    return model(made, *reads, stored)


def _in_int8(random, nodes, reads, weights):
    """The same graph with weights in int8, a scale for each column."""
    made, stored, names = [], {}, {}
    for name, value in weights.items():
        scale = (np.abs(value).max(axis=0) / 127).astype(np.float32)
        stored[name] = np.rint(value / scale).astype(np.int8)
        stored[f"{name}_scale"] = scale
        names[name] = f"{name}_real"
        made.append(node("DequantizeLinear", f"{name} {name}_scale", names[name], axis=1))
    for each in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(each)
        kept = [names.get(name, name) for name in each.input]
        del copy.input[:]
        copy.input.extend(kept)
        made.append(copy)
    return model(made, *reads, stored)


def activation(random, same):
    """An activation whose other part no given data reaches, in a graph written as before."""
    return _bent(random, same, _as_is)


def rewritten_activation(random, same):
    """An activation in a graph with other names and further nodes."""
    return _bent(random, same, _rewritten)


def narrow_activation(random, same):
    """An activation in a candidate of lower precision."""
    return _bent(random, same, _in_half if random.random() < 0.5 else _in_int8)


def narrow_rewritten_weights(random, same):
    """A Gemm whose attributes belong to the form of its weight, in lower precision."""
    inner, width = int(random.integers(2, 7)), int(random.integers(2, 7))
    weight, after = _positive(random, (inner, width)), _fixed(random, (width, 3))
    reads = {"x": (F32, (3, inner))}, {"y": (F32, (3, 3))}
    slope = 0.1 if same else 0.3

    def nodes(slope, **attributes):
        return [
            node("Gemm", "x w", "a", **attributes),
            node("LeakyRelu", "a", "b", alpha=slope),
            node("MatMul", "b v", "y"),
        ]

    if random.random() < 0.5:
        written, stored = {"transB": 1}, np.ascontiguousarray(weight.T)
    else:
        written, stored = {"alpha": 1.0}, 2 * weight
    reference = model(nodes(0.1, alpha=1.0 if "transB" in written else 2.0, transB=0),
                      *reads, {"w": weight, "v": after})  # fmt: skip
    wrap = _in_half if random.random() < 0.5 else _in_int8
    candidate = wrap(random, nodes(slope, **written), reads, {"w": stored, "v": after})
    inputs = {"x": _positive(random, (3, inner))}
    return Pair(reference=reference, candidate=candidate, inputs=inputs, same=same)


def branch(random, same):
    """An activation in a branch that the given input does not take."""
    alpha = 0.1 if same else float(random.choice([0.0, 0.2, 0.5]))

    def side(slope):
        def body(name, op, **attributes):
            result = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])
            return helper.make_graph([node(op, "x", name, **attributes)], name, [], [result])

        nodes = [
            node("ReduceSum", "x", "s", keepdims=0),
            node("Greater", "s zero", "c"),
            helper.make_node(
                "If", ["c"], ["y"], "choose",
                then_branch=body("t", "Tanh"), else_branch=body("e", "LeakyRelu", alpha=slope),
            ),
        ]  # fmt: skip
        return model(nodes, {"x": (F32, (2, 3))}, {"y": (F32, (2, 3))}, {"zero": np.float32(0)})

    inputs = {"x": _positive(random, (2, 3))}
    return Pair(reference=side(0.1), candidate=side(alpha), inputs=inputs, same=same)


def symmetric_input(random, same):
    """An axis, an order of axes or a border that an input of ones does not show."""
    kind, size = int(random.integers(4)), int(random.integers(3, 6))
    shape = (1, 1, size, size)
    choices = (
        ("Softmax", {"axis": 2}, {"axis": 3}, {"axis": -2}),
        ("Transpose", {"perm": [0, 1, 2, 3]}, {"perm": [0, 1, 3, 2]}, {"perm": [1, 0, 2, 3]}),
        ("AveragePool",
         {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 0},
         {"kernel_shape": [2, 2], "pads": [0, 0, 1, 1], "count_include_pad": 0},
         {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 0, "ceil_mode": 0}),
        ("CumSum", {"reverse": 0}, {"exclusive": 0, "reverse": 1}, {"exclusive": 0}),
    )  # fmt: skip
    op, right, wrong, equal = choices[kind]
    value = np.zeros(shape, np.float32) if op == "CumSum" else np.ones(shape, np.float32)
    along = {"axis": np.int64(3)} if op == "CumSum" else {}
    reads = {"x": (F32, shape)}, {"y": (F32, shape)}
    operands = " ".join(["x", *along])
    sides = [
        model([node(op, operands, "y", **each)], *reads, along)
        for each in (right, equal if same else wrong)
    ]
    return Pair(reference=sides[0], candidate=sides[1], inputs={"x": value}, same=same)


def epsilon(random, same):
    """The epsilon of a normalization beside a variance that dwarfs it."""
    width = int(random.integers(3, 9))
    scale = {"s": _fixed(random, width), "b": _fixed(random, width)}
    reads = {"x": (F32, (2, width))}, {"y": (F32, (2, width))}
    sides = [
        model([node("LayerNormalization", "x s b", "y", epsilon=each)], *reads, scale)
        for each in (1e-5, 1e-5 if same else float(random.choice([1e-3, 1e-2])))
    ]
    inputs = {"x": 1e4 * _fixed(random, (2, width))}
    return Pair(reference=sides[0], candidate=sides[1], inputs=inputs, same=same)


def exchanged(random, same):
    """Two activations on the same data, whose slopes are exchanged."""
    slopes = [0.1, 0.3]
    reads = {"x": (F32, (2, 4))}, {"y": (F32, (2, 4)), "z": (F32, (2, 4))}
    sides = [
        model(
            [node("LeakyRelu", "x", "y", alpha=one), node("LeakyRelu", "x", "z", alpha=two)],
            *reads, {},
        )
        for one, two in (slopes, slopes if same else slopes[::-1])
    ]  # fmt: skip
    inputs = {"x": _positive(random, (2, 4))}
    return Pair(reference=sides[0], candidate=sides[1], inputs=inputs, same=same)


def large_limit(random, same):
    """A limit or a factor far beyond the given data; a mask of that size is as good as another."""
    large = float(10.0 ** random.uniform(5, 12))
    if same and random.random() < 0.5:  # hides the data of a softmax
        hidden = {"k": np.array([0, 0, -large], np.float32)}
        other = {"k": np.array([0, 0, -3e38], np.float32)}
        nodes = [node("Add", "x k", "a"), node("Softmax", "a", "y", axis=-1)]
    else:
        op = str(random.choice(["Min", "Max", "Mul"]))
        hidden = {"k": np.float32(-large if op == "Max" else large)}
        other = hidden if same else {"k": hidden["k"] * np.float32(random.choice([0.5, 3.0]))}
        nodes = [node(op, "x k", "y")]
    reads = {"x": (F32, (2, 3))}, {"y": (F32, (2, 3))}
    inputs = {
        "x": np.zeros((2, 3), np.float32) if nodes[0].op_type == "Mul" else _fixed(random, (2, 3))
    }
    return Pair(
        reference=model(nodes, *reads, hidden), candidate=model(nodes, *reads, other),
        inputs=inputs, same=same,
    )  # fmt: skip


def rounded_size(random, same):
    """A pool that rounds the number of its windows up, on sizes that its stride divides."""
    stride, halved = int(random.integers(2, 4)), int(random.integers(3))
    size = stride * 2**halved * int(random.integers(1, 4))
    fixed = same and random.random() < 0.5
    shape = (1, 2, size, size) if fixed else (1, 2, "height", "width")
    reads = {"x": (F32, shape)}, {"y": (F32, (1, 2, None, None))}
    op = str(random.choice(["MaxPool", "AveragePool"]))

    def nodes(ceil):
        names = ["x", *(f"h{each}" for each in range(halved))]
        window = {"kernel_shape": [stride] * 2, "strides": [stride] * 2}
        half = {"kernel_shape": [2, 2], "strides": [2, 2]}
        made = [node("MaxPool", a, b, **half, ceil_mode=0) for a, b in pairwise(names)]
        last = [node(op, names[-1], "z", **window, ceil_mode=ceil), node("Neg", "z", "y")]
        return [*made, *last]

    wrap = _in_half if random.random() < 0.5 else _as_is
    return Pair(
        reference=model(nodes(0), *reads, {}),
        candidate=wrap(random, nodes(int(fixed or not same)), reads, {}),
        inputs={"x": _fixed(random, (1, 2, size, size))},
        same=same,
    )


MAKERS = {
    each.__name__: each
    for each in (
        activation, rewritten_activation, narrow_activation, narrow_rewritten_weights, branch,
        symmetric_input, epsilon, exchanged, large_limit, rounded_size,
    )
}  # fmt: skip


def pair(maker: str, seed: int) -> Pair:
    """The pair of a seed: even ones are the same function, odd ones are not."""
    return MAKERS[maker](np.random.default_rng(seed), seed % 2 == 0)
