"""Run a converter in a worker process, with a folder, a deadline and a log of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isomorph import registry
from isomorph.core.conversion import Order, Step, Trouble
from isomorph.core.errors import IsomorphError
from isomorph.core.escaping import printable
from isomorph.core.system_memory import default_worker_memory
from isomorph.sessions.host import Limits
from isomorph.store.codec import encode
from isomorph.store.tempdirs import TempDirs
from isomorph.workers.interpreters import named_environment
from isomorph.workers.worker_pool import WorkerSlot

TIMEOUT_SECONDS = 1200.0
"""Seconds for one conversion unless the user states others."""

_LOG_CHARACTERS = 4000
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
# Packages that would download something are switched off; a gate in the worker stops the others.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The result of one order: a path and notes, or an error with the log."""

    path: Path
    notes: tuple[str, ...] = ()
    trouble: Trouble | None = None


class ConverterWorker:
    """Runs conversions in worker processes until it is closed."""

    def __init__(self, *, memory: int | None = None, timeout: float | None = None) -> None:
        self._limits = Limits(memory_bytes=memory or default_worker_memory())
        self._timeout = timeout or TIMEOUT_SECONDS
        self._scratch = TempDirs()
        self._slots: dict[tuple[str, str], WorkerSlot] = {}
        self._count = 0

    def folder(self, word: str) -> Path:
        """A new folder that is removed in the end."""
        self._count += 1
        return self._scratch.folder(f"{word}-{self._count}")

    def make(
        self, step: Step, original: str, order: Order, name: str, *, interpreter: str = ""
    ) -> Attempt:
        """One conversion of a copy of ``original``; ``name`` is that of the file to be written.

        ``interpreter`` is the executable of another Python environment that makes it.
        """
        home = self.folder(step.converter)
        (home / "out").mkdir()
        (home / "work").mkdir()
        factory = not Path(original).exists()
        copy = original if factory else str(home / f"source{Path(original).suffix}")
        target, log = home / "out" / name, home / "log.txt"
        order = replace(order, source=copy, target=str(target))
        message = {
            "command": "convert",
            "about": original,
            "converter": step.converter,
            "original": original,
            "order": encode(order),
            "folder": str(home / "work"),
            "log": str(log),
        }
        slot = self._slot(registry.converter(step.converter).worker, interpreter)
        doing = f"converting with {step.converter!r}"
        try:
            with named_environment(interpreter):
                answer = slot.start().exchange(message, doing=doing, seconds=self._timeout)
        except IsomorphError as error:
            return Attempt(path=target, trouble=_ended(error, _tail(log)))
        if not target.exists():
            return Attempt(path=target, trouble=_nothing(step, _tail(log)))
        return Attempt(path=target, notes=tuple(answer["notes"]))

    def abilities(self, kind: str, name: str) -> Mapping[str, Any]:
        """What a converter or runtime reports that it can do, asked in its worker."""
        word = registry.load(kind, name).worker
        message = {
            "command": "abilities",
            "kind": kind,
            "name": name,
            "log": str(self.folder("asked") / "log.txt"),
        }
        doing = f"asking {name!r} what it can do"
        slot = self._slot(word)
        answer: Mapping[str, Any] = slot.start().exchange(
            message, doing=doing, seconds=self._timeout
        )["abilities"]
        return answer

    def passes(self, name: str, *, interpreter: str = "") -> tuple[str, ...]:
        """The passes that a converter can leave out, of the packages of an environment."""
        message = {
            "command": "passes",
            "converter": name,
            "log": str(self.folder("asked") / "log.txt"),
        }
        slot = self._slot(registry.converter(name).worker, interpreter)
        with named_environment(interpreter):
            answer = slot.start().exchange(
                message, doing=f"asking {name!r} for its passes", seconds=self._timeout
            )
        return tuple(answer["passes"])

    def close(self) -> None:
        """End every worker and remove every folder."""
        for slot in self._slots.values():
            if slot.process is not None:
                slot.process.stop()
        self._scratch.remove()

    def _slot(self, word: str, interpreter: str = "") -> WorkerSlot:
        key = word, interpreter
        if key not in self._slots:
            self._slots[key] = WorkerSlot(
                f"convert-{word}-{len(self._slots)}", self._scratch, self._limits, _variables(),
                interpreter,
            )  # fmt: skip
        return self._slots[key]


def trouble_of(error: IsomorphError, log: str = "") -> Trouble:
    """One of our errors as data."""
    return Trouble(code=error.code, sentence=error.sentence, why=error.why, fix=error.fix, log=log)


def _ended(error: IsomorphError, log: str) -> Trouble:
    """The failure of a converter, without the path of its copy."""
    trouble = replace(trouble_of(error, log), sentence=printable(error.what))
    if error.code != "RUNTIME_CRASHED":
        return trouble
    return replace(trouble, fix="name another way with --via; --plan shows them all")


def _nothing(step: Step, log: str) -> Trouble:
    return Trouble(
        code="NOTHING_WRITTEN",
        sentence=f"converter {step.converter!r} ended without an error and wrote nothing",
        log=log,
    )


def _tail(log: Path) -> str:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return _COLORS.sub("", text)[-_LOG_CHARACTERS:].strip()


def _variables() -> Mapping[str, str]:
    return dict(_OFFLINE)
