"""Which names a node reads, its bodies included, and in which order nodes can run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

DEFAULT_DOMAINS = ("", "ai.onnx")


def domain_of(node: Any) -> str:  # noqa: ANN401
    """The node's domain; the default one has two spellings and we use the empty one."""
    return "" if node.domain in DEFAULT_DOMAINS else str(node.domain)


def label(node: Any) -> str:  # noqa: ANN401
    """What to call a node in a message: its name, or ``Op@first_output``."""
    return str(node.name) or unnamed(node)


def unnamed(node: Any) -> str:  # noqa: ANN401
    """``Op@first_output``, the name of a node that has none of its own."""
    first = next((name for name in node.output if name), "")
    return f"{node.op_type}@{first}"


def bodies(node: Any) -> Iterator[tuple[str, int, Any]]:  # noqa: ANN401
    """The graphs a node holds: attribute name, index within the attribute, graph."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.name, 0, attribute.g
        for index, graph in enumerate(attribute.graphs):
            yield attribute.name, index, graph


def walk(nodes: Sequence[Any]) -> Iterator[Any]:
    """Every node, those inside bodies included."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        yield node
        for _, _, graph in bodies(node):
            waiting.extend(reversed(graph.node))


def graphs(graph: Any) -> Iterator[Any]:  # noqa: ANN401
    """The graph itself and every graph inside it."""
    waiting = [graph]
    while waiting:
        current = waiting.pop()
        yield current
        for node in current.node:
            waiting.extend(body for _, _, body in bodies(node))


def stored(graph: Any) -> set[str]:  # noqa: ANN401
    """The names of a graph's initializers, dense and sparse."""
    names = {tensor.name for tensor in graph.initializer}
    return names | {sparse.values.name for sparse in graph.sparse_initializer}


def local_names(graph: Any) -> set[str]:  # noqa: ANN401
    """Every name a graph defines itself."""
    names = stored(graph) | {value.name for value in graph.input}
    names.update(name for node in graph.node for name in node.output if name)
    return names


def captures(node: Any) -> set[str]:  # noqa: ANN401
    """The outer tensors that a node's bodies read without being given them."""
    found: set[str] = set()
    for _, _, graph in bodies(node):
        local = local_names(graph)
        for inner in graph.node:
            found.update(name for name in reads(inner) if name not in local)
        found.update(value.name for value in graph.output if value.name not in local)
    return found


def reads(node: Any) -> list[str]:  # noqa: ANN401
    """Everything a node depends on: its inputs and what its bodies capture."""
    names = [name for name in node.input if name]
    if node.attribute:
        names.extend(sorted(captures(node)))
    return names


def topological(nodes: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Indices in an order in which they can run, and the indices that never can.

    The order of the file is kept wherever it is possible, so a sorted file stays as it is.
    """
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needs = [{maker[name] for name in reads(node) if name in maker} for node in nodes]
    order: list[int] = []
    done = [False] * len(nodes)
    if all(max(need, default=-1) < index for index, need in enumerate(needs)):
        return list(range(len(nodes))), []
    for root in range(len(nodes)):
        _visit(root, needs, done, order)
    position = {index: place for place, index in enumerate(order)}
    stuck = [
        index
        for index, need in enumerate(needs)
        if any(position[other] >= position[index] for other in need)
    ]
    return order, stuck


def _visit(root: int, needs: list[set[int]], done: list[bool], order: list[int]) -> None:
    # Depth first with our own stack. In a cycle somebody is placed before what it needs; the
    # caller sees that from the positions.
    if done[root]:
        return
    done[root] = True
    stack = [(root, iter(sorted(needs[root])))]
    while stack:
        index, rest = stack[-1]
        for other in rest:
            if not done[other]:
                done[other] = True
                stack.append((other, iter(sorted(needs[other]))))
                break
        else:
            order.append(index)
            stack.pop()


def cycle_through(nodes: Sequence[Any], start: int) -> list[int]:
    """A closed walk along dependencies that comes back to where it began, as indices."""
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    came_from: dict[int, int] = {}
    waiting = [start]
    while waiting:
        index = waiting.pop(0)
        for name in reads(nodes[index]):
            other = maker.get(name)
            if other is None:
                continue
            if other == start:
                path = [index]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path
            if other not in came_from:
                came_from[other] = index
                waiting.append(other)
    return []
