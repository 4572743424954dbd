"""What a worker starts for a runtime whose package is that of another environment.

The runtime's session stays in the worker, in isomorph's own environment; its package is called in
a second worker, which the interpreter of the other environment runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.core.memory import memory_limit
from isomorph.core.trace import Environment
from isomorph.sessions.host import Limits
from isomorph.store.tempdirs import TempDirs
from isomorph.workers.load_specs import LoadSpec
from isomorph.workers.worker_host import RemoteSession
from isomorph.workers.worker_pool import WorkerSlot

if TYPE_CHECKING:
    from isomorph.core.protocols import Session

_SECONDS = 1e9
"""No deadline here: that of this worker ends both."""


@cache
def of_interpreter(path: str) -> Elsewhere:
    """The worker of an interpreter; there is one, started when it is first needed."""
    return Elsewhere(path)


class Elsewhere:
    """Sessions in one worker of another environment; a worker that died is started again."""

    def __init__(self, interpreter: str) -> None:
        limits = Limits(
            load_seconds=_SECONDS,
            open_seconds=_SECONDS,
            run_seconds=_SECONDS,
            memory_bytes=memory_limit(),
        )
        self._slot = WorkerSlot("elsewhere", TempDirs(), limits, interpreter=interpreter)
        self._numbers = count(1)

    def open(
        self, source: str, *, extensions: Mapping[str, str], settings: Mapping[str, str]
    ) -> Session:
        """A session of a file; ``extensions`` are the classes of its framework and runtime."""
        name = extensions["name"]
        registry.provide(
            {
                "isomorph.frameworks": {name: extensions["framework"]},
                "isomorph.runtimes": {name: extensions["runtime"]},
            }
        )
        spec = LoadSpec(
            number=next(self._numbers),
            source=source,
            framework=name,
            options={},
            folder=os.getcwd(),  # noqa: PTH109 - it crosses as a string
        )
        asked = Environment(runtime=name, settings=dict(settings))
        return RemoteSession(self._slot, spec, asked, None)
