"""Nodes that are told something which no node of the other graph is told: worth a probe.

Only a filter. What two frameworks call one thing differs, so of each node the numbers and the
words are compared, whatever they are called; whether a difference means anything, probing tells.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.report import FindingEffect

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model, Node
    from isomorph.core.report import Finding

# Operators that do one thing here and another there: inputs on one side of the line never tell.
PIECEWISE = frozenset(
    {"Clip", "Relu", "LeakyRelu", "PRelu", "ThresholdedRelu", "HardSigmoid", "HardSwish", "Elu",
     "Celu", "Selu", "Shrink", "Softplus", "Pad", "Round", "Floor", "Ceil", "Sign", "Mod", "Max",
     "Min", "MaxPool", "AveragePool", "If", "Abs", "Sqrt", "Log", "Pow"}
)  # fmt: skip
_ACTIVATION = re.compile(r"RELU|TANH|SIGN")

_MOST_POINTED = 3
"""Nodes that are named as possible; where there are more, a list says nothing."""

_NOTHING_SAID = frozenset({"", "none", "notset"})

Signature = tuple[str, frozenset[float | str]]


def unlike(model: Model, other: Model) -> list[Node]:
    """Nodes of one model whose like the other does not have as often."""
    everything = model.framework == other.framework
    there = Counter(_signature(node, other.graph) for node in _telling(other.graph, everything))
    found = []
    for node in _telling(model.graph, everything):
        mark = _signature(node, model.graph)
        if there[mark] > 0:
            there[mark] -= 1
        else:
            found.append(node)
    return found


def pointed(findings: Iterable[Finding], models: Sequence[Model]) -> list[Finding]:
    """Findings of what rounding hides, with the nodes that can be behind it, where these are few.

    No value leads to them, so what is told and stored is compared; that needs one language.
    """
    found = list(findings)
    if len(models) != 2 or models[0].framework != models[1].framework:
        return found
    if all(finding.effect != FindingEffect.BELOW_ROUNDING for finding in found):
        return found
    nodes = _told_otherwise(models[1], models[0])
    if not 0 < len(nodes) <= _MOST_POINTED:
        return found
    names = ", ".join(f"{node.name!r} ({node.op})" for node in nodes)
    hint = f"; told or given otherwise than in the reference: {names}"
    evidence = {"unlike": [node.name for node in nodes]}
    return [
        replace(each, summary=each.summary + hint, evidence={**each.evidence, **evidence})
        if each.effect == FindingEffect.BELOW_ROUNDING
        else each
        for each in found
    ]


def _told_otherwise(model: Model, other: Model) -> list[Node]:
    there = {constant.value_digest for constant in other.graph.constants.values()}
    own = {
        name
        for name, constant in model.graph.constants.items()
        if constant.value_digest not in there
    }
    named = {node.name for node in unlike(model, other)}
    return [node for node in model.graph.nodes if node.name in named or own & set(node.inputs)]


def _telling(graph: Graph, everything: bool) -> Iterator[Node]:  # noqa: FBT001
    """The nodes that are compared: all, where both graphs speak one language."""
    for node in graph.nodes:
        if everything or node.op in PIECEWISE or node.bodies or _activates(node):
            yield node


def _activates(node: Node) -> bool:
    return any(_ACTIVATION.search(str(value)) for value in node.attributes.values())


def _signature(node: Node, graph: Graph) -> Signature:
    told = set(_plain(list(node.attributes.values())))
    for name in node.inputs:
        constant = graph.constants.get(name)
        held = constant.values if constant is not None else None
        # Whole numbers are axes and sizes, a single real one is a bound; several are weights.
        if constant is not None and held and ("float" not in constant.dtype or len(held) == 1):
            told |= set(_plain(list(held)))
    for body in node.bodies.values():
        told |= {f"{op} {_short(said)}" for op, said in _all(body)}
    return node.op, frozenset(told)


def _short(told: frozenset[float | str]) -> str:
    """Of one length however deep bodies lie in bodies."""
    return hashlib.blake2b("\n".join(sorted(map(str, told))).encode(), digest_size=16).hexdigest()


def _all(body: Graph) -> Iterator[Signature]:
    for node in body.nodes:
        yield _signature(node, body)


def _plain(values: list[Any]) -> Iterator[float | str]:
    """Numbers as float32 holds them, zeros left out: a default may be stated or not."""
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
        elif isinstance(value, str) and value.lower() not in _NOTHING_SAID:
            yield value.lower()
