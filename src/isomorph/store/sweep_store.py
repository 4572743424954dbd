"""The folder of a sweep: reports as they are, and an index of the cells in SQLite.

One sweep writes at a time (a lock on a file, which ends with its process). A cell is in the index
only after its report has taken its name, so what is in the index is whole.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

from isomorph.core.errors import UsageError, listed
from isomorph.core.sweep import CellResult, CellStatus
from isomorph.store.codec import from_document
from isomorph.store.file_lock import FileLock

LAYOUT = 1
"""Of the index; a store with another number is refused."""

INDEX = "index.sqlite"
_OWN = ("reports", "running", "lock", INDEX, f"{INDEX}-wal", f"{INDEX}-shm", f"{INDEX}-journal")
_COLUMNS = tuple(
    each.name for each in fields(CellResult)
    if each.name not in ("fresh", "name", "model", "environment", "shard", "seed")
)  # fmt: skip
_TYPES = {name: hint for name, hint in get_type_hints(CellResult).items() if name in _COLUMNS}
_LAYOUT_TABLES = {"cells": _COLUMNS, "digests": ("path", "stamp", "digest")}
_TABLES = f"""
CREATE TABLE cells ({", ".join(_COLUMNS)}, PRIMARY KEY (key));
CREATE TABLE digests (path PRIMARY KEY, stamp, digest);
PRAGMA user_version = {LAYOUT};
"""
_NAMES = ("name", "model", "environment", "shard", "seed", "key")
_NAMES_TABLE = f"CREATE TABLE IF NOT EXISTS names ({', '.join(_NAMES)}, PRIMARY KEY (name))"


class SweepStore:
    """An opened store; ``close`` it, or use it in a ``with``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder = folder.resolve()
        self.reports, self.running = folder / "reports", folder / "running"
        with _explained(folder):
            _refuse_foreign(folder)
            for each in (self.reports, self.running):
                each.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / "lock")
        if not self._lock.taken:
            raise UsageError(
                "STORE_IN_USE", "another sweep writes to the store", file=str(folder),
                fix="wait for it, or name another store: --store FOLDER",
            )  # fmt: skip
        try:
            with _explained(folder):
                self._index = sqlite3.connect(folder / INDEX, isolation_level=None)
                self._open_index()
                # What a sweep left that was killed; nothing of it is in the index.
                shutil.rmtree(self.running)
                self.running.mkdir()
        except BaseException:
            self._lock.release()
            raise

    def _open_index(self) -> None:
        (layout,) = self._index.execute("PRAGMA user_version").fetchone()
        tables = {
            name: tuple(row[1] for row in self._index.execute(f"PRAGMA table_info({name})"))
            for name in ("cells", "digests")
        }
        (count,) = self._index.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (layout == 0 and count) or (layout == LAYOUT and tables != _LAYOUT_TABLES):
            raise _foreign(self.folder, f"{INDEX} has other tables than a store of isomorph")
        if layout == 0:
            self._index.executescript(_TABLES)
        elif layout != LAYOUT:
            raise _of_another_version(self.folder, layout)
        # A store that an earlier version made has no names yet; the next sweep writes them.
        self._index.execute(_NAMES_TABLE)
        self._index.execute("PRAGMA journal_mode = WAL")
        self._index.execute("PRAGMA synchronous = FULL")

    def __enter__(self) -> SweepStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another sweep write."""
        self._index.close()
        self._lock.release()

    def result(self, key: str) -> dict[str, Any] | None:
        """What is known of a cell, by the names of ``CellResult``; None where it is not done."""
        with _explained(self.folder):
            row = self._index.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM cells WHERE key = ?",  # noqa: S608 - fixed names
                (key,),
            ).fetchone()
        if row is None:
            return None
        # A cell whose report was removed, is a link or is that of another cell is run again, and
        # so is one with values that isomorph did not write.
        report = self.folder / report_of(key)
        found = dict(zip(_COLUMNS, row, strict=True))
        if found["report"] != report_of(key) or report.is_symlink() or not report.is_file():
            return None
        try:
            return {name: from_document(_TYPES[name], value) for name, value in found.items()}
        except (TypeError, ValueError, KeyError):
            return None

    def keep(self, result: CellResult, report: Path) -> None:
        """Note a cell as done; its report is moved to its place first."""
        values = asdict(result)
        with _explained(self.folder):
            report.replace(self.folder / result.report)
            places = ", ".join("?" * len(_COLUMNS))
            self._index.execute(
                f"INSERT OR REPLACE INTO cells ({', '.join(_COLUMNS)}) VALUES ({places})",  # noqa: S608
                [str(values[name]) if name == "status" else values[name] for name in _COLUMNS],
            )

    def note_names(self, cells: Sequence[CellResult], *, whole: bool) -> None:
        """Note which cells the sweep has; of the ``whole`` one, other names are removed."""
        with _explained(self.folder):
            self._index.execute("BEGIN")
            try:
                if whole:
                    self._index.execute("DELETE FROM names")
                places = ", ".join("?" * len(_NAMES))
                self._index.executemany(
                    f"INSERT OR REPLACE INTO names VALUES ({places})",  # noqa: S608 - fixed names
                    [[getattr(each, name) for name in _NAMES] for each in cells],
                )
            except BaseException:
                if self._index.in_transaction:  # a full disk has ended it already
                    self._index.execute("ROLLBACK")
                raise
            self._index.execute("COMMIT")

    def digest(self, path: str, stamp: str) -> str | None:
        """The digest of a file that has not changed since it was noted."""
        with _explained(self.folder):
            row = self._index.execute(
                "SELECT digest FROM digests WHERE path = ? AND stamp = ?", (path, stamp)
            ).fetchone()
        return None if row is None else str(row[0])

    def note_digest(self, path: str, stamp: str, digest: str) -> None:
        """Remember the digest of a file as it is now."""
        with _explained(self.folder):
            self._index.execute(
                "INSERT OR REPLACE INTO digests VALUES (?, ?, ?)", (path, stamp, digest)
            )


def read_cells(folder: Path) -> list[CellResult]:
    """The cells of the last sweep of a store, with their answers; the store is only read."""
    path = folder.resolve() / INDEX
    if not path.is_file():
        raise UsageError(
            "STORE_UNREADABLE", "there is no store of a sweep", file=str(folder),
            why="it has no index.sqlite", fix="name the folder that isomorph sweep wrote",
        )  # fmt: skip
    with _explained(folder), closing(_opened_to_read(path)) as index:
        (layout,) = index.execute("PRAGMA user_version").fetchone()
        if layout != LAYOUT:
            raise _of_another_version(folder, layout)
        if not index.execute("SELECT 1 FROM sqlite_master WHERE name = 'names'").fetchone():
            raise UsageError(
                "STORE_UNREADABLE", "the store does not name its cells", file=str(folder),
                why="an earlier version of isomorph wrote it",
                fix="run the sweep again: known answers are kept",
            )  # fmt: skip
        facts = ", ".join(f"cells.{each}" for each in _COLUMNS)
        rows = index.execute(
            f"SELECT names.name, model, environment, shard, seed, names.key, {facts} FROM names "  # noqa: S608
            "LEFT JOIN cells ON cells.key = names.key ORDER BY names.rowid"
        ).fetchall()
    try:
        return [_named(row) for row in rows]
    except (TypeError, ValueError, KeyError) as error:
        raise _foreign(folder, f"a row of {INDEX} is not what isomorph writes: {error}") from error


def _named(row: Sequence[Any]) -> CellResult:
    named = dict(zip(_NAMES, row, strict=False))
    known = dict(zip(_COLUMNS, row[len(_NAMES) :], strict=True))
    if known["status"] is None:
        return CellResult(**named, status=CellStatus.LEFT)
    facts = {name: from_document(_TYPES[name], value) for name, value in known.items()}
    return CellResult(**{**facts, **named})


def _opened_to_read(path: Path) -> sqlite3.Connection:
    """Without a journal of its own: also in a folder that cannot be written to."""
    writable = os.access(path.parent, os.W_OK)
    return sqlite3.connect(f"{path.as_uri()}?{'mode=ro' if writable else 'immutable=1'}", uri=True)


def _of_another_version(folder: Path, layout: int) -> UsageError:
    return UsageError(
        "STORE_UNREADABLE", "the store is of another version of isomorph", file=str(folder),
        why=f"its layout is {layout}, this version has {LAYOUT}",
        fix="name a new store: --store FOLDER",
    )  # fmt: skip


def report_of(key: str) -> str:
    """Where the report of a cell lies in a store."""
    return f"reports/{key}.json"


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is no store: what a killed sweep left is removed, and nothing else."""
    links = [name for name in _OWN if (folder / name).is_symlink()]
    if links:
        raise _foreign(folder, f"{links[0]} is a symbolic link")
    if not folder.is_dir() or (folder / INDEX).exists():
        return
    other = [each.name for each in folder.iterdir() if each.name not in _OWN]
    for name in ("reports", "running"):
        if (folder / name).is_dir():
            other += [f"{name}/{each.name}" for each in (folder / name).iterdir()]
    if other:
        raise _foreign(folder, f"it has no {INDEX}, but {listed(sorted(other))}")


def _foreign(folder: Path, why: str) -> UsageError:
    return UsageError(
        "STORE_UNREADABLE", "the folder is no store of a sweep", file=str(folder), why=why,
        fix="name a new folder, which need not exist: --store FOLDER",
    )  # fmt: skip


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """A full or read-only disk, or a damaged index, as an error with its code."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        full = "full" in str(error)
        raise UsageError(
            "STORE_UNWRITABLE" if full or "readonly" in str(error) else "STORE_UNREADABLE",
            "the index of the store cannot be used", file=str(folder), why=str(error),
            fix="make room" if full else "name a new store: --store FOLDER",
        ) from error  # fmt: skip
    except OSError as error:
        raise UsageError(
            "STORE_UNWRITABLE", "the store cannot be written", file=str(folder),
            why=os.strerror(error.errno or errno.EIO), fix="name another store: --store FOLDER",
        ) from error  # fmt: skip
