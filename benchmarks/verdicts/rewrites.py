"""The same function written down differently, as converters and optimizers do.

Each rewrite changes one place and returns whether it found one. The truth of a pair is still the
judge's business: a rewrite that rounds a constant again may move a decision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from .editing import Editor, copied, stated

F32 = np.float32
Rewrite = Callable[[Editor], bool]


def commute(e: Editor) -> bool:
    for node in e.of("Add", "Mul", "Max", "Min", "Sum", "Mean"):
        if len(node.input) == 2 and node.input[0] != node.input[1]:
            node.input[:] = [node.input[1], node.input[0]]
            return True
    return False


def gemm_to_matmul(e: Editor) -> bool:
    for node in e.of("Gemm"):
        x, w, *rest = node.input
        if stated(node, "transA", 0) or w not in e.constants or not e.is_float32(x):
            continue
        weights = e.constants[w].T if stated(node, "transB", 0) else e.constants[w]
        weights = (weights * F32(stated(node, "alpha", 1.0))).astype(F32)
        e.remove(node)
        if not rest:
            e.node("MatMul", [x, e.constant(weights)], node.output[0])
            return True
        product = e.node("MatMul", [x, e.constant(weights)])
        bias = (e.constants[rest[0]] * F32(stated(node, "beta", 1.0))).astype(F32)
        e.node("Add", [product, e.constant(bias)], node.output[0])
        return True
    return False


def matmul_to_gemm(e: Editor) -> bool:
    for node in e.of("MatMul"):
        x, w = node.input
        if e.rank(x) != 2 or w not in e.constants or not e.is_float32(x):
            continue
        add = e.only_reader(node.output[0])
        turned = e.constant(np.ascontiguousarray(e.constants[w].T))
        if add is not None and add.op_type == "Add":
            bias = next((n for n in add.input if n in e.constants), None)
            if bias is not None and e.constants[bias].shape == e.constants[w].shape[1:]:
                e.remove(node)
                e.remove(add)
                e.node("Gemm", [x, turned, bias], add.output[0], transB=1)
                return True
        e.remove(node)
        e.node("Gemm", [x, turned], node.output[0], transB=1)
        return True
    return False


def matmul_to_einsum(e: Editor) -> bool:
    for node in e.of("MatMul"):
        if node.input[1] in e.constants and e.rank(node.input[0]) and e.is_float32(node.input[0]):
            e.remove(node)
            e.node("Einsum", node.input, node.output[0], equation="...i,ij->...j")
            return True
    return False


def split_matmul(e: Editor) -> bool:
    for node in e.of("MatMul"):
        x, w = node.input
        value = e.constants.get(w)
        if value is None or value.ndim != 2 or value.shape[1] < 2 or not e.rank(x):
            continue
        at = int(e.rng.integers(1, value.shape[1]))
        parts = [e.node("MatMul", [x, e.constant(p)]) for p in (value[:, :at], value[:, at:])]
        e.remove(node)
        e.node("Concat", parts, node.output[0], axis=-1)
        return True
    return False


def scale_into_matmul(e: Editor) -> bool:
    for node in e.of("MatMul"):
        mul = e.only_reader(node.output[0])
        w = node.input[1]
        if mul is None or mul.op_type != "Mul" or w not in e.constants:
            continue
        factor = next((e.constants[n] for n in mul.input if n in e.constants), None)
        if factor is not None and factor.ndim == 0:
            scaled = (e.constants[w] * factor).astype(e.constants[w].dtype)
            e.remove(node)
            e.remove(mul)
            e.node("MatMul", [node.input[0], e.constant(scaled)], mul.output[0])
            return True
    return False


def _batch_factors(e: Editor, node) -> tuple | None:
    parts = [e.constants.get(name) for name in node.input[1:5]]
    if any(part is None or part.dtype != F32 for part in parts):
        return None
    scale, offset, mean, variance = (part.astype(np.float64) for part in parts)
    factor = scale / np.sqrt(variance + stated(node, "epsilon", 1e-5))
    return factor, offset - mean * factor


def fold_batch_norm(e: Editor) -> bool:
    for node in e.of("BatchNormalization"):
        found = _batch_factors(e, node)
        conv = e.maker(node.input[0])
        if found is None or conv is None or conv.op_type != "Conv" or len(node.output) > 1:
            continue
        if e.only_reader(node.input[0]) is None or conv.input[1] not in e.constants:
            continue
        factor, shift = found
        kernel = e.constants[conv.input[1]] * factor.reshape(-1, 1, 1, 1)
        bias = e.constants[conv.input[2]] * factor if len(conv.input) > 2 else 0
        made = copied(conv)
        inputs = [
            conv.input[0],
            e.constant(kernel.astype(F32)),
            e.constant((bias + shift).astype(F32)),
        ]
        made.input[:], made.output[:] = inputs, node.output
        e.remove(conv)
        e.remove(node)
        e.nodes.append(made)
        return True
    return False


def batch_norm_to_mul_add(e: Editor) -> bool:
    for node in e.of("BatchNormalization"):
        found, rank = _batch_factors(e, node), e.rank(node.input[0])
        if found is None or rank is None or len(node.output) > 1:
            continue
        shape = (1, -1) + (1,) * (rank - 2)
        factor, shift = (e.constant(part.reshape(shape).astype(F32)) for part in found)
        e.remove(node)
        e.node("Add", [e.node("Mul", [node.input[0], factor]), shift], node.output[0])
        return True
    return False


def explicit_padding(e: Editor) -> bool:
    for node in e.of("Conv", "AveragePool"):
        pads = list(stated(node, "pads", []))
        if not any(pads) or not e.is_float32(node.input[0]):
            continue
        if node.op_type == "AveragePool" and not stated(node, "count_include_pad", 0):
            continue
        half = len(pads) // 2
        ends = [0, 0, *pads[:half], 0, 0, *pads[half:]]
        padded = e.node("Pad", [node.input[0], e.constant(np.array(ends, np.int64))])
        node.input[0] = padded
        kept = [item for item in node.attribute if item.name != "pads"]
        del node.attribute[:]
        node.attribute.extend(kept)
        return True
    return False


def reduce_to_matmul(e: Editor) -> bool:
    for node in e.of("ReduceSum", "ReduceMean"):
        shape = e.shapes.get(node.input[0])
        axes = e.constants.get(node.input[1]) if len(node.input) > 1 else None
        if not shape or axes is None or not stated(node, "keepdims", 1):
            continue
        if list(axes) not in ([-1], [len(shape) - 1]) or not e.is_float32(node.input[0]):
            continue
        one = 1 / shape[-1] if node.op_type == "ReduceMean" else 1
        e.remove(node)
        e.node(
            "MatMul", [node.input[0], e.constant(np.full((shape[-1], 1), one, F32))], node.output[0]
        )
        return True
    return False


def cumsum_to_matmul(e: Editor) -> bool:
    for node in e.of("CumSum"):
        shape, axis = e.shapes.get(node.input[0]), e.constants.get(node.input[1])
        if not shape or axis is None or int(axis) != len(shape) - 1:
            continue
        if stated(node, "reverse", 0) or not e.is_float32(node.input[0]):
            continue
        upper = np.triu(np.ones((shape[-1],) * 2, F32), stated(node, "exclusive", 0))
        e.remove(node)
        e.node("MatMul", [node.input[0], e.constant(upper)], node.output[0])
        return True
    return False


def split_to_slices(e: Editor) -> bool:
    for node in e.of("Split"):
        sizes = e.constants.get(node.input[1]) if len(node.input) > 1 else None
        if sizes is None:
            continue
        axis = np.array([stated(node, "axis", 0)], np.int64)
        start = 0
        e.remove(node)
        for size, name in zip(sizes, node.output, strict=True):
            ends = [e.constant(np.array([v], np.int64)) for v in (start, start + size)]
            e.node("Slice", [node.input[0], *ends, e.constant(axis)], name)
            start += int(size)
        return True
    return False


def where_to_product(e: Editor) -> bool:
    """For finite values only: zero times infinity is no zero."""
    for node in e.of("Where"):
        test, x, y = node.input
        if any(n in e.constants and not np.all(np.isfinite(e.constants[n])) for n in (x, y)):
            continue
        mask = e.node("Cast", [test], to=TensorProto.FLOAT)
        kept = e.node("Mul", [x, mask])
        rest = e.node("Mul", [y, e.node("Sub", [e.constant(F32(1)), mask])])
        e.remove(node)
        e.node("Add", [kept, rest], node.output[0])
        return True
    return False


def transposed_around(e: Editor) -> bool:
    for node in e.of("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Erf", "Floor", "Round", "Softplus"):
        rank = e.rank(node.input[0])
        if not rank or rank < 2:
            continue
        perm = [int(axis) for axis in e.rng.permutation(rank)]
        back = [int(axis) for axis in np.argsort(perm)]
        node.input[0] = e.node("Transpose", [node.input[0]], perm=perm)
        result = node.output[0]
        e.node("Transpose", [e.insert_behind(result)], result, perm=back)
        return True
    return False


def constant_as_node(e: Editor) -> bool:
    if not e.constants:
        return False
    from onnx import numpy_helper

    names = list(e.constants)
    name = names[int(e.rng.integers(len(names)))]
    value = e.constants.pop(name)
    if name in e.outputs:
        return False
    e.node("Constant", [], name, value=numpy_helper.from_array(value))
    return True


def constant_in_double(e: Editor) -> bool:
    names = [name for name, value in e.constants.items() if value.dtype == F32]
    if not names:
        return False
    name = names[int(e.rng.integers(len(names)))]
    wide = e.constant(e.constants.pop(name).astype(np.float64))
    e.node("Cast", [wide], name, to=TensorProto.FLOAT)
    return True


def constant_in_half(e: Editor) -> bool:
    """The one rewrite that loses something: a weight is stored in 16 bits."""
    names = [n for n, v in e.constants.items() if v.dtype == F32 and v.size > 3 and e.readers(n)]
    names = [n for n in names if 1e-3 < np.abs(e.constants[n]).max() < 1e3]
    if not names:
        return False
    name = names[int(e.rng.integers(len(names)))]
    half = e.constant(e.constants.pop(name).astype(np.float16))
    e.node("Cast", [half], name, to=TensorProto.FLOAT)
    return True


def identity(e: Editor) -> bool:
    made = [name for node in e.nodes for name in node.output if name]
    name = made[int(e.rng.integers(len(made)))]
    e.node("Identity", [e.insert_behind(name)], name)
    return True


def flatten_to_reshape(e: Editor) -> bool:
    for node in e.of("Flatten"):
        shape = e.shapes.get(node.output[0])
        if shape:
            e.remove(node)
            sizes = e.constant(np.array(shape, np.int64))
            e.node("Reshape", [node.input[0], sizes], node.output[0])
            return True
    return False


def global_pool_to_reduce(e: Editor) -> bool:
    for node in e.of("GlobalAveragePool", "GlobalMaxPool"):
        op = "ReduceMean" if "Average" in node.op_type else "ReduceMax"
        axes = e.constant(np.array([2, 3], np.int64))
        e.remove(node)
        e.node(op, [node.input[0], axes], node.output[0], keepdims=1)
        return True
    return False


def if_to_where(e: Editor) -> bool:
    """Both branches are computed, and one is taken."""
    from onnx import numpy_helper

    for node in e.of("If"):
        results = []
        for word in ("then_branch", "else_branch"):
            body = stated(node, word, None)
            for tensor in body.initializer:
                e.constants[tensor.name] = numpy_helper.to_array(tensor)
            e.nodes.extend(copied(inner) for inner in body.node)
            results.append(body.output[0].name)
        e.remove(node)
        e.node("Where", [node.input[0], *results], node.output[0])
        return True
    return False


REWRITES: dict[str, Rewrite] = {
    rewrite.__name__: rewrite
    for rewrite in (
        commute, gemm_to_matmul, matmul_to_gemm, matmul_to_einsum, split_matmul, scale_into_matmul,
        fold_batch_norm, batch_norm_to_mul_add, explicit_padding, reduce_to_matmul,
        cumsum_to_matmul,
        split_to_slices, where_to_product, transposed_around, constant_as_node, constant_in_double,
        constant_in_half,
        identity, flatten_to_reshape, global_pool_to_reduce, if_to_where,
    )
}  # fmt: skip
