"""A weight that several nodes read."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import constant, linted_model, node

_FEW = 16
"""Constants this small are numbers rather than weights, and are shared by everybody."""


class SharedWeight:
    """Several nodes read one weight: a converter that copies it makes the file larger.

    Worse, a quantizer gives it one scale for all its readers, and training goes on with copies.
    """

    name = "shared_weight"
    code = "ISO115"
    positive_examples = (
        linted_model(
            node("MatMul", "x", "w", out="a"),
            node("MatMul", "a", "w", name="second"),
            constants=(constant("w", shape=(32, 32)),),
        ),
    )
    negative_examples = (
        linted_model(
            node("MatMul", "x", "w", out="a"),
            node("MatMul", "a", "v", name="second"),
            constants=(constant("w", shape=(32, 32)), constant("v", shape=(32, 32))),
        ),
        linted_model(
            node("Add", "x", "c", out="a"),
            node("Add", "a", "c", name="second"),
            constants=(constant("c", 1.0, shape=(1,)),),
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such weight."""
        readers: dict[str, list[str]] = {}
        for each in linted.nodes:
            for name in set(each.inputs):
                readers.setdefault(name, []).append(each.name)
        for name, stored in linted.model.graph.constants.items():
            size = 1
            for length in stored.shape:
                size *= length
            who = readers.get(name, [])
            if len(who) > 1 and size > _FEW and "float" in stored.dtype:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.NOTE,
                    message=message(
                        "ISO115.shared", count=len(who), weight=name, nodes=", ".join(who[:3])
                    ),
                    advice=message("ISO115.shared_advice"),
                    node=who[0],
                    tensor=name,
                )
