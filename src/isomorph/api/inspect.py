"""``isomorph.inspect``: what a model declares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import open_loader
from isomorph.api.options import RuntimeOptions

if TYPE_CHECKING:
    from isomorph.core.model import Model


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
