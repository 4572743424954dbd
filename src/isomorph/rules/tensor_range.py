"""Tensors that leave the type that they are to be stored in."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.ranges import OpenReason, RangeStatus
from isomorph.core.rule_examples import bounded, linted_model, node


class TensorRangeRule:
    """A tensor leaves float16 on an input of the stated ranges, or is not proven to stay in it.

    It is checked where ranges are given with --range or --data. An input that overflows is an
    error; a bound that is too wide, on which no input was found that overflows, is a warning.
    """

    name = "tensor_range"
    code = "ISO121"
    positive_examples = (
        linted_model(node("Mul"), width="float16", ranges=bounded("y", RangeStatus.OVERFLOW, 7e4)),
        linted_model(node("Mul"), width="float16", ranges=bounded("y", RangeStatus.OPEN, 7e4)),
    )
    negative_examples = (
        linted_model(node("Mul"), width="float16", ranges=bounded("y", RangeStatus.SAFE, 6e4)),
        linted_model(node("Mul"), width="float16"),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each tensor that is not proven safe, in the order of the nodes.

        None for those that are unsafe only by what they follow from, which has its own remark.
        """
        if linted.ranges is None:
            return
        for each in linted.ranges.tensors:
            if each.status is RangeStatus.SAFE or each.reason is OpenReason.BEHIND_OVERFLOW:
                continue
            reached = each.status is RangeStatus.OVERFLOW
            low, high = (
                (each.measured_lower, each.measured_upper) if reached else (each.lower, each.upper)
            )
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.ERROR if reached else Severity.WARNING,
                message=message(
                    "ISO121.reached" if reached else "ISO121.bounded",
                    tensor=each.name,
                    low=low,
                    high=high,
                ),
                advice=message("ISO121.reached_advice" if reached else "ISO121.bounded_advice"),
                node=each.node,
                tensor=each.name,
            )
