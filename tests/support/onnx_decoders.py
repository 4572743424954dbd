"""Small decoders with caches as ONNX files, and the faults that conversions put into them."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, HEADS, KEY_HEADS, LAYERS, PLACES = 61, 32, 4, 2, 2, 64
HEAD = WIDTH // HEADS


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What differs from the decoder as it should be, in ``layer`` where it has one."""

    layer: int = 1
    position_shift: int = 0
    new_first: bool = False
    tiled_heads: bool = False
    sees_next: bool = False
    base: float = 10000.0
    scale: float = HEAD**-0.5
    epsilon: float = 1e-5
    interleaved: bool = False
    favored: int | None = None
    """One of two words with equal logits, whose bias is the next larger number."""


CLEAN = Faults()


class _Graph:
    def __init__(self, seed: int, *, narrow: bool = False) -> None:
        self.nodes, self.constants, self.narrow = [], [], narrow
        self.random = np.random.default_rng(seed)

    def __call__(self, op, *inputs, name, outputs=1, **attributes):
        names = [name] if outputs == 1 else [f"{name}.{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name, *shape):
        drawn = (self.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        if not self.narrow:
            return self.constant(name, drawn)
        step = np.float32(np.abs(drawn).max() / 127)
        self.constant(f"{name}.bytes", np.rint(drawn / step).astype(np.int8))
        self.constant(f"{name}.step", step)
        return self("DequantizeLinear", f"{name}.bytes", f"{name}.step", name=name)

    def ints(self, name, *values):
        return self.constant(name, np.array(values, np.int64))

    def linear(self, x, name, inner, outer):
        return self("MatMul", x, self.weight(f"{name}.weight", inner, outer), name=name)

    def saved(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        domains = {"": 20} | {node.domain: 1 for node in self.nodes if node.domain}
        opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = 10
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return str(path)


def _info(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, list(shape))


def _normalized(g, x, name, epsilon):
    mean = g("ReduceMean", g("Mul", x, x, name=f"{name}/square"), "last", name=f"{name}/mean")
    g.constant(f"{name}/epsilon", np.float32(epsilon))
    root = g("Sqrt", g("Add", mean, f"{name}/epsilon", name=f"{name}/add"), name=f"{name}/root")
    weight = g.constant(f"{name}.weight", (g.random.random(WIDTH) + 0.5).astype(np.float32))
    return g("Mul", g("Div", x, root, name=f"{name}/div"), weight, name=name)


def _rotated(g, x, cosine, sine, name, *, interleaved):
    if interleaved:  # neighbors instead of halves
        even = g("Slice", x, "zero1", "end1", "third", "two1", name=f"{name}/even")
        odd = g("Slice", x, "one1", "end1", "third", "two1", name=f"{name}/odd")
        pairs = [
            g("Unsqueeze", each, "four1", name=f"{name}/{at}")
            for at, each in enumerate((g("Neg", odd, name=f"{name}/neg"), even))
        ]
        joined = g("Concat", *pairs, name=f"{name}/pairs", axis=4)
        turned = g("Reshape", joined, g("Shape", x, name=f"{name}/shape"), name=f"{name}/turned")
    else:
        first, second = g("Split", x, name=f"{name}/halves", outputs=2, axis=3, num_outputs=2)
        turned = g(
            "Concat", g("Neg", second, name=f"{name}/neg"), first, name=f"{name}/turned", axis=3
        )
    straight = g("Mul", x, cosine, name=f"{name}/straight")
    return g("Add", straight, g("Mul", turned, sine, name=f"{name}/across"), name=name)


def _repeated(g, x, name, *, tiled):
    """Each head of keys for a group of neighboring heads of queries."""
    axis, repeats = ("one1", "repeat all") if tiled else ("two1", "repeat")
    each = g("Tile", g("Unsqueeze", x, axis, name=f"{name}/apart"), repeats, name=f"{name}/tile")
    return g("Reshape", each, "all heads", name=name)


def _angles(g, positions, name, base):
    half = HEAD // 2
    g.constant(f"{name}/speeds", (base ** (-np.arange(half) / half)).astype(np.float32))
    turns = g("Mul", positions, f"{name}/speeds", name=f"{name}/turns")
    both = g("Concat", turns, turns, name=f"{name}/both", axis=3)
    return g("Cos", both, name=f"{name}/cos"), g("Sin", both, name=f"{name}/sin")


def _attended(g, query, keys, values, hidden, name, scale):
    scores = g(
        "MatMul", query, g("Transpose", keys, name=f"{name}/keys", perm=[0, 1, 3, 2]),
        name=f"{name}/scores",
    )  # fmt: skip
    g.constant(f"{name}/scale", np.float32(scale))
    scaled = g("Mul", scores, f"{name}/scale", name=f"{name}/scaled")
    masked = g("Where", hidden, "far below", scaled, name=f"{name}/masked")
    weights = g("Softmax", masked, name=f"{name}/softmax", axis=-1)
    seen = g("MatMul", weights, values, name=f"{name}/seen")
    return g(
        "Reshape", g("Transpose", seen, name=f"{name}/back", perm=[0, 2, 1, 3]), "flat", name=name
    )


def _shared(g):
    g.ints("last", -1)
    for word, value in (("zero", 0), ("one", 1), ("two", 2), ("four", 4)):
        g.ints(f"{word}1", value)
    g.ints("third", 3)
    g.ints("end1", 1 << 40)
    g.ints("flat", 0, 0, WIDTH)
    g.ints("queries", 0, 0, HEADS, HEAD)
    g.ints("keys", 0, 0, KEY_HEADS, HEAD)
    g.ints("repeat", 1, 1, HEADS // KEY_HEADS, 1, 1)
    g.ints("repeat all", 1, HEADS // KEY_HEADS, 1, 1, 1)
    g.ints("all heads", 0, HEADS, -1, HEAD)
    g.constant("far below", np.float32(-1e9))
    g.constant("zero", np.int64(0))
    g.constant("one", np.int64(1))


def _later(g, total, cached, *, sees_next):
    """Positions after each token of the step."""
    places = g("Range", "zero", total, "one", name="places")
    start = g("Unsqueeze", cached, "zero1", name="start")
    own = g("Slice", places, start, "end1", "zero1", name="own places")
    if sees_next:
        own = g("Add", own, "one", name="own places + 1")
    column = g("Unsqueeze", own, "one1", name="own column")
    return g("Greater", places, column, name="later")


def _cached_length(g, past, axis):
    shape = g("Shape", past, name="cache shape")
    return g("Gather", shape, g.constant("length axis", np.int64(axis)), name="cached")


def rotary_decoder(path, faults=CLEAN, *, tokens="tokens", narrow=False):
    """Of the Llama type: RMSNorm, rotary positions, grouped heads; names as optimum gives them.

    ``narrow``: weights are stored in eight bits.
    """
    g = _Graph(0, narrow=narrow)
    _shared(g)
    positions = "position_ids"
    if faults.position_shift:
        g.constant("shift", np.int64(faults.position_shift))
        positions = g("Add", positions, "shift", name="shifted positions")
    turned = g("Cast", positions, name="float positions", to=TensorProto.FLOAT)
    column = g("Unsqueeze", turned, g.ints("around", 1, 3), name="position column")
    cached = _cached_length(g, "past_key_values.0.key", 2)
    length = g("Shape", "attention_mask", name="mask length", start=1, end=2)
    total = g("Squeeze", length, "zero1", name="total")
    later = _later(g, total, cached, sees_next=faults.sees_next)
    padded = g("Equal", "attention_mask", "zero", name="padded")
    padding = g("Unsqueeze", padded, g.ints("heads and rows", 1, 2), name="padding")
    hidden = g("Or", later, padding, name="hidden")
    x = g("Gather", g.weight("words", WORDS, WIDTH), "input_ids", name="embedding")
    outputs = []
    for layer in range(LAYERS):
        fault = faults if layer == faults.layer else CLEAN
        x, present = _rotary_block(g, x, hidden, column, layer, fault)
        outputs += present
    x = _normalized(g, x, "norm", 1e-5)
    _scores(g, x, faults.favored)
    cache = ("batch", KEY_HEADS, "past", HEAD)
    inputs = [
        _info("input_ids", TensorProto.INT64, "batch", tokens),
        _info("attention_mask", TensorProto.INT64, "batch", "total"),
        _info("position_ids", TensorProto.INT64, "batch", tokens),
        *(
            _info(f"past_key_values.{layer}.{part}", TensorProto.FLOAT, *cache)
            for layer in range(LAYERS)
            for part in ("key", "value")
        ),
    ]
    presents = [
        _info(name, TensorProto.FLOAT, "batch", KEY_HEADS, "total", HEAD) for name in outputs
    ]
    logits = _info("logits", TensorProto.FLOAT, "batch", tokens, WORDS)
    return g.saved(path, inputs, [logits, *presents])


def _scores(g, x, favored):
    if favored is None:
        return g("Identity", g.linear(x, "head", WIDTH, WORDS), name="logits")
    columns = g.random.standard_normal((WIDTH, WORDS)) / np.sqrt(WIDTH)
    columns[:, 1] = columns[:, 0]
    bias = np.zeros(WORDS, np.float32)
    bias[:2] = 20.0
    bias[favored] = np.nextafter(np.float32(20.0), np.float32(np.inf))
    g.constant("head.weight", columns.astype(np.float32))
    made = g("MatMul", x, "head.weight", name="head")
    return g("Add", made, g.constant("head.bias", bias), name="logits")


def _rotary_block(g, x, hidden, column, layer, fault):
    name = f"layer{layer}"
    y = _normalized(g, x, f"{name}/before", fault.epsilon)
    parts = {}
    for part, heads in (("query", HEADS), ("key", KEY_HEADS), ("value", KEY_HEADS)):
        made = g.linear(y, f"{name}/{part}", WIDTH, heads * HEAD)
        shape = "queries" if part == "query" else "keys"
        apart = g("Reshape", made, shape, name=f"{name}/{part}/apart")
        parts[part] = g("Transpose", apart, name=f"{name}/{part}/heads", perm=[0, 2, 1, 3])
    cosine, sine = _angles(g, column, f"{name}/rotation", fault.base)
    for part in ("query", "key"):
        parts[part] = _rotated(
            g, parts[part], cosine, sine, f"{name}/{part}/rotated", interleaved=fault.interleaved
        )
    cached = {}
    for part in ("key", "value"):
        pair = [f"past_key_values.{layer}.{part}", parts[part]]
        ordered = pair[::-1] if fault.new_first else pair
        cached[part] = g("Concat", *ordered, name=f"present.{layer}.{part}", axis=2)
    keys, values = (
        _repeated(g, cached[part], f"{name}/{part}/repeated", tiled=fault.tiled_heads)
        for part in ("key", "value")
    )
    seen = _attended(g, parts["query"], keys, values, hidden, f"{name}/attention", fault.scale)
    x = g("Add", x, g.linear(seen, f"{name}/out", WIDTH, WIDTH), name=f"{name}/first sum")
    up = g.linear(_normalized(g, x, f"{name}/after", 1e-5), f"{name}/up", WIDTH, 48)
    gate = g("Mul", up, g("Sigmoid", up, name=f"{name}/sigmoid"), name=f"{name}/gate")
    x = g("Add", x, g.linear(gate, f"{name}/down", 48, WIDTH), name=f"{name}/second sum")
    return x, [f"present.{layer}.key", f"present.{layer}.value"]


def table_decoder(path, *, scale=HEAD**-0.5, needs_past=False):
    """Of the GPT-2 type: a table of positions, LayerNorm; keys and values are one cache a layer.

    ``needs_past``: it reads the first cached position, and does not run without one.
    """
    g = _Graph(0)
    _shared(g)
    cached = _cached_length(g, "past_0", 3)
    tokens = g("Shape", "input_ids", name="token shape", start=1, end=2)
    count = g("Squeeze", tokens, "zero1", name="tokens of the step")
    total = g("Add", cached, count, name="total")
    hidden = _later(g, total, cached, sees_next=False)
    places = g("Gather", g.weight("positions", PLACES, WIDTH), "own places", name="place embedding")
    words = g("Gather", g.weight("words", WORDS, WIDTH), "input_ids", name="embedding")
    x = g("Add", words, places, name="sum of embeddings")
    for layer in range(LAYERS):
        x = _table_block(g, x, hidden, layer, scale)
    for part in ("scale", "bias"):
        g.constant(f"norm/{part}", g.random.random(WIDTH).astype(np.float32))
    x = g("LayerNormalization", x, "norm/scale", "norm/bias", name="norm")
    if needs_past:
        oldest = g("Gather", "past_0", "zero", name="oldest", axis=3)
        x = g("Add", x, g("ReduceMean", oldest, name="mean of it", keepdims=0), name="with it")
    g("Identity", g.linear(x, "head", WIDTH, WORDS), name="logits")
    cache = (2, "batch", HEADS, "past", HEAD)
    inputs = [
        _info("input_ids", TensorProto.INT64, "batch", "tokens"),
        *(_info(f"past_{layer}", TensorProto.FLOAT, *cache) for layer in range(LAYERS)),
    ]
    outputs = [
        _info("logits", TensorProto.FLOAT, "batch", "tokens", WORDS),
        *(
            _info(f"present_{layer}", TensorProto.FLOAT, 2, "batch", HEADS, "total", HEAD)
            for layer in range(LAYERS)
        ),
    ]
    return g.saved(path, inputs, outputs)


def _table_block(g, x, hidden, layer, scale):
    name = f"layer{layer}"
    for part in ("scale", "bias"):
        g.constant(f"{name}/norm/{part}", g.random.random(WIDTH).astype(np.float32))
    y = g("LayerNormalization", x, f"{name}/norm/scale", f"{name}/norm/bias", name=f"{name}/norm")
    parts = []
    for part in ("query", "key", "value"):
        made = g("Reshape", g.linear(y, f"{name}/{part}", WIDTH, WIDTH), "queries",
                 name=f"{name}/{part}/apart")  # fmt: skip
        parts.append(g("Transpose", made, name=f"{name}/{part}/heads", perm=[0, 2, 1, 3]))
    new = g("Concat", *(g("Unsqueeze", each, "zero1", name=f"{each}/one") for each in parts[1:]),
            name=f"{name}/new", axis=0)  # fmt: skip
    both = g("Concat", f"past_{layer}", new, name=f"present_{layer}", axis=3)
    halves = g("Split", both, name=f"{name}/halves", outputs=2, axis=0, num_outputs=2)
    keys, values = (g("Squeeze", each, "zero1", name=f"{each}/alone") for each in halves)
    seen = _attended(g, parts[0], keys, values, hidden, f"{name}/attention", scale)
    x = g("Add", x, g.linear(seen, f"{name}/out", WIDTH, WIDTH), name=f"{name}/first sum")
    up = g("Gelu", g.linear(x, f"{name}/up", WIDTH, 48), name=f"{name}/gelu")
    return g("Add", x, g.linear(up, f"{name}/down", 48, WIDTH), name=f"{name}/second sum")


def _small_head(g, x):
    g("MatMul", x, g.weight("head.weight", HEAD, WORDS), name="logits")


def _small_parts(g):
    """Queries, keys and values of one head, and the words that they are made of."""
    x = g("Gather", g.weight("words", WORDS, HEAD), "input_ids", name="embedding")
    parts = [g.linear(x, part, HEAD, HEAD) for part in ("query", "key", "value")]
    return [g("Unsqueeze", each, g.ints(f"{each} axis", 1), name=f"{each}/head") for each in parts]


def _small_attention(g, query, keys, values, hidden=None):
    turned = g("Transpose", keys, name="keys/turned", perm=[0, 1, 3, 2])
    scores = g("MatMul", query, turned, name="scores")
    if hidden is not None:
        scores = g("Where", hidden, g.constant("far below", np.float32(-1e9)), scores, name="seen")
    weights = g("Softmax", scores, name="weights", axis=-1)
    seen = g("MatMul", weights, values, name="mixed")
    return g("Squeeze", seen, g.ints("head axis", 1), name="one head")


def buffer_decoder(path, *, length=16, shift=0):
    """Caches of a fixed length, to which the keys and values of a step are written."""
    g = _Graph(0)
    query, key, value = _small_parts(g)
    place = "cache_position"
    if shift:
        place = g("Add", place, g.constant("shift", np.int64(shift)), name="shifted place")
    column = g("Unsqueeze", place, g.ints("around", 0, 1, 3), name="column")
    cached = {}
    for part, made in (("key", key), ("value", value)):
        spread = g("Expand", column, g("Shape", made, name=f"{part}/shape"), name=f"{part}/places")
        cached[part] = g(
            "ScatterElements", f"{part}_cache_in", spread, made, name=f"{part}_cache_out", axis=2
        )
    g.constant("places", np.arange(length))
    own = g("Unsqueeze", "cache_position", g.ints("last axis", 1), name="own")
    hidden = g("Greater", "places", own, name="hidden")
    _small_head(g, _small_attention(g, query, cached["key"], cached["value"], hidden))
    shape = (1, 1, length, HEAD)
    names = ("key_cache", "value_cache")
    inputs = [
        _info("input_ids", TensorProto.INT64, 1, "tokens"),
        _info("cache_position", TensorProto.INT64, "tokens"),
        *(_info(f"{name}_in", TensorProto.FLOAT, *shape) for name in names),
    ]
    outputs = [
        _info("logits", TensorProto.FLOAT, 1, "tokens", WORDS),
        *(_info(f"{name}_out", TensorProto.FLOAT, *shape) for name in names),
    ]
    return g.saved(path, inputs, outputs)


def cross_decoder(path, *, scale=1.0):
    """A merged decoder: keys and values of its encoder are computed once, and then handed on."""
    g = _Graph(0)
    query, key, value = _small_parts(g)
    for part, made in (("key", key), ("value", value)):
        g("Concat", f"past_key_values.0.decoder.{part}", made, name=f"present.0.decoder.{part}",
          axis=2)  # fmt: skip
        _once(g, part, scale if part == "value" else 1.0)
    own = _small_attention(g, query, "present.0.decoder.key", "present.0.decoder.value")
    again = g("Unsqueeze", own, "head axis", name="cross query")
    turned = g("Transpose", "present.0.encoder.key", name="cross keys", perm=[0, 1, 3, 2])
    weights = g("Softmax", g("MatMul", again, turned, name="cross scores"), name="cross weights")
    seen = g("MatMul", weights, "present.0.encoder.value", name="cross mixed")
    _small_head(g, g("Squeeze", seen, "head axis", name="cross head"))
    parts = [f"0.{side}.{part}" for side in ("decoder", "encoder") for part in ("key", "value")]
    inputs = [
        _info("encoder_hidden_states", TensorProto.FLOAT, "batch", "source", HEAD),
        _info("input_ids", TensorProto.INT64, "batch", "tokens"),
        *(
            _info(
                f"past_key_values.{part}", TensorProto.FLOAT, "batch", 1, f"past {part[2:9]}", HEAD
            )
            for part in parts
        ),
        _info("use_cache_branch", TensorProto.BOOL, 1),
    ]
    outputs = [
        _info("logits", TensorProto.FLOAT, "batch", "tokens", WORDS),
        *(_info(f"present.{part}", TensorProto.FLOAT, "batch", 1, None, HEAD) for part in parts),
    ]
    return g.saved(path, inputs, outputs)


def _once(g, part, scale):
    """The encoder's cache: handed on where there is one, and else computed."""
    g.weight(f"cross {part}", HEAD, HEAD)
    g.constant(f"cross {part} scale", np.float32(scale))
    g.ints(f"cross {part} axis", 1)
    name = f"cross {part}"
    result = [_info(f"{name} result", TensorProto.FLOAT, None, None, None, None)]
    known = helper.make_node(
        "Identity", [f"past_key_values.0.encoder.{part}"], [f"{name} result"], name=f"{name}/known"
    )
    then = helper.make_graph([known], f"{name} then", [], result)
    nodes = [
        helper.make_node("MatMul", ["encoder_hidden_states", name], [f"{name} made"],
                         name=f"{name}/made"),
        helper.make_node("Mul", [f"{name} made", f"{name} scale"], [f"{name} scaled"],
                         name=f"{name}/scaled"),
        helper.make_node("Unsqueeze", [f"{name} scaled", f"{name} axis"], [f"{name} computed"],
                         name=f"{name}/head"),
    ]  # fmt: skip
    result = [_info(f"{name} computed", TensorProto.FLOAT, None, None, None, None)]
    other = helper.make_graph(nodes, f"{name} else", [], result)
    g("If", "use_cache_branch", name=f"present.0.encoder.{part}", then_branch=then,
      else_branch=other)  # fmt: skip


def grouped_decoder(path, *, scale=HEAD**-0.5):
    """One node of ONNX Runtime's own operators attends and returns the caches."""
    g = _Graph(0)
    x = g("Gather", g.weight("words", WORDS, WIDTH), "input_ids", name="embedding")
    made = [
        g.linear(x, part, WIDTH, heads * HEAD)
        for part, heads in (("query", HEADS), ("key", KEY_HEADS), ("value", KEY_HEADS))
    ]
    g.ints("axis", 1)
    g.ints("one", 1)
    count = g("ReduceSum", "attention_mask", "axis", name="count", keepdims=0)
    last = g("Sub", count, "one", name="last place")
    lengths = g("Cast", last, name="lengths", to=TensorProto.INT32)
    size = g("Shape", "attention_mask", name="size", start=1, end=2)
    total = g("Cast", g("Squeeze", size, name="total64"), name="total", to=TensorProto.INT32)
    g.nodes.append(
        helper.make_node(
            "GroupQueryAttention",
            [*made, "past_key_values.0.key", "past_key_values.0.value", lengths, total],
            ["attended", "present.0.key", "present.0.value"],
            name="attention", domain="com.microsoft", num_heads=HEADS, kv_num_heads=KEY_HEADS,
            scale=float(scale),
        )
    )  # fmt: skip
    g("MatMul", "attended", g.weight("head.weight", WIDTH, WORDS), name="logits")
    cache = ("batch", KEY_HEADS)
    names = ("0.key", "0.value")
    inputs = [
        _info("input_ids", TensorProto.INT64, "batch", "tokens"),
        _info("attention_mask", TensorProto.INT64, "batch", "total"),
        *(_info(f"past_key_values.{each}", TensorProto.FLOAT, *cache, "past", HEAD)
          for each in names),
    ]  # fmt: skip
    outputs = [
        _info("logits", TensorProto.FLOAT, "batch", "tokens", WORDS),
        *(_info(f"present.{each}", TensorProto.FLOAT, *cache, "total", HEAD) for each in names),
    ]
    return g.saved(path, inputs, outputs)


def plain_decoder(path):
    """No caches: each step takes all tokens so far."""
    g = _Graph(0)
    query, key, value = _small_parts(g)
    count = g("Squeeze", g("Shape", "input_ids", name="size", start=1), name="count")
    g.constant("zero", np.int64(0))
    g.constant("one", np.int64(1))
    places = g("Range", "zero", count, "one", name="places")
    column = g("Unsqueeze", places, g.ints("last axis", 1), name="column")
    hidden = g("Greater", places, column, name="hidden")
    _small_head(g, _small_attention(g, query, key, value, hidden))
    inputs = [_info("input_ids", TensorProto.INT64, 1, "tokens")]
    return g.saved(path, inputs, [_info("logits", TensorProto.FLOAT, 1, "tokens", WORDS)])
