"""Further ways to grow a graph: movement, decisions, bodies, numbers at the edge of a type."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .building import Builder, Refused, value_info
from .steps import Step


def transpose(b: Builder, x: str) -> str:
    rank = len(b.shape(x))
    return b.add("Transpose", [x], perm=[int(axis) for axis in b.rng.permutation(rank)])


def reshape(b: Builder, x: str) -> str:
    shape = list(b.shape(x))
    if len(shape) < 2:
        raise Refused
    merged = b.pick([[shape[0], -1], [*shape[:-2], shape[-2] * shape[-1]], [-1, shape[-1]]])
    return b.add("Reshape", [x, b.integers(*merged)])


def concat(b: Builder, x: str) -> str:
    axis = int(b.rng.integers(len(b.shape(x))))
    other = b.normal(*b.shape(x)) if b.rng.random() < 0.5 else b.add("Tanh", [x])
    return b.add("Concat", b.pick([[x, other], [other, x]]), axis=axis)


def split(b: Builder, x: str) -> str:
    shape = b.shape(x)
    axis = int(b.rng.integers(len(shape)))
    if shape[axis] < 2:
        raise Refused
    at = int(b.rng.integers(1, shape[axis]))
    left, right = b.add("Split", [x, b.integers(at, shape[axis] - at)], 2, axis=axis)
    if 2 * at == shape[axis] and b.rng.random() < 0.8:
        return b.add("Mul", [left, b.add("Sigmoid", [right])])
    b.add("Tanh", [right])
    return left


def cut(b: Builder, x: str) -> str:
    axis = int(b.rng.integers(len(b.shape(x))))
    size = b.shape(x)[axis]
    if b.rng.random() < 0.5:
        taken = [int(i) for i in b.rng.integers(0, size, int(b.rng.integers(1, size + 2)))]
        return b.add("Gather", [x, b.integers(*taken)], axis=axis)
    start, step = int(b.rng.integers(0, size)), int(b.pick([1, 2]))
    ends = [b.integers(v) for v in (start, size, axis, step)]
    return b.add("Slice", [x, *ends])


def pad(b: Builder, x: str) -> str:
    rank = len(b.shape(x))
    ends, place = [0] * 2 * rank, int(b.rng.integers(2 * rank))
    ends[place] = 1
    modes = ["constant", "edge", "reflect"]
    mode = b.pick(modes if b.shape(x)[place % rank] > 1 else modes[:2])
    more = [b.constant(b.rng.normal())] if mode == "constant" else []
    return b.add("Pad", [x, b.integers(*ends), *more], mode=mode)


def resize(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) != 4:
        raise Refused
    mode = b.pick(["nearest", "linear"])
    stated = {"coordinate_transformation_mode": b.pick(["half_pixel", "asymmetric"])}
    if mode == "nearest":
        stated["nearest_mode"] = "floor"
        stated["coordinate_transformation_mode"] = "asymmetric"
    scales = b.constant([1, 1, 2, 2])
    return b.add("Resize", [x, "", scales], mode=mode, **stated)


def shuffle(b: Builder, x: str) -> str:
    shape = b.shape(x)
    if len(shape) == 4 and shape[1] % 4 == 0:
        return b.add("DepthToSpace", [x], blocksize=2, mode=b.pick(["DCR", "CRD"]))
    if len(shape) == 4 and shape[2] % 2 == 0 and shape[3] % 2 == 0:
        return b.add("SpaceToDepth", [x], blocksize=2)
    times = [1] * len(shape)
    times[int(b.rng.integers(len(shape)))] = 2
    return b.add("Tile", [x, b.integers(*times)])


def where(b: Builder, x: str) -> str:
    op = b.pick(["Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
    test = b.add(op, [x, b.normal(*b.pick([(), b.shape(x)[-1:]]))])
    if b.rng.random() < 0.3:
        return b.add("Cast", [test], to=TensorProto.FLOAT)
    other = b.add("Mul", [x, b.constant(0.25)]) if b.rng.random() < 0.5 else b.constant(-1.5)
    return b.add("Where", [test, x, other])


def to_steps(b: Builder, x: str) -> str:
    scaled = b.add("Mul", [x, b.constant(b.pick([1.0, 3.0, 1 / 3, 10.0]))])
    op = b.pick(["Floor", "Ceil", "Round", "Sign", "Cast"])
    if op != "Cast":
        return b.add(op, [scaled])
    whole = b.add("Cast", [scaled], to=b.pick([TensorProto.INT32, TensorProto.INT64]))
    return b.add("Cast", [whole], to=TensorProto.FLOAT)


def integers(b: Builder, x: str) -> str:
    scaled = b.add("Mul", [x, b.constant(10.0)])
    whole = b.add("Cast", [b.add("Round", [scaled])], to=TensorProto.INT64)
    op = b.pick(["Div", "Mod", "Add", "Mul", "Sub"])
    by = b.integers(int(b.pick([2, 3, 5])))
    return b.add("Cast", [b.add(op, [whole, by])], to=TensorProto.FLOAT)


def hardmax(b: Builder, x: str) -> str:
    return b.add("Hardmax", [x], axis=-1)


def top_k(b: Builder, x: str) -> str:
    size = b.shape(x)[-1]
    count = b.integers(int(b.rng.integers(1, size + 1)))
    values, _ = b.add("TopK", [x, count], 2, axis=-1, largest=int(b.rng.integers(2)))
    return values


def one_hot(b: Builder, x: str) -> str:
    best = b.add("ArgMax", [x], axis=-1, keepdims=0)
    depth = b.constant(b.shape(x)[-1], np.int64)
    return b.add("OneHot", [best, depth, b.constant([0, 1])])


def branch(b: Builder, x: str) -> str:
    """Either branch computes on what it sees from outside."""
    total = b.add("ReduceSum", [x], keepdims=0)
    test = b.add("Greater", [total, b.constant(b.rng.normal())])
    bodies = []
    for word in ("then", "else"):
        inner = Builder(b.rng, f"{total}/{word}/")
        inner.values[x] = b.values[x]
        y = inner.add("Mul", [x, inner.normal(b.shape(x)[-1])])
        y = inner.add(b.pick(["Tanh", "Relu", "Neg"]), [y])
        bodies.append(inner.graph([y], word))
    return b.add("If", [test], then_branch=bodies[0], else_branch=bodies[1])


def loop(b: Builder, x: str) -> str:
    size = b.shape(x)[-1]
    inner = Builder(b.rng, f"{x}/body/")
    turn, on, state = (f"{x}/{word}" for word in ("turn", "on", "state"))
    inner.values = {turn: np.asarray(0), on: np.asarray(True), state: b.values[x]}
    y = inner.add("MatMul", [state, inner.normal(size, size, scale=size**-0.5)])
    y = inner.add("Tanh", [inner.add("Add", [y, inner.normal(size)])])
    still = inner.add("Identity", [on])
    graph = inner.graph([still, y], "body")
    graph.input.extend(value_info(n, inner.values[n]) for n in (turn, on, state))
    rounds = b.constant(int(b.rng.integers(1, 4)), np.int64)
    return b.add("Loop", [rounds, b.constant(True, np.bool_), x], body=graph)


def narrow(b: Builder, x: str) -> str:
    """A part in half the width."""
    if b.rng.random() < 0.4:
        y = b.add("Cast", [x], to=TensorProto.BFLOAT16)
        return b.add("Cast", [y], to=TensorProto.FLOAT)
    y = b.add("Cast", [x], to=TensorProto.FLOAT16)
    y = b.add("Mul", [y, b.normal(b.shape(x)[-1], kind=np.float16)])
    if b.rng.random() < 0.6:
        size = b.shape(x)[-1]
        y = b.add("MatMul", [y, b.normal(size, 3, scale=size**-0.5, kind=np.float16)])
    return b.add("Cast", [y], to=TensorProto.FLOAT)


def large_neighbor(b: Builder, x: str) -> str:
    large = b.add("Mul", [x, b.constant(b.pick([1e8, 1e5, 1e12]))], wild=True)
    return b.add("Concat", b.pick([[x, large], [large, x]]), axis=-1, wild=True)


def tiny(b: Builder, x: str) -> str:
    return b.add("Mul", [x, b.constant(b.pick([1e-39, 1e-30, 3e-38]))])


def dead(b: Builder, x: str) -> str:
    """Units that no ordinary input wakes."""
    size = b.shape(x)[-1]
    width = int(b.rng.integers(3, 7))
    offset = np.where(b.rng.random(width) < 0.5, -1e3, 0.5)
    y = b.add("MatMul", [x, b.normal(size, width, scale=size**-0.5)])
    return b.add("Relu", [b.add("Add", [y, b.constant(offset)])])


def double(b: Builder, x: str) -> str:
    y = b.add("Cast", [x], to=TensorProto.DOUBLE)
    y = b.add("Mul", [y, b.normal(b.shape(x)[-1], kind=np.float64)])
    return b.add("Cast", [y], to=TensorProto.FLOAT)


def label(b: Builder, x: str) -> str:
    """An integer output: where the largest is, or what was picked."""
    if b.rng.random() < 0.3:
        _, places = b.add("TopK", [x, b.integers(2)], 2, axis=-1)
        return places
    best = b.add(b.pick(["ArgMax", "ArgMax", "ArgMin"]), [x], axis=-1, keepdims=0)
    return b.add("Add", [best, b.integers(0)]) if b.rng.random() < 0.5 else best


MORE_STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        transpose, reshape, concat, split, cut, pad, resize, shuffle, where, to_steps, integers,
        hardmax, top_k, one_hot, branch, loop, narrow, double, dead,
    )
}  # fmt: skip
# What nothing should be computed on any more: outputs at the edge of their type.
LAST_STEPS: dict[str, Step] = {step.__name__: step for step in (large_neighbor, tiny)}
__all__ = ["LAST_STEPS", "MORE_STEPS", "label"]
