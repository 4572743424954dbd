"""A proof as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.proof import Proof, Standing
from isomorph.reporters._proof import (
    MOST_OUTPUTS,
    assumptions,
    axis_words,
    error_probability,
    share,
    why_open,
)


def lines(proof: Proof) -> Iterator[str]:
    """The headline, the open outputs with the node that ended each, and the assumptions."""
    proven = [each for each in proof.outputs if each.standing is Standing.PROVEN]
    if proof.whole:
        yield f"EQUIVALENT for every input of these shapes: {proof.shape_words}"
    else:
        outputs = f"{len(proven)} of {len(proof.outputs)} outputs"
        yield f"OPEN: {outputs} are proven ({proof.shape_words})"
        yield "  not proven does not mean different: isomorph check measures"
    yield f"  nodes        {share(proof)}"
    for axis in proof.axes[:MOST_OUTPUTS]:
        yield f"  sizes        {axis_words(axis)}"
    for each in [each for each in proof.outputs if each.standing is Standing.OPEN][:MOST_OUTPUTS]:
        yield f"  open         {each.reference}: {why_open(each.open)}"
    yield f"  assumptions  {assumptions(proof)}"
    for entry in proof.assumptions.rerounded[:MOST_OUTPUTS]:
        yield f"               {entry.constant} = {entry.expression} ({entry.relative:.1e})"
    yield f"  chance       {error_probability(proof)}"
