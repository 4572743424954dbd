"""``isomorph.extract``: cut a fault out of both models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import load_options, open_loader

if TYPE_CHECKING:
    from isomorph.api.environment import Progress
    from isomorph.core.extraction import Extraction


def extract(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    output: str | Path,
    node: str | None = None,
    report: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    runtime: str | Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    memory: int | None = None,
    timeout: float | None = None,
    bind_inputs: Mapping[str, str] | None = None,
    bind_outputs: Mapping[str, str] | None = None,
    layouts: Mapping[str, Sequence[int]] | None = None,
    state: str | Path | None = None,
    ops: Sequence[str] = (),
    progress: Progress | None = None,
) -> Extraction:
    """Cut a faulty node out of both models, with its inputs, into the folder ``output``.

    Without ``node`` it is the first faulty one, of the JSON ``report`` or of a search made here.
    """
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.dispatch import open_pair
    from isomorph.extraction.extract import extract as cut_out
    from isomorph.extraction.fault_sites import Request
    from isomorph.extraction.reported_node import reported_node
    from isomorph.reporters.extraction_readme import readme

    check_options = CheckConfig(
        dims=dims or {},
        seed=seed,
        bind_inputs=bind_inputs or {},
        bind_outputs=bind_outputs or {},
        layouts={name: tuple(axes) for name, axes in (layouts or {}).items()},
        on_progress=progress,
    )
    if node is None and report is not None:
        node = reported_node(Path(report))
    with open_loader(
        in_process=in_process,
        memory=memory,
        timeout=timeout,
        runtime=runtime,
        settings=settings,
        options=load_options(reference, candidate, trust=trust, state=state, ops=ops),
        inputs=inputs,
        on_progress=progress,
    ) as loader:
        loader.warm(reference, candidate)
        left, right = open_pair(loader, reference, candidate)
        given = loader.sample(left.model.graph.inputs)
        request = Request(
            reference=left,
            candidate=right,
            given=given,
            options=check_options,
            node=node,
            ops=tuple(ops),
        )
        return cut_out(request, Path(output), readme)
