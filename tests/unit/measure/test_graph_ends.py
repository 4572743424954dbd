"""What lies near outputs all along a graph, in a decoder of two layers."""

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.measure.graph_ends import near_ends

LAYERS = 2


def node(name, *inputs):
    return Node(name=name, op="Add", native_op="Add", inputs=inputs, outputs=(name,))


def decoder():
    """Each layer returns its keys, and attends to them; all layers read one table."""
    nodes, stream = [node("table", "positions")], "x"
    for layer in range(LAYERS):
        nodes += [
            node(f"norm{layer}", stream),
            node(f"key{layer}", f"norm{layer}"),
            node(f"turned{layer}", f"key{layer}", "table"),
            node(f"cache{layer}", f"turned{layer}"),
            node(f"query{layer}", f"norm{layer}"),
            node(f"seen{layer}", f"query{layer}", f"cache{layer}"),
            node(f"stream{layer}", stream, f"seen{layer}"),
        ]
        stream = f"stream{layer}"
    nodes.append(node("logits", stream))
    outputs = ["logits", *(f"cache{layer}" for layer in range(LAYERS))]
    return Graph(
        name="g",
        inputs=tuple(TensorSpec(name=n, dtype="float32", shape=(2,)) for n in ("x", "positions")),
        outputs=tuple(TensorSpec(name=n, dtype="float32", shape=(2,)) for n in outputs),
        nodes=tuple(nodes),
        tensors={},
        constants={},
    )


def names(graph, *, most):
    readers = {}
    for place, each in enumerate(graph.nodes):
        for name in each.inputs:
            readers.setdefault(name, []).append(place)
    found = near_ends(graph, readers, range(len(graph.nodes)), most=most)
    return None if found is None else {graph.nodes[i].name for i in found.nodes}


def test_each_cache_has_its_last_nodes():
    found = names(decoder(), most=10)
    assert {"logits", "cache0", "turned0", "cache1", "turned1"} <= found


def test_what_reaches_a_later_cache_through_the_layer_before_is_left_out():
    """The table turns the keys of every layer: noise in it could cancel."""
    assert "table" not in names(decoder(), most=10)


def test_a_path_around_the_nodes_inside_is_left_out():
    """The stream reaches the logits directly and through the attention."""
    found = names(decoder(), most=10)
    assert "stream0" not in found


def test_there_are_none_where_an_output_reaches_another_on_two_paths():
    graph = decoder()
    outputs = (*graph.outputs, TensorSpec(name="stream0", dtype="float32", shape=(2,)))
    both = Graph(
        name="g", inputs=graph.inputs, outputs=outputs, nodes=graph.nodes, tensors={}, constants={}
    )
    assert names(both, most=12) is None
