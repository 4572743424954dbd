"""A proof as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.messages import message
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
    proven = sum(each.standing is Standing.PROVEN for each in proof.outputs)
    shapes, count = proof.shape_words, len(proof.outputs)
    if proof.whole:
        yield message("PROVE.equal", shapes=shapes)
    else:
        yield message("PROVE.open", proven=proven, count=count, shapes=shapes)
        yield f"  {message('PROVE.open_means')}"
    yield _row("nodes", share(proof))
    for axis in proof.axes[:MOST_OUTPUTS]:
        yield _row("sizes", axis_words(axis))
    for each in [each for each in proof.outputs if each.standing is Standing.OPEN][:MOST_OUTPUTS]:
        yield _row("open", f"{each.reference}: {why_open(each.open)}")
    yield _row("assumptions", assumptions(proof))
    for entry in proof.assumptions.rerounded[:MOST_OUTPUTS]:
        text = message(
            "PROVE.rerounded",
            constant=entry.constant,
            expression=entry.expression,
            relative=entry.relative,
        )
        yield _row("", text)
    yield _row("chance", error_probability(proof))


def _row(label: str, text: str) -> str:
    return f"  {label:<11}  {text}"
