"""Operators whose results are drawn."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.ops import RANDOM
from isomorph.core.rule_examples import linted_model, node


class RandomOperator:
    """The result depends on a random state, which no conversion carries over."""

    name = "random_operator"
    code = "ISO109"
    positive_examples = (linted_model(node("RandomNormalLike")), linted_model(node("Bernoulli")))
    negative_examples = (linted_model(node("Relu")),)

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node."""
        for each in linted.nodes:
            if each.op in RANDOM:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.WARNING,
                    message=message("ISO109.random", op=each.op),
                    advice=message("ISO109.random_advice"),
                    node=each.name,
                    source=each.source,
                )
