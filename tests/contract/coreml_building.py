"""Core ML models written by hand: the specification field by field, without Core ML Tools."""

import json
import struct

import ml_dtypes
import numpy as np

TYPES = {
    "bool": 1, "string": 2, "float16": 10, "float32": 11, "int8": 21, "int32": 23, "int4": 25,
    "uint8": 31, "uint16": 32, "uint32": 33, "uint4": 35, "uint2": 36, "uint1": 37,
}  # fmt: skip
BLOBS = {"float16": 1, "float32": 2, "uint8": 3, "int8": 4, "int4": 8, "uint4": 11, "int32": 14}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    data = b"".join(each.encode() if isinstance(each, str) else each for each in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor_type(dtype, shape):
    """A size of None is one that the file leaves open."""
    sizes = (
        message(3, message(2) if size is None else message(1, number(1, size))) for size in shape
    )
    return message(1, number(1, TYPES[dtype]), number(2, len(shape)), *sizes)


def named(name, dtype, shape):
    return message(1, name) + message(2, tensor_type(dtype, shape))


def value(array):
    """A value inside the specification."""
    if isinstance(array, str):
        words = message(4, message(1, array))
        return message(2, tensor_type("string", ())) + message(3, message(1, words))
    array = np.asarray(array)
    dtype = array.dtype.name
    flat = array.reshape(-1)
    if dtype == "float32":
        held = message(1, message(1, flat.astype("<f4").tobytes()))
    elif dtype == "int32":
        held = message(2, message(1, *map(varint, flat.tolist())))
    elif dtype == "bool":
        held = message(3, message(1, *map(varint, map(int, flat.tolist()))))
    else:
        held = message(7, message(1, packed(array)))
    return message(2, tensor_type(dtype, array.shape)) + message(3, message(1, held))


def packed(array):
    """The bytes of an array; integers narrower than a byte lie one behind the other."""
    bits = {"int4": 4, "uint4": 4}.get(array.dtype.name)
    if bits is None:
        return np.ascontiguousarray(array).tobytes()
    fields = array.astype(np.int8).view(np.uint8).reshape(-1, 1) & (2**bits - 1)
    return np.packbits(
        np.unpackbits(fields, axis=1, bitorder="little")[:, :bits].reshape(-1), bitorder="little"
    ).tobytes()


class Weights:
    """A weight file under construction."""

    def __init__(self):
        self.data = bytearray(struct.pack("<II", 0, 2) + bytes(56))

    def add(self, array, *, kind=None, size=None, start=None, sentinel=0xDEADBEEF):
        """A value that refers to a new blob; what is stated may be wrong on purpose."""
        array = np.asarray(array)
        raw, at = packed(array), len(self.data)
        kind = BLOBS[array.dtype.name] if kind is None else kind
        size = len(raw) if size is None else size
        start = at + 64 if start is None else start
        self.data += struct.pack("<IIQQ", sentinel, kind, size, start) + bytes(40) + raw
        self.data += bytes(-len(self.data) % 64)
        self.data[0:4] = struct.pack("<I", struct.unpack_from("<I", self.data)[0] + 1)
        return self.value(array.dtype.name, array.shape, at)

    @staticmethod
    def value(dtype, shape, at, file="@model_path/weights/weight.bin"):
        return message(2, tensor_type(dtype, shape)) + message(5, message(1, file), number(2, at))


class Block:
    """Operations of one block under construction."""

    def __init__(self):
        self.operations = []

    def op(
        self, kind, output, dtype="float32", sizes=(), /, *, blocks=(), attributes=None, **inputs
    ):
        """One operation; inputs are names, lists of names, or values. Returns its first result."""
        parts = [message(1, kind)]
        for key, given in inputs.items():
            many = given if isinstance(given, list) else [given]
            bindings = [
                message(1, message(1, each) if isinstance(each, str) else message(2, each))
                for each in many
            ]
            parts.append(message(2, message(1, key), message(2, *bindings)))
        results = output if isinstance(output, list) else [(output, dtype, sizes)]
        parts += [message(3, named(*each)) for each in results]
        parts += [message(4, each) for each in blocks]
        stated = {"name": value(f"op_{results[0][0]}"), **(attributes or {})}
        parts += [message(5, message(1, key), message(2, each)) for key, each in stated.items()]
        self.operations.append(message(3, *parts))
        return results[0][0]

    def const(self, name, array, stored=None):
        """A constant: in the specification, or the value ``stored`` that refers to a file."""
        dtype = "string" if isinstance(array, str) else np.asarray(array).dtype.name
        shape = () if isinstance(array, str) else np.asarray(array).shape
        held = value(array) if stored is None else stored
        return self.op("const", name, dtype, shape, attributes={"val": held})

    def data(self, outputs, inputs=()):
        """The bytes of the block."""
        given = (message(1, named(*each)) for each in inputs)
        return b"".join([*given, *(message(2, each) for each in outputs), *self.operations])


def specification(block, inputs, outputs, *, opset="CoreML6", metadata=None):
    """A model with one function; ``inputs`` are (name, type, sizes)."""
    program = message(
        2,
        message(1, "main"),
        message(
            2,
            *(message(1, named(*each)) for each in inputs),
            message(2, opset),
            message(3, message(1, opset), message(2, block.data(outputs))),
        ),
    )
    about = [
        message(100, message(1, key), message(2, text)) for key, text in (metadata or {}).items()
    ]
    description = [message(1, message(1, name)) for name, *_ in inputs]
    description += [message(10, message(1, name)) for name in outputs]
    return (
        number(1, 7)
        + message(2, *description, message(100, *about))
        + message(502, number(1, 1), program)
    )


def package(folder, data, weights=None, *, manifest=None):
    """A package as Core ML Tools lays it out."""
    root = folder / "Data" / "com.apple.CoreML"
    root.mkdir(parents=True)
    (root / "model.mlmodel").write_bytes(data)
    entries = {"A": {"path": "com.apple.CoreML/model.mlmodel", "name": "model.mlmodel"}}
    if weights is not None:
        (root / "weights").mkdir()
        (root / "weights" / "weight.bin").write_bytes(bytes(weights.data))
        entries["B"] = {"path": "com.apple.CoreML/weights", "name": "weights"}
    stated = {"fileFormatVersion": "1.0.0", "itemInfoEntries": entries, "rootModelIdentifier": "A"}
    (folder / "Manifest.json").write_text(json.dumps(manifest or stated))
    return folder


def ints(*numbers):
    return np.asarray(numbers, np.int32)


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def network(
    *, held=lambda block, name, array: block.const(name, array), dtype="float32", block=None
):
    """Conv, normalization, two branches, pooling, a product; ``held`` stores a weight."""
    rng, block = np.random.default_rng(0), Block() if block is None else block

    def weight(name, *shape):
        return held(block, name, normal(rng, *shape).astype(dtype))

    conv = block.op(
        "conv", "c", dtype, (2, 4, 6, 6), x="x", weight=weight("w", 4, 3, 3, 3),
        bias=weight("b", 4), strides=block.const("strides", ints(1, 1)),
        pad_type=block.const("pad_type", "custom"), pad=block.const("pad", ints(1, 1, 1, 1)),
        dilations=block.const("dilations", ints(1, 1)), groups=block.const("groups", np.int32(1)),
    )  # fmt: skip
    relu = block.op("relu", "r", dtype, (2, 4, 6, 6), x=conv)
    gate = block.op("sigmoid", "s", dtype, (2, 4, 6, 6), x=conv)
    product = block.op("mul", "p", dtype, (2, 4, 6, 6), x=relu, y=gate)
    pooled = block.op(
        "reduce_mean", "a", dtype, (2, 4), x=product, axes=block.const("axes", ints(2, 3)),
        keep_dims=block.const("keep_dims", np.bool_(False)),
    )  # fmt: skip
    normed = block.op(
        "layer_norm", "n", dtype, (2, 4), x=pooled, axes=block.const("last", ints(-1)),
        gamma=weight("g", 4), beta=weight("o", 4),
        epsilon=block.const("epsilon", np.asarray(1e-5, dtype)),
    )  # fmt: skip
    logits = block.op(
        "linear", "logits", dtype, (2, 5), x=normed, weight=weight("k", 5, 4), bias=weight("h", 5)
    )
    block.op(
        "reduce_argmax", "label", "int32", (2,), x=logits,
        axis=block.const("axis", np.int32(1)), keep_dims=block.const("no", np.bool_(False)),
    )  # fmt: skip
    return block


INPUTS = (("x", "float32", (2, 3, 6, 6)),)
OUTPUTS = ("logits", "label")


def small():
    """The network as the bytes of an .mlmodel file that needs no weight file."""
    return specification(network(), INPUTS, OUTPUTS)


def small_package(folder):
    """The network as a package whose weights lie in a file of their own."""
    weights = Weights()
    block = network(held=lambda block, name, array: block.const(name, array, weights.add(array)))
    return package(folder, specification(block, INPUTS, OUTPUTS), weights)


def one(kind, shape, /, *, out=None, dtype="float32", given="float32", blocks=(), **parameters):
    """A model of one operation on x; parameters are arrays, words, or names of its inputs."""
    block, stated = Block(), {}
    for key, parameter in parameters.items():
        known = isinstance(parameter, str) and parameter in {"x", "y"}
        stated[key] = parameter if known else block.const(f"v_{key}", parameter)
    inputs = [("x", given, shape)]
    block.op(kind, "out", dtype, shape if out is None else out, blocks=blocks, **stated)
    return specification(block, inputs, ["out"])


def unknown(word):
    """A model with an operator that nobody knows."""
    return one(word, (2,), x="x")


def int4(*numbers):
    return np.asarray(numbers).astype(ml_dtypes.int4)


def onnx_network(folder):
    """The same network in ONNX, with the same weights."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    shapes = {"w": (4, 3, 3, 3), "b": (4,), "g": (4,), "o": (4,), "k": (5, 4), "h": (5,)}
    weights = [numpy_helper.from_array(normal(rng, *s), n) for n, s in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Sigmoid", ["c"], ["s"]),
        helper.make_node("Mul", ["r", "s"], ["p"]),
        helper.make_node("GlobalAveragePool", ["p"], ["a4"]),
        helper.make_node("Flatten", ["a4"], ["a"]),
        helper.make_node("LayerNormalization", ["a", "g", "o"], ["n"], epsilon=1e-5),
        helper.make_node("Gemm", ["n", "k", "h"], ["logits"], transB=1),
        helper.make_node("ArgMax", ["logits"], ["label"], axis=1, keepdims=0),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "net", [info("x", TensorProto.FLOAT, [2, 3, 6, 6])],
        [info("logits", TensorProto.FLOAT, [2, 5]), info("label", TensorProto.INT64, [2])],
        weights,
    )  # fmt: skip
    path = folder / "net.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
    return str(path)
