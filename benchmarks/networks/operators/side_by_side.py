"""What isomorph sees of each form in a model of many: the node, its attributes and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isomorph.core.model import Model, Node
from isomorph.linting.measured_forms import features
from networks.operators.form import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One form, as isomorph meets it: ``op`` is the framework's name of the operator."""

    form: Form
    op: str
    shown: Mapping[str, Any]


def described(model: Model, chosen: Mapping[str, Form]) -> dict[str, Side]:
    """Those forms that are one node, of the model's inputs and constants alone."""
    graph = model.graph
    makers: dict[str, Node] = {name: node for node in graph.nodes for name in node.outputs}
    given = {each.name for each in graph.inputs} | set(graph.constants)
    found = {}
    for (key, form), output in zip(chosen.items(), graph.outputs, strict=True):
        node = makers.get(output.name)
        while node is not None and node.op == "Identity":  # a SavedModel has one at every output
            node = makers.get(node.inputs[0])
        if node is not None and all(not name or name in given for name in node.inputs):
            found[key] = Side(form=form, op=node.native_op, shown=features(node, graph))
    return found
