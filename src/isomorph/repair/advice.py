"""What to change by hand, where no patch could be written: each cause, and what corrects it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.report import Finding

# Causes that lie in the call that exported the model, and not in any one node of it.
_AT_THE_SOURCE = {
    "nondeterminism": "ADVICE.nondeterminism",
    "control_flow": "ADVICE.control_flow",
    "shape": "ADVICE.shape",
    "interface": "ADVICE.interface",
}
_MOST = 3


def manual_advice(findings: Sequence[Finding], *, patchable: bool) -> Iterator[str]:
    """Lines for each faulty node, the worst first; then changes of the export call."""
    named = [each for each in findings if each.node is not None and each.cause is not None]
    if named and not patchable:
        yield message("ADVICE.not_patchable")
    for finding in named[:_MOST]:
        key = "ADVICE.node_fix" if finding.fix else "ADVICE.node"
        yield message(key, node=finding.node, cause=finding.cause, fix=finding.fix)
        yield message("ADVICE.why", summary=finding.summary)
    causes = dict.fromkeys(each.cause for each in findings if each.cause in _AT_THE_SOURCE)
    yield from (message(_AT_THE_SOURCE[str(cause)]) for cause in causes)
