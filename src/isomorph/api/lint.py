"""``isomorph.lint``: what stands in the way of a conversion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import open_loader
from isomorph.api.options import RuntimeOptions

if TYPE_CHECKING:
    from isomorph.api.options import Progress
    from isomorph.core.lint import Lint


def lint(
    model: Any,  # noqa: ANN401
    *,
    to: str | None = None,
    quantize: str | None = None,
    ignore: Sequence[str] = (),
    inputs: Any = None,  # noqa: ANN401
    trust: bool = False,
    state: str | Path | None = None,
    progress: Progress | None = None,
) -> Lint:
    """What stands in the way of converting a model, seen without running it.

    ``to`` and ``quantize`` are the target; without them only the model itself is examined.
    ``ignore`` are codes or names of rules to leave out.
    """
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.linting.lint import lint as lint_model

    worker = ConverterWorker()
    try:
        with open_loader(
            model,
            trust=trust,
            runtime=RuntimeOptions(state=state),
            inputs=inputs,
            on_progress=progress,
        ) as loader:
            place = loader.written(model, worker.folder("live"))
            return lint_model(place, loader, worker, to=to, width=quantize or "", ignore=ignore)
    finally:
        worker.close()
