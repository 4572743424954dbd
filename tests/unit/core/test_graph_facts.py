"""Facts of a graph are computed once, and never taken from another graph."""

from isomorph.core.graph_facts import once_per_graph
from isomorph.core.model import Graph


def _graph():
    return Graph(name="g", inputs=(), outputs=(), nodes=(), tensors={}, constants={})


def test_a_fact_is_computed_once_for_each_graph():
    asked = []

    @once_per_graph
    def fact(graph):
        asked.append(graph)
        return len(asked)

    first, second = (_graph() for _ in range(2))
    assert [fact(first), fact(second), fact(first), fact(second)] == [1, 2, 1, 2]
    assert len(asked) == 2


def test_a_graph_that_was_forgotten_is_computed_again():
    @once_per_graph
    def fact(graph):
        return graph

    graphs = [_graph() for _ in range(40)]
    assert all(fact(graph) is graph for graph in (*graphs, *graphs))
