"""A weight that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import constant, linted_model, node


class UnusedWeight:
    """A stored weight has no reader: the graph lost the part that used it, or never had it."""

    name = "unused_weight"
    code = "ISO116"
    positive_examples = (linted_model(node("Relu"), constants=(constant("w", shape=(4, 4)),)),)
    negative_examples = (
        linted_model(node("MatMul", "x", "w"), constants=(constant("w", shape=(4, 4)),)),
        linted_model(node("Relu"), constants=(constant("c", 1.0, shape=()),)),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each weight; single numbers are not worth one."""
        graph = linted.model.graph
        read = {name for each in linted.nodes for name in each.inputs}
        read |= {each.name for each in graph.outputs}
        for name, stored in graph.constants.items():
            if name not in read and stored.shape and stored.shape != (1,):
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.NOTE,
                    message=message(
                        "ISO116.unread", weight=name, shape="×".join(map(str, stored.shape))
                    ),
                    advice=message("ISO116.unread_advice"),
                    tensor=name,
                )
