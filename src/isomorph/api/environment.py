"""What every verb begins with: a place to run models in, and what the user stated about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from isomorph.checking.loader import Loader
    from isomorph.sessions.host import Host


@contextmanager
def loader(
    *,
    in_process: bool,
    memory: int | None = None,
    timeout: float | None = None,
    **stated: Any,  # noqa: ANN401
) -> Iterator[Loader]:
    """Opens models in worker processes, or here; everything is ended behind it."""
    from isomorph.checking.loader import Loader
    from isomorph.sessions.host import Limits
    from isomorph.sessions.in_process import InProcessHost
    from isomorph.workers.worker_host import WorkerHost

    phases = ("load_seconds", "open_seconds", "run_seconds")
    limits = Limits(memory_bytes=memory, **dict.fromkeys(phases if timeout else (), timeout or 0.0))
    host: Host = InProcessHost() if in_process else WorkerHost(limits)
    try:
        opened = Loader(host=host, **stated)
        try:
            yield opened
        finally:
            opened.close()
    finally:
        host.close()


def options(
    *sources: object, trust: bool, state: str | Path | None, ops: Sequence[str] = ()
) -> dict[str, str]:
    """What the user allows and adds, in the words that frameworks know.

    ``sources`` are the models: a state is for those that a factory builds.
    ``ops`` are modules that say what custom operators mean. Those that this very process has
    registered come by themselves: their code has run already.
    """
    options = {"trust": "yes"} if trust else {}
    if state is not None:
        _refuse_idle_state(sources)
        options["state"] = str(state)
    if ops and not trust:
        raise RefusedError(
            "OPS_NEED_TRUST",
            f"the operators of {ops[0]} are code that would run",
            why="importing a module runs whatever it holds",
            fix="add --trust if it is yours",
        )
    custom = sys.modules.get("isomorph.kernels.custom")
    words = [*ops, *(custom.origins() if custom is not None else ())]
    if words:
        options["ops"] = os.pathsep.join(dict.fromkeys(words))
    return options


def _refuse_idle_state(sources: Sequence[object]) -> None:
    """Weights that nobody would load are a mistake of the user's, not a detail."""
    from isomorph.store.format_detection import source_kind

    words = [each for each in sources if isinstance(each, (str, Path))]
    if not any(source_kind(str(word)) == "factory" for word in words):
        raise UsageError(
            "BAD_OPTION",
            "--state was given, and no model is built by a factory",
            why="a model file holds its own weights",
            fix="leave out --state, or give package.module:factory",
        )
