"""``isomorph.run``: what a model computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_model
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import RuntimeOptions

if TYPE_CHECKING:
    from isomorph.api.option_keywords import RuntimeKeywords
    from isomorph.api.options import Progress
    from isomorph.core.trace import Trace


def run(
    model: Any,  # noqa: ANN401
    *,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    fetch: Sequence[str] = (),
    everything: bool = False,
    trust: bool = False,
    in_process: bool = False,
    options: RuntimeOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[RuntimeKeywords],
) -> Trace:
    """The outputs of a model, the tensors named in ``fetch``, or every tensor of its graph."""
    from isomorph.checking.loader import trace

    options = with_keywords(options or RuntimeOptions(), keywords)
    with open_model(
        model,
        trust=trust,
        in_process=in_process,
        runtime=options,
        inputs=inputs,
        on_progress=progress,
    ) as (handle, given):
        return trace(
            handle,
            given,
            dims or {},
            seed=seed,
            fetch=fetch,
            everything=everything,
            on_progress=progress,
        )
