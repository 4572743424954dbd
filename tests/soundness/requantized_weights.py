"""Random pairs that are both quantized, or that dequantize before or after a selection."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from unreached import F32, Pair, model, node


def _in_blocks(weight, block):
    """Integers of four bits, a scale for each block, and the numbers they stand for."""
    rows, columns = weight.shape
    parts = weight.reshape(rows // block, block, columns)
    scale = (np.abs(parts).max(axis=1) / 7).astype(np.float32)
    integers = np.clip(np.rint(parts / scale[:, None]), -8, 7).astype(np.int8)
    real = (integers * scale[:, None]).reshape(rows, columns)
    return integers.reshape(rows, columns), scale, real.astype(np.float32)


def _product(integers, scale, block, packed):
    rows, columns = integers.shape
    reads = {"x": (F32, (3, rows))}, {"y": (F32, (3, columns))}
    if packed:
        units = (integers.T.astype(np.int16) + 8).astype(np.uint8)
        stored = (units[:, 0::2] | (units[:, 1::2] << 4)).reshape(columns, -1, block // 2)
        product = node("MatMulNBits", "x w s", "y", domain="com.microsoft", bits=4,
                       block_size=block, N=columns, K=rows)  # fmt: skip
        held = {"w": stored, "s": np.ascontiguousarray(scale.T).ravel()}
        return model([product], *reads, held)
    stored = helper.make_tensor("w", TensorProto.INT4, integers.shape, integers.ravel().tolist())
    nodes = [
        node("DequantizeLinear", "w s", "r", axis=0, block_size=block),
        node("MatMul", "x r", "y"),
    ]
    return model(nodes, *reads, {"w": stored, "s": scale})


def other_blocks(random: np.random.Generator, same: bool) -> Pair:
    """Blocks of another size: from the same numbers or from the quantized ones."""
    columns = int(random.integers(4, 12))
    weight = random.normal(size=(64 * int(random.integers(1, 3)), columns)).astype(np.float32)
    sizes = [16, 32, 64]
    first = int(random.choice(sizes))
    second = int(random.choice([each for each in sizes if each != first]))
    integers, scale, real = _in_blocks(weight, first)
    again, steps, _ = _in_blocks(weight if random.random() < 0.5 else real, second)
    if not same:
        row, column = int(random.integers(len(weight))), int(random.integers(columns))
        value = again[row, column]
        again[row, column] = value + 6 if value < 1 else value - 6
    packed = random.random(2) < 0.5
    inputs = {"x": random.normal(size=(3, len(weight))).astype(np.float32)}
    return Pair(
        reference=_product(integers, scale, first, bool(packed[0])),
        candidate=_product(again, steps, second, bool(packed[1])),
        inputs=inputs, same=same,
    )  # fmt: skip


def table_of_integers(random: np.random.Generator, same: bool) -> Pair:
    """A table in eight bits that is dequantized before its rows are selected, or after."""
    rows, width = int(random.integers(20, 200)), int(random.integers(3, 12))
    values = random.normal(size=(rows, width)).astype(np.float32)
    signed = random.random() < 0.5
    scale = np.float32(np.abs(values).max() / 127)
    zero = np.int8(0) if signed else np.uint8(128)
    whole = np.rint(values / scale) + int(zero)
    stored = np.clip(whole, -128 if signed else 0, 127 if signed else 255).astype(zero.dtype)
    right = stored.copy()
    if not same:
        place = int(random.integers(10, rows)), int(random.integers(width))
        stored[place] ^= 32
    reads = {"i": (np.dtype(np.int64), (3,))}, {"y": (F32, (3, width))}

    def written(integers, after):
        first, second = ("t", "g") if after else ("r", "y")
        steps = [node("Gather", f"{first} i", second)]
        last = node("DequantizeLinear", "g s z" if after else "t s z", "y" if after else "r")
        nodes = [*steps, last] if after else [last, *steps]
        return model(nodes, *reads, {"t": integers, "s": scale, "z": zero})

    after = random.random(2) < 0.5
    reference = written(right, bool(after[0]))
    if random.random() < 0.5:
        reference = model([node("Gather", "t i", "y")], *reads, {"t": values})
    inputs = {"i": random.integers(0, 10, size=3)}
    return Pair(
        reference=reference, candidate=written(stored, bool(after[1])), inputs=inputs, same=same
    )


MAKERS = {each.__name__: each for each in (other_blocks, table_of_integers)}


def pair(maker: str, seed: int) -> Pair:
    """The pair of a seed: even ones are the same function, odd ones are not."""
    return MAKERS[maker](np.random.default_rng(seed), seed % 2 == 0)
