"""One cell on a machine of a cluster: what it needs, and what comes back.

This runs in a process of the cluster and knows nothing of it: the caller says how the parts of a
file are fetched.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import IsomorphError, UsageError, listed
from isomorph.sweeping.cell_command import command_words
from isomorph.sweeping.cell_keys import versions
from isomorph.sweeping.cell_process import CellProcess, Ended
from isomorph.sweeping.cell_run import report_words
from isomorph.sweeping.remote_files import absent_words, write_files

if TYPE_CHECKING:
    from isomorph.core.sweep import Cell
    from isomorph.sweeping.task import CellFile

_LOOK_SECONDS = 0.2
"""How often the end of a cell is looked for. A canceled task is interrupted at such a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A cell to run. ``parts`` has, by the digest of a file, what its parts are fetched with."""

    cell: Cell
    files: Mapping[str, Sequence[CellFile]]
    versions: Mapping[str, str]
    parts: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAnswer:
    """How a cell ended on a node. ``missing`` are digests of files that have to be sent there."""

    ended: Ended | None = None
    report: bytes | None = None
    missing: tuple[str, ...] = ()


def run_remote_cell(order: Order, fetch: Callable[[Any], bytes]) -> RemoteAnswer:
    """Run a cell here, with the files of this machine where they are the same."""
    from isomorph.store.tempdirs import TempDirs

    differences = _differences(order.versions)
    if differences:
        return RemoteAnswer(ended=refused(UsageError(
            "MACHINE_DIFFERS", f"packages of the machine {socket.gethostname()} differ",
            why=f"{listed(differences)}; an answer is kept for one set of versions",
            fix="install the same packages on every machine of the cluster",
        )))  # fmt: skip
    absent = absent_words(order.files)
    needed = {file.digest for word in absent for file in order.files[word]}
    missing = tuple(sorted(needed - set(order.parts)))
    if missing:
        return RemoteAnswer(missing=missing)
    scratch = TempDirs()
    try:
        places = {
            word: str(write_files(
                word, order.files[word], order.parts, fetch, scratch.folder(f"files{at}")
            ))
            for at, word in enumerate(absent)
        }  # fmt: skip
        report = scratch.path / "report.json"
        words = (
            *command_words(_moved(order.cell, places), str(scratch.path / "made")),
            *report_words(report, order.cell.verb),
        )
        ended = _run(CellProcess(words, scratch.path))
        names = {there: word for word, there in places.items()}
        data = _renamed(report.read_bytes(), names) if report.is_file() else None
        text = _renamed(ended.stderr.encode(), names).decode()
        return RemoteAnswer(ended=replace(ended, stderr=text), report=data)
    finally:
        scratch.remove()


def refused(error: IsomorphError) -> Ended:
    """The end of a cell that was not started, as its command would have ended with this error."""
    return Ended(
        exit_code=error.exit_code, stderr="\n".join(error.lines), seconds=0.0, cpu_seconds=0.0,
        peak_bytes=0,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _installed() -> Mapping[str, str]:
    return versions()


def _differences(stated: Mapping[str, str]) -> list[str]:
    here = _installed()
    return [
        f"{name} {here.get(name, 'absent')} instead of {stated.get(name, 'absent')}"
        for name in sorted({*stated, *here})
        if stated.get(name) != here.get(name)
    ]


def _moved(cell: Cell, places: Mapping[str, str]) -> Cell:
    """The cell with the paths of this machine."""

    def there(value: Any) -> Any:  # noqa: ANN401
        return places.get(value, value) if isinstance(value, str) else value

    return replace(
        cell, reference=there(cell.reference), candidate=there(cell.candidate),
        options={name: there(value) for name, value in cell.options.items()},
    )  # fmt: skip


def _renamed(data: bytes, names: Mapping[str, str]) -> bytes:
    """Name the files as the sweep does: folders of a node mean nothing elsewhere."""
    for there, word in names.items():
        for spelled in (lambda path: json.dumps(path)[1:-1], str):
            data = data.replace(spelled(there).encode(), spelled(word).encode())
    return data


def _run(process: CellProcess) -> Ended:
    """Run it in a thread: an interruption does not reach a thread that waits for a process."""
    found: list[Ended | BaseException] = []

    def wait() -> None:
        try:
            found.append(process.run())
        except BaseException as error:  # noqa: BLE001 - raised again below
            found.append(error)

    thread = threading.Thread(target=wait, name="cell", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK_SECONDS)
    except BaseException:
        process.stop()
        thread.join()
        raise
    (ended,) = found
    if isinstance(ended, BaseException):
        raise ended
    return ended
