"""``isomorph.inspect``: what a model declares, and what differs between two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import open_loader
from isomorph.api.options import RuntimeOptions

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.model_diff import ModelDiff


def inspect(
    model: Any,  # noqa: ANN401
    *,
    trust: bool = False,
    in_process: bool = False,
    state: str | Path | None = None,
) -> Model:
    """What a model is: its graph, constants, quantization and where its nodes came from."""
    runtime = RuntimeOptions(state=state)
    with open_loader(model, trust=trust, in_process=in_process, runtime=runtime) as loader:
        return loader.load(model)


def diff(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    trust: bool = False,
    in_process: bool = False,
    state: str | Path | None = None,
) -> ModelDiff:
    """What two models declare, next to each other: signatures, opsets, quantization, attributes."""
    from isomorph.match.signature_diff import diff_signatures

    runtime, both = RuntimeOptions(state=state), (reference, candidate)
    with open_loader(*both, trust=trust, in_process=in_process, runtime=runtime) as loader:
        ref, cand = loader.open("reference", reference), loader.open("candidate", candidate)
        return diff_signatures(ref, cand)
