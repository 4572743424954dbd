"""Nodes with attributes that no node of the other graph has: candidates for a probe.

This is only a filter. Frameworks name attributes differently, so the numbers and strings of each
node are compared without their names; a probe shows whether a difference matters.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.messages import message
from isomorph.core.report import FindingEffect

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model, Node
    from isomorph.core.report import Finding

# Operators with several branches: inputs that stay in one branch never show the others.
PIECEWISE = frozenset(
    {"Clip", "Relu", "LeakyRelu", "PRelu", "ThresholdedRelu", "HardSigmoid", "HardSwish", "Elu",
     "Celu", "Selu", "Shrink", "Softplus", "Pad", "Round", "Floor", "Ceil", "Sign", "Mod", "Max",
     "Min", "MaxPool", "AveragePool", "If", "Abs", "Sqrt", "Log", "Pow"}
)  # fmt: skip
_ACTIVATION = re.compile(r"RELU|TANH|SIGN")

_MOST_NAMED = 3
"""Nodes that are named as possible causes; a longer list would not help."""

_UNSET = frozenset({"", "none", "notset"})

Signature = tuple[str, frozenset[float | str]]


def unmatched_nodes(model: Model, other: Model) -> list[Node]:
    """Return the nodes of one model that have no equal node left in the other."""
    everything = model.framework == other.framework
    remaining = Counter(
        _signature(node, other.graph) for node in _compared_nodes(other.graph, everything)
    )
    found = []
    for node in _compared_nodes(model.graph, everything):
        mark = _signature(node, model.graph)
        if remaining[mark] > 0:
            remaining[mark] -= 1
        else:
            found.append(node)
    return found


def with_likely_nodes(findings: Iterable[Finding], models: Sequence[Model]) -> list[Finding]:
    """Add the likely nodes to findings below rounding, where these nodes are few.

    No value identifies them, so attributes and constants are compared; this needs one framework.
    """
    found = list(findings)
    if len(models) != 2 or models[0].framework != models[1].framework:
        return found
    if all(finding.effect != FindingEffect.BELOW_ROUNDING for finding in found):
        return found
    nodes = _differing_nodes(models[1], models[0])
    if not 0 < len(nodes) <= _MOST_NAMED:
        return found
    names = ", ".join(f"{node.name!r} ({node.op})" for node in nodes)
    evidence = {"unlike": [node.name for node in nodes]}
    return [
        replace(
            each,
            summary=message("BELOW_ROUNDING.unlike", text=each.summary, names=names),
            evidence={**each.evidence, **evidence},
        )
        if each.effect == FindingEffect.BELOW_ROUNDING
        else each
        for each in found
    ]


def _differing_nodes(model: Model, other: Model) -> list[Node]:
    digests = {constant.value_digest for constant in other.graph.constants.values()}
    own = {
        name
        for name, constant in model.graph.constants.items()
        if constant.value_digest not in digests
    }
    named = {node.name for node in unmatched_nodes(model, other)}
    return [node for node in model.graph.nodes if node.name in named or own & set(node.inputs)]


def _compared_nodes(graph: Graph, everything: bool) -> Iterator[Node]:  # noqa: FBT001
    """Yield the nodes that are compared: all of them where both graphs are of one framework."""
    for node in graph.nodes:
        if everything or node.op in PIECEWISE or node.bodies or _activates(node):
            yield node


def _activates(node: Node) -> bool:
    return any(_ACTIVATION.search(str(value)) for value in node.attributes.values())


def _signature(node: Node, graph: Graph, functions: Mapping[str, Graph] | None = None) -> Signature:
    """Return the operator of a node and what its attributes, constants and bodies hold."""
    functions = graph.functions if functions is None else functions
    values = set(_plain(list(node.attributes.values())))
    for name in node.inputs:
        constant = graph.constants.get(name)
        stored = constant.values if constant is not None else None
        # Integers are axes and sizes, a single float is a bound; several floats are weights.
        if constant is not None and stored and ("float" not in constant.dtype or len(stored) == 1):
            values |= set(_plain(list(stored)))
    called = functions.get(node.native_op)
    for body in (*node.bodies.values(), *([called] if called is not None else [])):
        values |= {f"{op} {_short(inner)}" for op, inner in _all(body, functions)}
    return node.op, frozenset(values)


def _short(values: frozenset[float | str]) -> str:
    """Hash the values, so that nested bodies stay short."""
    return hashlib.blake2b("\n".join(sorted(map(str, values))).encode(), digest_size=16).hexdigest()


def _all(body: Graph, functions: Mapping[str, Graph]) -> Iterator[Signature]:
    for node in body.nodes:
        yield _signature(node, body, functions)


def _plain(values: list[Any]) -> Iterator[float | str]:
    """Yield strings, and numbers rounded to float32, without zeros, which may be defaults."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _plain(list(value))
        elif isinstance(value, bool) or value is None:
            continue
        elif isinstance(value, (int, float)):
            with np.errstate(over="ignore"):
                number = float(np.float32(value))
            if number:
                yield number
        elif isinstance(value, str) and value.lower() not in _UNSET:
            yield value.lower()
