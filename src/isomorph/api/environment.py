"""What every verb starts with: a host for models, a loader, and the loading options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.options import RuntimeOptions
from isomorph.core.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from isomorph.checking.loader import Loader
    from isomorph.sessions.host import Host


@contextmanager
def open_loader(
    *,
    in_process: bool,
    runtime: RuntimeOptions | None = None,
    **stated: Any,  # noqa: ANN401
) -> Iterator[Loader]:
    """A loader whose models live in worker processes, or in this one; all end with the context."""
    from isomorph.checking.loader import Loader
    from isomorph.sessions.host import Limits as HostLimits
    from isomorph.sessions.in_process import InProcessHost
    from isomorph.workers.worker_host import WorkerHost

    runtime = runtime or RuntimeOptions()
    phases = ("load_seconds", "open_seconds", "run_seconds")
    timeout = runtime.limits.timeout
    limits = HostLimits(
        memory_bytes=runtime.limits.memory,
        **dict.fromkeys(phases if timeout else (), timeout or 0.0),
    )
    host: Host = InProcessHost() if in_process else WorkerHost(limits)
    try:
        loader = Loader(host=host, runtime=runtime.name, settings=runtime.settings, **stated)
        try:
            yield loader
        finally:
            loader.close()
    finally:
        host.close()


def load_options(
    *sources: object, trust: bool, state: str | Path | None, ops: Sequence[str] = ()
) -> dict[str, str]:
    """The loading options, under the names that frameworks read.

    ``sources`` are the models: a state is for those that a factory builds.
    ``ops`` are modules that define custom operators. Those that this process has registered are
    added: their code has run already.
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
    """Raise if ``--state`` is given and no model would load it."""
    from isomorph.store.format_detection import source_kind

    words = [each for each in sources if isinstance(each, (str, Path))]
    if not any(source_kind(str(word)) == "factory" for word in words):
        raise UsageError(
            "BAD_OPTION",
            "--state was given, and no model is built by a factory",
            why="a model file holds its own weights",
            fix="leave out --state, or give package.module:factory",
        )
