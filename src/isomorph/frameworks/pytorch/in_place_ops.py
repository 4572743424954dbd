"""In-place operators: which may run on a copy, and which need torch's functionalization.

``relu_`` after a convolution is the usual case, and there the memory belongs to nobody else.
``y[:, 0] = 1`` writes through a view that somebody reads later; only torch knows all views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from isomorph.frameworks.pytorch.program import refs

if TYPE_CHECKING:
    from isomorph.frameworks.pytorch.program import Program


def writes(node: Any) -> list[Any]:  # noqa: ANN401
    """The argument nodes that this node writes into."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return []
    written = []
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
            written += [each for each in _flat(value) if isinstance(each, torch.fx.Node)]
    return written


def mutates(module: Any) -> bool:  # noqa: ANN401
    """Whether some written memory is read again under another name than the writer's result."""
    graphs = [module.graph]
    graphs += [
        child.graph for child in module.children() if isinstance(child, torch.fx.GraphModule)
    ]
    return any(_exposes_writes(graph) for graph in graphs)


def _exposes_writes(graph: Any) -> bool:  # noqa: ANN401
    order = {node: index for index, node in enumerate(graph.nodes)}
    families: dict[Any, list[Any]] = {}
    for node in graph.nodes:
        family = [node]
        for each in _sharing(node):
            family += [member for member in families[each] if member not in family]
        families.update(dict.fromkeys(family, family))
        for target in writes(node) if node.op == "call_function" else ():
            written = families[target]
            later = (user for each in written for user in each.users if order[user] > order[node])
            if any(True for _ in later):
                return True
            # From here on the writer's result stands for the memory; nobody reads the old names.
            families[node] = [node]
    return False


def _sharing(node: Any) -> list[Any]:  # noqa: ANN401
    """The arguments whose memory the node's result may be."""
    if node.op != "call_function" or writes(node):
        return []
    return list(node.all_input_nodes) if _may_share_memory(node) else []


def _may_share_memory(node: Any) -> bool:  # noqa: ANN401
    """Whether the node's result may be a view of its argument, by its schema or its name."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return True
    if any(result.alias_info is not None for result in schema.returns):
        return True
    # These answer with their own argument when there is nothing to do, and do not declare it.
    return schema.name in {
        "aten::to", "aten::reshape", "aten::contiguous", "aten::flatten", "aten::dropout",
        "aten::type_as", "aten::expand_as", "aten::unflatten", "aten::ravel", "aten::cond",
        "aten::reshape_as", "aten::feature_dropout", "aten::alpha_dropout", "aten::chunk",
        "aten::movedim", "aten::swapaxes", "aten::narrow", "aten::tensor_split", "aten::einsum",
    }  # fmt: skip


@cache
def written_places(target: Any) -> tuple[int | str, ...]:  # noqa: ANN401
    """Which arguments the operator writes into: those are handed over as copies.

    Batch normalization updates its running statistics in training mode without declaring it.
    """
    schema = getattr(target, "_schema", None)
    if schema is None:
        return ()
    if schema.name in {"aten::batch_norm", "aten::instance_norm"}:
        return (3, 4)
    return tuple(
        argument.name if argument.kwarg_only else index
        for index, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def writes_into(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:  # noqa: ANN401
    """Whether such a call writes into an argument, declared or as a normalization in training."""
    schema = target._schema
    if any(each.alias_info is not None and each.alias_info.is_write for each in schema.arguments):
        return True
    # Arguments that are not given have their defaults.
    given = dict(zip((each.name for each in schema.arguments), args, strict=False)) | dict(kwargs)
    trains = {"training", "train", "use_input_stats"} & given.keys()
    return "norm" in schema.name and any(given[word] is not False for word in trains)


def _flat(value: Any) -> list[Any]:  # noqa: ANN401
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def alters_state(program: Program) -> bool:
    """Whether a run may write into the module's own buffers."""
    return any(
        name in program.constants
        for step in program.steps
        for place in written_places(step.target)
        if isinstance(place, int) and place < len(step.args)
        for name in refs(step.args[place])
    )
