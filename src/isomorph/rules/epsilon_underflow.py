"""An epsilon that is nothing in the type that it is to guard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import Node
from isomorph.core.rule_examples import constant, linted_model, node, spec

_HALF = (spec("x", "float16"),)
_NAMES = ("epsilon", "eps")
_GUARDS = frozenset({"Sqrt", "Rsqrt", "Log", "Div", "Reciprocal", "Pow"})


class EpsilonUnderflow:
    """An epsilon is zero in the type of its node, or of the target, and guards nothing.

    It is looked for as an attribute, and as a small constant that is added before a root, a
    logarithm or a division.
    """

    name = "epsilon_underflow"
    code = "ISO104"
    positive_examples = (
        linted_model(node("LayerNormalization", epsilon=1e-12), inputs=_HALF),
        linted_model(node("LayerNormalization", epsilon=1e-12), width="float16"),
        linted_model(
            node("Add", "x", "e", out="a"),
            node("Sqrt", "a"),
            constants=(constant("e", 1e-9, shape=()),),
            width="float16",
        ),
    )
    negative_examples = (
        linted_model(node("LayerNormalization", epsilon=1e-12)),
        linted_model(node("LayerNormalization", epsilon=1e-5), inputs=_HALF),
        linted_model(
            node("Add", "x", "e", out="a"),
            node("Relu", "a"),
            constants=(constant("e", 1e-9, shape=()),),
            width="float16",
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node."""
        read = _readers(linted)
        for each in linted.model.graph.nodes:
            dtype = _type(linted, each)
            for epsilon in _epsilons(linted, each, read):
                if dtype is not None and epsilon != 0 and np.asarray(epsilon, dtype) == 0:
                    yield Remark(
                        code=self.code,
                        check=self.name,
                        severity=Severity.ERROR,
                        message=message("ISO104.zero", epsilon=epsilon, op=each.op, dtype=dtype),
                        advice=message("ISO104.zero_advice", least=float(np.finfo(dtype).tiny)),
                        node=each.name,
                        source=each.source,
                    )


def _type(linted: LintedModel, each: Node) -> str | None:
    dtype = linted.dtype(each.outputs[0]) if each.outputs else None
    if linted.width == "float16" and dtype == "float32":
        return "float16"
    return dtype if dtype in {"float16", "float32", "float64"} else None


def _readers(linted: LintedModel) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in linted.model.graph.nodes:
        for tensor in each.inputs:
            found.setdefault(tensor, set()).add(each.op)
    return found


def _epsilons(linted: LintedModel, each: Node, read: dict[str, set[str]]) -> Iterator[float]:
    yield from (
        float(each.attributes[name])
        for name in _NAMES
        if isinstance(each.attributes.get(name), (int, float))
    )
    guarded = each.outputs and read.get(each.outputs[0], set()) & _GUARDS
    if each.op == "Add" and guarded:
        stored = [linted.model.graph.constants.get(name) for name in each.inputs]
        yield from (
            float(one.values[0])
            for one in stored
            if one is not None and one.values and len(one.values) == 1
        )
