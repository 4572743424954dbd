"""Sizes that were chosen for free axes: the advice where a model refuses a generated input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.coverage import InputKind
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.report import Finding
    from isomorph.inputs.feeds import Sample


def with_tried_sizes(
    finding: Finding, graph: Graph, feeds: Mapping[str, object], sample: Sample
) -> Finding:
    """The finding with the sizes that were tried as its fix, where these were generated."""
    if finding.fix is not None or sample.kind is not InputKind.GENERATED:
        return finding
    sizes = _chosen(graph, feeds)
    if not sizes:
        return finding
    tried = ", ".join(f"{axis}={size}" for axis, size in sizes.items())
    flags = " ".join(f"--dim {axis}=SIZE" for axis in sizes)
    return replace(finding, fix=message("RUN.tried", tried=tried, flags=flags))


def _chosen(graph: Graph, feeds: Mapping[str, object]) -> Mapping[str, int]:
    """The sizes of the named free axes of the inputs."""
    found: dict[str, int] = {}
    for spec in graph.inputs:
        array = feeds.get(spec.name)
        for axis, size in zip(spec.shape or (), getattr(array, "shape", ()), strict=False):
            if isinstance(axis, str) and axis.isidentifier():
                found.setdefault(axis, int(size))
    return found
