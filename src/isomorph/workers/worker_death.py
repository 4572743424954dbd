"""How a worker died, in words: a signal, a silent exit, a deadline, or its size."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.errors import RuntimeFailedError
from isomorph.sessions.error_codec import out_of_memory, tells_of_memory

if TYPE_CHECKING:
    from isomorph.workers.deadline import Deadline

_FAULT_HANDLER = "Fatal Python error:"
_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeath:
    """What was going on, and what was found afterwards.

    ``status`` is that of ``subprocess``: negative for a signal, None when we ended it.
    """

    doing: str
    file: str | None
    status: int | None = None
    node: str | None = None
    log: str = ""

    def seen(self, *, status: int | None, node: str | None, log: str) -> WorkerDeath:
        """The same with what was found."""
        return replace(self, status=status, node=node, log=log)

    @property
    def where(self) -> str | None:
        """The node that was begun last, where the runtime left word of it."""
        return begun_last(self.node) if self.node else None

    @property
    def last_words(self) -> str:
        """The end of its log, short enough for a message."""
        # What Python's fault handler adds is where we called; it stays in the note.
        printed = self.log.partition(_FAULT_HANDLER)[0]
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        printed = " | ".join(lines[-_SHOWN_LINES:])[-_SHOWN_CHARACTERS:]
        return f"; it last printed: {printed}" if printed else ""


def begun_last(node: str) -> str:
    """Where it happened: the node that was begun last, if it is known."""
    return f"node {node!r} was begun last"


def crashed(death: WorkerDeath) -> RuntimeFailedError:
    """It ended without an answer; even a clean exit is a crash."""
    if death.status == -signal.SIGABRT and tells_of_memory(death.log):
        return _noted(_no_memory(death, _how(death)), death)
    error = RuntimeFailedError(
        "RUNTIME_CRASHED",
        f"the worker process died while {death.doing}",
        file=death.file,
        where=death.where,
        why=_how(death) + death.last_words,
        fix="see with isomorph doctor --import whether the runtime itself works, then try other "
        "settings of it (--set) or another --runtime; with --in-process a debugger can be attached",
        node=death.node,
    )
    return _noted(error, death)


def out_of_time(death: WorkerDeath, limit: Deadline, command: str) -> RuntimeFailedError:
    """It did not answer in time and was ended; nothing is suspected of one that was starved."""
    validating = command == "load"
    if limit.starved:
        took = f"was stopped after {limit.wall:.0f} s"
        why = f"the machine was busy, or the process was stopped: {_had(limit)}"
        fix = "run again when the machine is less busy, or raise the limit with --timeout"
    else:
        took = f"took longer than {limit.seconds:g} s and was stopped"
        suspected = (
            "the file may be made to hang its reader" if validating else "the model may loop"
        )
        why = f"{suspected}: {_had(limit)}"
        fix = "raise the limit with --timeout if the model is merely large"
    error = RuntimeFailedError(
        "VALIDATION_TIMEOUT" if validating else "TIMEOUT",
        f"{death.doing} {took}",
        file=death.file,
        where=death.where,
        why=why + death.last_words,
        fix=fix,
        node=death.node,
    )
    return _noted(error, death)


def _had(limit: Deadline) -> str:
    """What the worker had of the machine."""
    wall = f"{limit.wall:.3g} s passed"
    if limit.computed is None:
        return wall
    return f"the worker had {limit.computed:.3g} s of CPU time while {wall}"


def too_large(death: WorkerDeath, resident: int, limit: int) -> RuntimeFailedError:
    """It grew beyond its limit and was ended."""
    why = f"the process held {resident} bytes; the limit is {limit}"
    return _noted(_no_memory(death, why), death)


def _no_memory(death: WorkerDeath, why: str) -> RuntimeFailedError:
    return out_of_memory(death.doing, why=why, file=death.file, where=death.where, node=death.node)


def _how(death: WorkerDeath) -> str:
    if death.status is None:
        return "it closed its channel and was ended"
    if death.status >= 0:
        return f"it exited with status {death.status} without an answer"
    number = -death.status
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    text = f"ended by {name} ({signal.strsignal(number)})"
    if number == signal.SIGKILL:
        text += ", perhaps by the system because memory ran out"
    return text


def _noted(error: RuntimeFailedError, death: WorkerDeath) -> RuntimeFailedError:
    if death.log:
        error.add_note(f"the end of the worker's log:\n{death.log}")
    return error
