"""Faults in the positions, the caches and the attention of an exported decoder."""

from __future__ import annotations

import numpy as np

from decoders.edited_graph import EditedGraph

LAYER = 1
"""Where a fault of one layer is planted."""


def positions_off_by_one(graph: EditedGraph) -> None:
    (read,) = graph.readers("position_ids")
    one = graph.new_constant("planted_one", np.array(1, np.int64))
    read.input[0] = graph.insert(read, "Add", ["position_ids", one], "later_positions")


def rotation_base(graph: EditedGraph) -> None:
    """The base is 10,000 instead of 100,000, as in most other models."""
    turns = graph.producer(graph.all("Cos")[0].input[0])
    angles = graph.producer(turns.input[0])
    name = next(each for each in angles.input if graph.is_constant(each))
    steps = graph.constant(name)
    powers = np.arange(steps.size) / steps.size
    graph.store(name, (10000.0**-powers).reshape(steps.shape).astype(steps.dtype))
    graph.mark(angles)


def interleaved_pairs(graph: EditedGraph) -> None:
    """Neighbors are turned together instead of the two halves."""
    joined = graph.rotation(LAYER)
    negated = graph.producer(joined.input[0])
    second, first = graph.producer(negated.input[0]), graph.producer(joined.input[1])
    ends = graph.new_constant("planted_end", np.array([2**31], np.int64))
    two = graph.new_constant("planted_two", np.array([2], np.int64))
    for begin, node in enumerate((first, second)):
        node.input[1] = graph.new_constant(f"planted_begin_{begin}", np.array([begin], np.int64))
        node.input[2], node.input[4] = ends, two
        graph.mark(node)
    last = graph.new_constant("planted_last", np.array([-1], np.int64))
    parts = [
        graph.insert(joined, "Unsqueeze", [name, last], f"pair_{place}")
        for place, name in enumerate(list(joined.input))
    ]
    pairs = graph.insert(joined, "Concat", parts, "pairs", axis=-1)
    sizes = graph.insert(joined, "Shape", [first.input[0]], "planted_shape")
    output = joined.output[0]
    graph.insert(joined, "Reshape", [pairs, sizes], "planted_joined")
    for reader in graph.readers(output):
        reader.input[list(reader.input).index(output)] = "planted_joined"
    graph.mark(joined, negated)


def turned_backward(graph: EditedGraph) -> None:
    """The first half is negated instead of the second."""
    joined = graph.rotation(LAYER)
    negated = graph.producer(joined.input[0])
    second, first = negated.input[0], joined.input[1]
    graph.rewire(negated, 0, first)
    joined.input[0], joined.input[1] = second, negated.output[0]
    graph.mark(joined)


def unrotated_keys(graph: EditedGraph) -> None:
    """Keys are cached and compared as they were before the rotation."""
    joined = graph.rotation(LAYER)
    first = graph.producer(joined.input[1])
    graph.rewire(graph.cache(LAYER, "key"), 1, first.input[0])


def tiled_heads(graph: EditedGraph) -> None:
    """Heads are repeated as 0 1 2 0 1 2 … instead of 0 0 0 1 1 1 …."""
    axis = graph.new_constant("planted_axis", np.array([1], np.int64))
    for part in ("key", "value"):
        node = graph.reader(f"present.{LAYER}.{part}", "Unsqueeze")
        graph.rewire(node, 1, axis)
        repeated = graph.reader(node.output[0], "Expand")
        graph.mark(repeated, graph.reader(repeated.output[0], "Reshape"))


def new_positions_first(graph: EditedGraph) -> None:
    for part in ("key", "value"):
        node = graph.cache(LAYER, part)
        node.input[0], node.input[1] = node.input[1], node.input[0]
        graph.mark(node)


def sees_the_next(graph: EditedGraph) -> None:
    (seen,) = graph.all("LessOrEqual")
    one = graph.new_constant("planted_one", np.array(1, np.int64))
    seen.input[1] = graph.insert(seen, "Add", [seen.input[1], one], "later_places")


def sees_no_own(graph: EditedGraph) -> None:
    (seen,) = graph.all("LessOrEqual")
    seen.op_type = "Less"
    graph.mark(seen)


def ignores_the_mask(graph: EditedGraph) -> None:
    """Padding is read: only a mask with zeros shows it."""
    gathered = graph.all("GatherND")[0]
    (both,) = graph.readers(gathered.output[0])
    other = next(name for name in both.input if name != gathered.output[0])
    for reader in graph.readers(both.output[0]):
        graph.rewire(reader, list(reader.input).index(both.output[0]), other)
    graph.mark(both)


def attention_scale(graph: EditedGraph) -> None:
    """Scores are divided by the root of 32 instead of 64."""
    node = graph.producer(graph.scores(LAYER).input[0])
    name = next(each for each in node.input if graph.is_constant(each))
    scale = graph.constant(name)
    other = graph.new_constant("planted_scale", (scale * np.sqrt(2)).astype(scale.dtype))
    graph.rewire(node, list(node.input).index(name), other)


def softcap(graph: EditedGraph) -> None:
    """Scores go through 50·tanh(x/50), as in another model."""
    masked = graph.producer(graph.softmax(LAYER).input[0])
    place = list(masked.input).index(graph.scores(LAYER).output[0])
    dtype = np.float32
    cap = graph.new_constant("planted_cap", np.array(50, dtype))
    small = graph.insert(masked, "Div", [masked.input[place], cap], "capped_small")
    bent = graph.insert(masked, "Tanh", [small], "capped_bent")
    masked.input[place] = graph.insert(masked, "Mul", [bent, cap], "capped")


def softmax_axis(graph: EditedGraph) -> None:
    node = graph.softmax(LAYER)
    (axis,) = (each for each in node.attribute if each.name == "axis")
    axis.i = -2
    graph.mark(node)


def epsilon(graph: EditedGraph) -> None:
    """One normalization has 1e-6 instead of 1e-5."""
    node = graph.epsilon(LAYER, second=True)
    name = next(each for each in node.input if graph.is_constant(each))
    other = graph.constant(name) * 0 + 1e-6
    graph.rewire(
        node,
        list(node.input).index(name),
        graph.new_constant("planted_epsilon", other.astype(graph.constant(name).dtype)),
    )


def stale_tied_embedding(graph: EditedGraph) -> None:
    """The head has a copy of the embedding from before the last steps of training."""
    (looked_up,) = (node for node in graph.all("Gather") if node.input[1] == "input_ids")
    tied = looked_up.input[0]
    values = graph.constant(tied)
    moved = values * (1 + 0.01 * np.random.default_rng(0).standard_normal(values.shape))
    stale = graph.new_constant("planted_stale", moved.astype(values.dtype))
    for node in graph.readers(tied):
        if node.op_type != "Gather":
            graph.rewire(node, list(node.input).index(tied), stale)
            graph.mark(*graph.readers(node.output[0]))


def short_cache(graph: EditedGraph) -> None:
    """The returned cache lacks its newest position."""
    node = graph.cache(LAYER, "key")
    name = node.output[0]
    node.output[0] = "whole_keys"
    for reader in graph.readers(name):
        reader.input[list(reader.input).index(name)] = "whole_keys"
    numbers = {"begin": 0, "end": -1, "axis": 2}
    words = [
        graph.new_constant(f"planted_{word}", np.array([number], np.int64))
        for word, number in numbers.items()
    ]
    place = list(graph.graph.node).index(node)
    after = graph.graph.node[place + 1]
    graph.insert(after, "Slice", ["whole_keys", *words], name)


def swapped_parts(graph: EditedGraph) -> None:
    """Keys are appended to the cached values, and values to the cached keys."""
    keys, values = graph.cache(LAYER, "key"), graph.cache(LAYER, "value")
    keys.input[0], values.input[0] = values.input[0], keys.input[0]
    graph.mark(keys, values)


def swapped_layers(graph: EditedGraph) -> None:
    """Two layers read each other's cached values."""
    one, other = graph.cache(LAYER, "value"), graph.cache(LAYER + 1, "value")
    one.input[0], other.input[0] = other.input[0], one.input[0]
    graph.mark(one, other)


def residual_scale(graph: EditedGraph) -> None:
    """What the feed-forward network adds is multiplied by 0.9."""
    node, added = graph.residual(LAYER), graph.linear(LAYER, 6).output[0]
    factor = graph.new_constant("planted_factor", np.array(0.9, np.float32))
    place = list(node.input).index(added)
    node.input[place] = graph.insert(node, "Mul", [added, factor], "scaled_residual")


def sigmoid_gelu(graph: EditedGraph) -> None:
    """The gate is x·sigmoid(1.702x) instead of x·sigmoid(x)."""
    node = graph.gate(LAYER)
    factor = graph.new_constant("planted_factor", np.array(1.702, np.float32))
    node.input[0] = graph.insert(node, "Mul", [node.input[0], factor], "steeper")
    graph.mark(node)
