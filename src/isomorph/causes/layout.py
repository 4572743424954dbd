"""The right values stand in the wrong places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.case import Case, Diagnosis
from isomorph.core.report import Experiment

if TYPE_CHECKING:
    from isomorph.core.trace import Array


class Layout:
    """A transpose that is missing, extra or wrong; operands or parts in another order.

    Recognised by the values themselves: all of them are there, as the reference has them, but
    not in the same places; or the operands exchanged give the right result.
    """

    name = "layout"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Values that only moved; then operands that were exchanged."""
        if case.scattered:
            yield Diagnosis(
                cause="layout",
                certainty=3,
                summary=f"{case.node.op} puts the right values in the wrong places",
                experiments=(
                    Experiment(
                        question=f"Are the values of {case.tensor!r} right but for their order?",
                        change="both tensors are compared whatever the order of their elements",
                        predicts="they agree",
                        seen="they do, and element by element they do not",
                        agrees=True,
                    ),
                ),
                fix="restore the reference's order of axes or operands",
            )
        yield from _exchanged(case)


def _exchanged(case: Case) -> Iterator[Diagnosis]:
    if case.node.op not in {"Sub", "Div"} or len(case.nodes) != 1:
        return
    change = -case.wrong if case.node.op == "Sub" else _inverse(case)
    if change is not None and case.equals(change):
        yield Diagnosis(
            cause="layout",
            certainty=3,
            summary=f"the operands of {case.node.op} are exchanged",
            experiments=(
                Experiment(
                    question=f"Are the operands of {case.node.name!r} exchanged?",
                    change="its result is negated" if case.node.op == "Sub" else "it is inverted",
                    predicts="the node is right",
                    seen="it is",
                    agrees=True,
                ),
            ),
            fix="exchange the operands",
        )


def _inverse(case: Case) -> Array | None:
    with np.errstate(all="ignore"):
        return np.asarray(1.0 / case.wrong) if case.wrong.dtype.kind == "f" else None
