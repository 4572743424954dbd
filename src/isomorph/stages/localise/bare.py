"""A node that stops short: it could have gone on as the reference does, and did not.

Its result is one that the reference holds, so it looks right, and what lies behind it wrong. But
an activation that it may have built in, or a bias that it may add, is the next thing that the
reference does and nothing here does: the fault is in this node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.stages.align.topology import Topology

_FUSED = "fused_activation_function"
_ACTIVATIONS = frozenset({"Relu", "Clip", "Tanh"})
_BIASED = frozenset({"Conv", "ConvTranspose", "Gemm"})
"""What adds a bias itself, if it has a place for one."""
_BIAS = 2
_PASSING = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten"})


def gone_on_with(maker: Node, reached: str, reference: Topology) -> Iterator[str]:
    """What the reference makes next of ``reached``, where ``maker`` could have made it itself."""
    for node in reference.readers.get(reached, ()):
        if node.op in _PASSING:
            yield from gone_on_with(maker, node.outputs[0], reference)
            continue
        activates = node.op in _ACTIVATIONS and maker.attributes.get(_FUSED) == "NONE"
        added = node.op in {"Add", "BiasAdd"} and len(reference.sources(node)) == 1
        adds = maker.op in _BIASED and len(maker.inputs) > _BIAS
        if activates or (added and adds):
            yield node.outputs[0]
