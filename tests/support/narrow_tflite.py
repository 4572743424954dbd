"""A small TFLite network, its forms by AI Edge Quantizer, and faults planted in their weights."""

from pathlib import Path

import flatbuffers
import ml_dtypes
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tflite_building import Building

INNER, UNITS = 64, 64


def float_network(path, *, factors=None):
    """Two products with numbers of many sizes; the second is the one that faults are planted in.

    ``factors``, one for each channel of the second or one for all, are multiplied by a node of
    their own; without them they are part of its weight.
    """
    random = np.random.default_rng(0)
    model = Building()
    graph = model.graph()

    def weight(name, units):
        sizes = np.exp(random.normal(size=(units, INNER // 32))).repeat(32, axis=1)
        values = random.normal(size=(units, INNER)) * sizes / 16
        if factors is not None and name == "w2":
            values = values / factors.reshape(-1, 1)
        return graph.tensor(name, (units, INNER), value=values.astype(np.float32))

    x, hidden, bent, y = (
        graph.tensor(name, (4, size))
        for name, size in (("x", INNER), ("hidden", UNITS), ("bent", UNITS), ("y", 16))
    )
    middle = graph.tensor("between", (4, UNITS))
    graph.op("FULLY_CONNECTED", [x, weight("w1", UNITS), -1], [hidden], "FullyConnected")
    graph.op("TANH", [hidden], [bent])
    product = middle if factors is None else graph.tensor("product", (4, UNITS))
    graph.op("FULLY_CONNECTED", [bent, weight("w2", UNITS), -1], [product], "FullyConnected")
    if factors is not None:
        kept = graph.tensor("factors", factors.shape, value=factors.astype(np.float32))
        graph.op("MUL", [product, kept], [middle], "Mul")
    graph.op("FULLY_CONNECTED", [middle, weight("w3", 16), -1], [y], "FullyConnected")
    graph.ends([x], [y])
    model.signature("serving_default", {"x": x}, {"y": y})
    Path(path).write_bytes(model.data())
    return path


def quantized(source, target, recipe):
    """The network as a recipe of AI Edge Quantizer stores it."""
    from ai_edge_quantizer import quantizer
    from ai_edge_quantizer import recipe as recipes

    made = quantizer.Quantizer(str(source))
    made.load_quantization_recipe(getattr(recipes, recipe)())
    Path(target).write_bytes(made.quantize().quantized_model)
    return target


class Stored:
    """The second weight of a quantized network, as it can be changed."""

    def __init__(self, path):
        self.model = schema.ModelT.InitFromPackedBuf(Path(path).read_bytes(), 0)
        self.graph = self.model.subgraphs[0]
        (self.tensor,) = (each for each in self.graph.tensors if each.name == b"w2")
        self.grid = self.tensor.quantization

    @property
    def packed(self):
        return np.asarray(self.model.buffers[self.tensor.buffer].data, np.uint8)

    @packed.setter
    def packed(self, value):
        self.model.buffers[self.tensor.buffer].data = value.astype(np.uint8)

    @property
    def fields(self):
        return np.stack([self.packed & 15, self.packed >> 4], axis=1).reshape(-1)

    @fields.setter
    def fields(self, value):
        pairs = value.reshape(-1, 2)
        self.packed = pairs[:, 0] | (pairs[:, 1] << 4)

    @property
    def _blocks(self):
        if not self.grid.detailsType:
            return None
        return self.graph.tensors[self.grid.details.scales]

    @property
    def scales(self):
        if self._blocks is None:
            return np.array(self.grid.scale)
        raw = bytes(self.model.buffers[self._blocks.buffer].data)
        return np.frombuffer(raw, np.float16).reshape(self._blocks.shape).astype(np.float32)

    @scales.setter
    def scales(self, value):
        if self._blocks is None:
            self.grid.scale = value.astype(np.float32)
            return
        # LiteRT takes no scales of more digits than these.
        short = value.astype(ml_dtypes.bfloat16).astype(np.float16)
        raw = np.frombuffer(np.ascontiguousarray(short).tobytes(), np.uint8)
        self.model.buffers[self._blocks.buffer].data = raw

    def write(self, path):
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        Path(path).write_bytes(bytes(builder.Output()))
        return path


def packing_order(stored):
    stored.packed = (stored.packed >> 4) | (stored.packed << 4)


def read_unsigned(stored):
    stored.packed = stored.packed ^ 0x88


def other_axis(stored):
    """The scales were written for the other axis of the weight."""
    if stored.grid.detailsType:
        scales = stored.scales
        stored.scales = np.ascontiguousarray(scales.T).reshape(scales.shape)
    else:
        stored.grid.quantizedDimension = 1


def numbers_shifted(stored):
    """Every number is one step too large, as far as it can be."""
    fields = stored.fields
    stored.fields = np.where(fields == 7, fields, (fields + 1) & 15)


def shifted_zero_point(stored):
    stored.grid.zeroPoint = np.ones(len(stored.grid.scale), np.int64)


def one_scale(stored):
    scales = stored.scales
    scales.flat[scales.size // 2] *= 2
    stored.scales = scales


def all_scales(stored):
    stored.scales = stored.scales * np.float32(1.25)


def neighbors_scales(stored):
    stored.scales = np.roll(stored.scales, 1, axis=0)


FAULTS = {
    each.__name__: each
    for each in (
        packing_order, read_unsigned, other_axis, numbers_shifted, shifted_zero_point, one_scale,
        all_scales, neighbors_scales,
    )
}  # fmt: skip


def planted(source, target, fault):
    """The quantized network with a fault in its second product."""
    stored = Stored(source)
    FAULTS[fault](stored)
    return stored.write(target)
