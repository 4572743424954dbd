"""``isomorph.extract``: cut a fault out of both models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_models
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions

if TYPE_CHECKING:
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress
    from isomorph.core.extraction import Extraction


def extract(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    output: str | Path,
    node: str | None = None,
    report: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    options: PairOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[PairKeywords],
) -> Extraction:
    """Cut a faulty node out of both models, with its inputs, into the folder ``output``.

    Without ``node`` it is the first faulty one, of the JSON ``report`` or of a search made here.
    """
    from isomorph.extraction.extract import extract as cut_out
    from isomorph.extraction.fault_sites import Request
    from isomorph.extraction.reported_node import reported_node
    from isomorph.reporters.extraction_readme import readme
    from isomorph.reporters.extraction_script import script

    options = with_keywords(options or PairOptions(), keywords)
    if node is None and report is not None:
        node = reported_node(Path(report))
    with open_models(
        reference,
        candidate,
        options,
        seed=seed,
        inputs=inputs,
        dims=dims,
        trust=trust,
        in_process=in_process,
        progress=progress,
    ) as pair:
        request = Request(
            reference=pair.reference,
            candidate=pair.candidate,
            given=pair.given,
            options=pair.config,
            node=node,
            ops=tuple(options.runtime.ops),
        )
        return cut_out(request, Path(output), readme, script)
