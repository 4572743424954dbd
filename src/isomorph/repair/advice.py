"""What to change by hand, where no patch could be written: each cause, and what corrects it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.report import Finding

# Causes that lie in the call that exported the model, and not in any one node of it.
_AT_THE_SOURCE = {
    "nondeterminism": "export the model in inference mode: model.eval() in PyTorch, "
    "training=False in Keras",
    "control_flow": "the branch or the number of rounds was fixed when the model was traced: "
    "export with torch.export or torch.jit.script, or keep the condition a tensor (tf.cond)",
    "shape": "an axis was fixed at the size of the example: name it in dynamic_shapes "
    "(torch.export, torch.onnx.export) or leave it None in the input signature",
    "interface": "state names, order and types of inputs and outputs in the export call",
}
_MOST = 3


def manual_advice(findings: Sequence[Finding], *, patchable: bool) -> Iterator[str]:
    """Lines for each faulty node, the worst first; then changes of the export call."""
    named = [each for each in findings if each.node is not None and each.cause is not None]
    if named and not patchable:
        yield "models of this framework are not patched; what to change in the source:"
    for finding in named[:_MOST]:
        correction = f": {finding.fix}" if finding.fix else ""
        yield f"{finding.node} ({finding.cause}){correction}"
        yield f"  {finding.summary}"
    causes = dict.fromkeys(each.cause for each in findings if each.cause in _AT_THE_SOURCE)
    yield from (_AT_THE_SOURCE[str(cause)] for cause in causes)
