"""Names inside an ONNX model changed, on a copy: some converters do not survive every name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def renamed(model: Any, new: Callable[[str], str]) -> dict[str, str]:  # noqa: ANN401
    """Give every tensor the name that ``new`` returns for it, in bodies too; old names to new ones.

    Two that would get the same name are distinguished by underscores at the end.
    """
    names = {"": ""}
    taken = {""}

    def plain(name: str) -> str:
        if name not in names:
            word = new(name)
            while word in taken:
                word += "_"
            names[name] = word
            taken.add(word)
        return names[name]

    def rename(graph: Any) -> None:  # noqa: ANN401
        for each in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
            each.name = plain(each.name)
        for node in graph.node:
            node.input[:] = [plain(name) for name in node.input]
            node.output[:] = [plain(name) for name in node.output]
            for attribute in node.attribute:
                bodies = [attribute.g] if attribute.HasField("g") else []
                for body in (*attribute.graphs, *bodies):
                    rename(body)

    rename(model.graph)
    return names
