"""From two subjects that differ to the findings that name the guilty nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise
from isomorph.stages.align.sight import Sight
from isomorph.stages.localise.findings import findings
from isomorph.stages.localise.search import look_at
from isomorph.stages.localise.trail import follow
from isomorph.stages.measure.subject import narrow_constants, quantised, widths

if TYPE_CHECKING:
    from isomorph.core.report import Finding
    from isomorph.stages.measure.subject import Subject


def guilty_nodes(
    reference: Subject, candidate: Subject, outputs: Sequence[tuple[str, str]]
) -> tuple[list[Finding], str | None]:
    """The guilty nodes, and what could not be found out."""
    left, right = reference.model.graph, candidate.model.graph
    rounding = Noise(seed=reference.seed, rounding=True)
    noise = rounding
    if widths(right) - widths(left):
        noise = Noise(
            seed=candidate.seed,
            rounding=True,
            constants=narrow_constants(right),
            quantisers=quantised(right),
        )
    try:
        mine = Sight(left, reference.oracle(), reference.feeds, rounding)
        yours = Sight(right, candidate.oracle(), candidate.feeds, noise)
        trail = follow(look_at(mine, yours), outputs)
    except IsomorphError as error:
        return [], error.sentence
    found = list(findings(trail, left, right))
    if trail.explained:
        return found, None
    return found, f"the outputs {', '.join(trail.left_over)} are not explained by the nodes found"
