"""Dropout that drops nothing, taken out of a program before torch rewrites its in-place operators.

Outside of training, dropout answers with its own argument: whoever changes the result in place
changes the argument. torch's functionalization makes a copy of it there, and loses the change.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.export import ExportedProgram

_DROPOUTS = frozenset(
    {"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"}
)


def without_idle_dropout(exported: Any) -> Any:  # noqa: ANN401
    """A program that reads the argument of such a dropout instead; the given one is not changed."""
    if not any(map(_is_idle, exported.graph.nodes)):
        return exported
    graph = copy.deepcopy(exported.graph)
    signature = copy.deepcopy(exported.graph_signature)
    for node in [each for each in graph.nodes if _is_idle(each)]:
        source = node.args[0]
        node.replace_all_uses_with(source)
        signature.replace_all_uses(node.name, source.name)
        graph.erase_node(node)
    return ExportedProgram(
        root=torch.fx.GraphModule(exported.graph_module, graph),
        graph=graph,
        graph_signature=signature,
        state_dict=exported.state_dict,
        range_constraints=exported.range_constraints,
        module_call_graph=exported.module_call_graph,
        example_inputs=exported.example_inputs,
        constants=exported.constants,
        verifiers=exported.verifiers,
    )


def _is_idle(node: Any) -> bool:  # noqa: ANN401
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or schema.name not in _DROPOUTS:
        return False
    stated = dict(zip(("input", "p", "train"), node.args, strict=False)) | dict(node.kwargs)
    return stated.get("train") is False and "input" not in node.kwargs
