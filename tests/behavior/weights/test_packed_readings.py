"""Weights in blocks: faithful ones lose what they intend, and a wrong reading is named."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict
from packed_decoder import INNER, ROWS, at, network

WIDTH, COLUMNS, BLOCK = 64, 48, 16
KINDS = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4, "int8": TensorProto.INT8}
F32 = np.float32


def drawn(*shape, seed):
    return (np.random.default_rng([seed, *shape]).normal(size=shape) / np.sqrt(shape[0])).astype(
        F32
    )


WEIGHTS = {"w": drawn(WIDTH, COLUMNS, seed=1), "v": drawn(COLUMNS, WIDTH, seed=2)}
TABLE = drawn(50, WIDTH, seed=3)


def quantized(weight, kind, axis):
    """Integers, scales and zero points of a weight, in blocks along an axis."""
    bits = int(kind.removeprefix("u").removeprefix("int"))
    moved = np.moveaxis(weight, axis, -1)
    blocks = moved.reshape(*moved.shape[:-1], -1, BLOCK)
    if kind.startswith("u"):
        low, high = np.minimum(blocks.min(-1), 0), np.maximum(blocks.max(-1), 0)
        scales, ends = (high - low) / (2**bits - 1), (0, 2**bits - 1)
        zeros = np.rint(-low / scales)
    else:
        scales, ends = (
            np.abs(blocks).max(-1) / (2 ** (bits - 1) - 1),
            (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
        )
        zeros = np.zeros(scales.shape)
    scales = scales.astype(F32)
    fields = np.clip(np.rint(blocks / scales[..., None]) + zeros[..., None], *ends)
    return [np.moveaxis(each, -1, axis) for each in (fields.reshape(moved.shape), scales, zeros)]


def stored(values, kind, name):
    bytes_of = values.astype(np.int8 if kind.startswith("i") else np.uint8)
    return helper.make_tensor(name, KINDS[kind], values.shape, bytes_of.ravel().tolist())


def pair(kind="", *, table=False, change=None, slope=0.1):
    """A network in float and the same with weights in blocks, or with a table in blocks."""
    return network_of("", table, None, 0.1), network_of(kind, table, change, slope)


def network_of(kind, table, change, slope):
    nodes, constants = [], []
    if table:
        nodes.append(looked_up(constants, change if kind else None, packed=bool(kind)))
    for name, weight in WEIGHTS.items():
        if not kind or table:
            constants.append(numpy_helper.from_array(weight, name))
            continue
        parts = quantized(weight, kind, 0)
        fields, scales, zeros = parts if change is None or name != "v" else change(*parts)
        constants.append(stored(fields, kind, f"{name}_q"))
        constants.append(numpy_helper.from_array(scales, f"{name}_s"))
        constants.append(stored(zeros, kind, f"{name}_z"))
        inputs = [f"{name}_{part}" for part in "qsz"]
        nodes.append(
            helper.make_node(
                "DequantizeLinear", inputs, [name], f"{name}_dq", axis=0, block_size=BLOCK
            )
        )
    nodes += [
        helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
        helper.make_node("LeakyRelu", ["a"], ["b"], "slope", alpha=slope),
        helper.make_node("MatMul", ["b", "v"], ["c"], "second"),
        helper.make_node("Tanh", ["c"], ["y"], "last"),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, WIDTH])
    if table:
        given = helper.make_tensor_value_info("ids", TensorProto.INT64, [8])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, WIDTH])
    graph = helper.make_graph(nodes, "g", [given], [made], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def looked_up(constants, change, *, packed):
    if not packed:
        constants.append(numpy_helper.from_array(TABLE, "table"))
        return helper.make_node("Gather", ["table", "ids"], ["x"], "rows")
    parts = quantized(TABLE, "uint4", 1)
    fields, scales, zeros = parts if change is None else change(*parts)
    for name, value in (("q", in_bytes(fields)), ("s", scales), ("z", in_bytes(zeros))):
        constants.append(numpy_helper.from_array(value, name))
    return helper.make_node(
        "GatherBlockQuantized", ["q", "ids", "s", "z"], ["x"], "rows", domain="com.microsoft",
        bits=4, block_size=BLOCK, gather_axis=0, quantize_axis=1,
    )  # fmt: skip


def in_bytes(fields):
    fields = fields.astype(np.uint8)
    return fields[:, 0::2] | fields[:, 1::2] << 4


def turned(fields, scales, zeros):
    return fields.reshape(-1, 2)[:, ::-1].reshape(fields.shape), scales, zeros


def other_axis(fields, scales, zeros):
    return fields, np.ascontiguousarray(scales.T).reshape(scales.shape), zeros


def shifted(fields, scales, zeros):
    return fields, scales, np.minimum(zeros + 1, 7 if fields.min() < 0 else 15)


def scaled(fields, scales, zeros):
    return fields, scales * F32(1.2), zeros


READINGS = [
    (turned, "opposite order"),
    (other_axis, "along the other axis"),
    (shifted, "zero point is off by 1"),
    (scaled, "every scale is 1.2 times the right one"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_dequantized_in_blocks_is_degraded(kind):
    settings = {"candidate.qdq_accuracy_level": "0"}
    report = isomorph.check(*pair(kind), in_process=True, settings=settings)
    assert report.verdict is Verdict.DEGRADED
    assert not report.findings


@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_that_quantizes_their_activations_is_named(kind):
    report = isomorph.check(*pair(kind), in_process=True)
    assert report.verdict is Verdict.DEGRADED
    for found in report.findings:  # a CPU without such kernels stays in float
        assert (found.code, found.nodes) == ("ACTIVATIONS_QUANTIZED", ("first", "second"))
        assert "qdq_accuracy_level=0" in found.fix
    (output,) = report.outputs
    off = output.execution_candidate.distance.max_abs
    assert bool(report.findings) == (off > 1e-5)


def test_a_table_in_blocks_is_degraded():
    report = isomorph.check(*pair("uint4", table=True), in_process=True)
    assert report.verdict is Verdict.DEGRADED
    assert not report.findings


@pytest.mark.parametrize("table", [False, True])
def test_what_the_loss_hides_is_found(table):
    report = isomorph.check(*pair("uint4", table=table, slope=0.1003), in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    assert (report.findings[0].node, report.findings[0].cause) == ("slope", "attribute")


@pytest.mark.parametrize(("change", "words"), READINGS)
@pytest.mark.parametrize(("kind", "table"), [("int4", False), ("uint4", False), ("uint4", True)])
def test_a_wrong_reading_is_named(kind, table, change, words):
    report = isomorph.check(*pair(kind, table=table, change=change), in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    first = report.findings[0]
    assert (first.node, first.cause) == ("rows" if table else "second", "quantization")
    assert words in first.summary


def of_product(change):
    """The same of one product of a network, whose loss as a whole hides it."""

    def changed(name, fields, scales, zeros):
        if name != "down1":
            return fields, scales, zeros
        whole = [each & 15 for each in (fields, fields >> 4)]
        units = np.stack(whole, axis=-1).reshape(fields.shape[0], -1)
        points = np.stack([zeros & 15, zeros >> 4], axis=-1).reshape(scales.shape)
        units, scales, points = change(units, scales, points)
        return in_bytes(units).reshape(fields.shape), scales, in_bytes(points)

    return changed


@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize(("change", "words"), READINGS)
def test_a_wrong_reading_of_one_product_is_named(level, change, words):
    feeds = {"x": np.random.default_rng(3).standard_normal((ROWS, INNER)).astype(F32)}
    candidate = network(at(level), gain=1.0, change=of_product(change))
    report = isomorph.check(network(None, gain=1.0), candidate, inputs=feeds, in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    first = report.findings[0]
    assert (first.node, first.cause) == ("down1", "quantization")
    assert words in first.summary
