"""What every verb begins with: a place to run models in, and what the user stated about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.stages.run.host import Host
    from isomorph.stages.run.intake import Intake


@contextmanager
def intake(
    *,
    in_process: bool,
    memory: int | None = None,
    timeout: float | None = None,
    **stated: Any,  # noqa: ANN401
) -> Iterator[Intake]:
    """Opens models in worker processes, or here; everything is ended behind it."""
    from isomorph.stages.run.host import Limits
    from isomorph.stages.run.in_process import InProcessHost
    from isomorph.stages.run.intake import Intake
    from isomorph.stages.run.workers import WorkerHost

    phases = ("load_seconds", "open_seconds", "run_seconds")
    limits = Limits(memory_bytes=memory, **dict.fromkeys(phases if timeout else (), timeout or 0.0))
    host: Host = InProcessHost() if in_process else WorkerHost(limits)
    try:
        opened = Intake(host=host, **stated)
        try:
            yield opened
        finally:
            opened.close()
    finally:
        host.close()


def options(*, trust: bool, state: str | Path | None) -> dict[str, str]:
    """What the user allows and adds, in the words that frameworks know."""
    options = {"trust": "yes"} if trust else {}
    if state is not None:
        options["state"] = str(state)
    return options
