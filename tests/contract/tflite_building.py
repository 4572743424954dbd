"""TFLite models written by hand, one operator after the other, without TensorFlow."""

import flatbuffers
import ml_dtypes
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {
    name.lower(): number
    for name, number in vars(schema.TensorType).items()
    if not name.startswith("_")
}


class Graph:
    """One sub-graph under construction; tensors are known by the number that ``tensor`` gives."""

    def __init__(self, model, name="main"):
        self.model, self.made = model, schema.SubGraphT()
        self.made.name, self.made.tensors, self.made.operators = name.encode(), [], []

    def tensor(self, name, shape, dtype="float32", value=None, **more):
        """``more``: scale, zero, axis, variable, signature, sparsity, raw (bytes as they are)."""
        tensor = schema.TensorT()
        tensor.name = None if name is None else name.encode()
        tensor.shape, tensor.type = np.array(shape, np.int32), TYPES[dtype]
        tensor.hasRank = more.get("has_rank", True)
        tensor.isVariable = more.get("variable", False)
        tensor.sparsity = more.get("sparsity")
        if "signature" in more:
            tensor.shapeSignature = np.array(more["signature"], np.int32)
        if "scale" in more:
            tensor.quantization = quantization(**more)
        raw = more.get("raw")
        if value is not None:
            kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
            raw = np.ascontiguousarray(np.asarray(value, kind)).tobytes()
        if raw is not None:
            tensor.buffer = self.model.buffer(raw)
        self.made.tensors.append(tensor)
        return len(self.made.tensors) - 1

    def op(self, op, inputs, outputs, options=None, *, version=1, custom=False, **settings):
        """``options`` names the schema's class (``Conv2D``); ``settings`` are its fields."""
        operator = schema.OperatorT()
        operator.opcodeIndex = self.model.code(op, version, custom)
        operator.inputs, operator.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
        if options is not None:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, f"{options}Options")
            operator.builtinOptions = getattr(schema, f"{options}OptionsT")()
            for key, value in settings.items():
                assert hasattr(operator.builtinOptions, key)
                setattr(operator.builtinOptions, key, value)
        self.made.operators.append(operator)
        return operator

    def ends(self, inputs, outputs):
        self.made.inputs = np.array(inputs, np.int32)
        self.made.outputs = np.array(outputs, np.int32)
        return self


class Building:
    """A model under construction; buffer 0 is the empty one."""

    def __init__(self, description="by hand"):
        self.made = schema.ModelT()
        self.made.version, self.made.description = 3, description.encode()
        self.made.buffers, self.made.operatorCodes = [schema.BufferT()], []
        self.made.subgraphs, self._codes = [], {}

    def graph(self, name="main"):
        graph = Graph(self, name)
        self.made.subgraphs.append(graph.made)
        return graph

    def buffer(self, raw):
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(raw, np.uint8)
        self.made.buffers.append(buffer)
        return len(self.made.buffers) - 1

    def code(self, op, version, custom):
        if (op, version) not in self._codes:
            code = schema.OperatorCodeT()
            number = (
                schema.BuiltinOperator.CUSTOM if custom else getattr(schema.BuiltinOperator, op)
            )
            code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
            code.version, code.customCode = version, op.encode() if custom else None
            self._codes[op, version] = len(self.made.operatorCodes)
            self.made.operatorCodes.append(code)
        return self._codes[op, version]

    def signature(self, key, inputs, outputs, graph=0):
        made = schema.SignatureDefT()
        made.signatureKey, made.subgraphIndex = key.encode(), graph
        made.inputs, made.outputs = _mapped(inputs), _mapped(outputs)
        self.made.signatureDefs = [*(self.made.signatureDefs or ()), made]

    def data(self, *, identifier=b"TFL3"):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.made.Pack(builder), identifier)
        return bytes(builder.Output())


def quantization(*, scale, zero=0, axis=0, **_):
    made = schema.QuantizationParametersT()
    made.scale = np.atleast_1d(np.asarray(scale, np.float32))
    made.zeroPoint = np.broadcast_to(np.asarray(zero, np.int64), made.scale.shape).copy()
    made.quantizedDimension = axis
    return made


def _mapped(names):
    found = []
    for name, index in names.items():
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = name.encode(), index
        found.append(entry)
    return found


def small():
    """Conv, two branches, a product, a mean, a dense layer, and an integer output."""
    rng = np.random.default_rng(0)

    def weights(*shape):
        return rng.normal(size=shape).astype(np.float32)

    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (2, 6, 6, 3))
    kernel = graph.tensor("conv/kernel", (4, 3, 3, 3), value=weights(4, 3, 3, 3))
    bias = graph.tensor("conv/bias", (4,), value=weights(4))
    conv, relu, gate = (graph.tensor(f"net/{n}", (2, 6, 6, 4)) for n in ("conv", "relu", "gate"))
    product = graph.tensor("net/product", (2, 6, 6, 4))
    axes = graph.tensor("net/axes", (2,), "int32", value=[1, 2])
    mean = graph.tensor("net/mean", (2, 4))
    dense = graph.tensor("head/kernel", (5, 4), value=weights(5, 4))
    shift = graph.tensor("head/bias", (5,), value=weights(5))
    logits = graph.tensor("net/logits", (2, 5))
    last = graph.tensor("net/last", (), "int32", value=1)
    label = graph.tensor("net/label", (2,), "int32")
    graph.op("CONV_2D", [x, kernel, bias], [conv], "Conv2D", strideW=1, strideH=1)
    graph.op("RELU", [conv], [relu])
    graph.op("LOGISTIC", [conv], [gate])
    graph.op("MUL", [relu, gate], [product], "Mul")
    graph.op("MEAN", [product, axes], [mean], "Reducer")
    graph.op("FULLY_CONNECTED", [mean, dense, shift], [logits], "FullyConnected")
    graph.op("ARG_MAX", [logits, last], [label], "ArgMax", outputType=TYPES["int32"])
    graph.ends([x], [logits, label])
    return model


def unknown(operator="Frobnicate"):
    """A custom operator that nobody has."""
    model = Building()
    graph = model.graph()
    x, y = graph.tensor("x", (2,)), graph.tensor("y", (2,))
    graph.op(operator, [x], [y], custom=True)
    graph.ends([x], [y])
    return model
