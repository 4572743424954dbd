"""The cost of the whole command, from the start of the process on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.cost import START, PhaseCost
from isomorph.core.cpu_time import seconds_since_start, tree_seconds

if TYPE_CHECKING:
    from isomorph.core.report import Report


def with_cost_of_command(report: Report) -> Report:
    """The report with the cost of the process and its workers, of which the check is a part."""
    cost, wall = report.cost, seconds_since_start()
    if cost is None or wall is None:
        return report
    cpu = tree_seconds()
    begun = [each for each in cost.phases if each.name == START]
    start = PhaseCost(
        name=START,
        wall=max(0.0, wall - cost.wall) + sum(each.wall for each in begun),
        cpu=max(0.0, cpu - cost.cpu) + sum(each.cpu for each in begun),
    )
    others = (each for each in cost.phases if each.name != START)
    phases = sorted((start, *others), key=lambda each: -each.cpu)
    return replace(report, cost=replace(cost, wall=wall, cpu=cpu, phases=tuple(phases)))
