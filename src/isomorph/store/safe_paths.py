"""Inspecting a path safely: nothing is opened that could block."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from isomorph.core.errors import IsomorphError, UnreadableModelError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


_SEPARATORS = re.compile(r"[/\\]")
_DRIVE = re.compile(r"^[A-Za-z]:")


class LeadsOutError(Exception):
    """A name that a model states for one of its files leads out of the model's folder."""


def path_inside(folder: Path, name: str) -> Path:
    """The path of a name that a model states, provided that it stays inside the folder."""
    parts = _SEPARATORS.split(name)
    if not name or "\0" in name or name[0] in "/\\" or _DRIVE.match(name) or ".." in parts:
        raise LeadsOutError("the path itself leads out of it")
    try:
        home = folder.resolve(strict=True)
        path = (home / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # half a character is no name
        raise LeadsOutError(f"it cannot be resolved: {error}") from error
    if not path.is_relative_to(home):
        raise LeadsOutError("a symbolic link leads out of it")
    return path


def kind_of(path: Path, *, error: type[IsomorphError] = UnreadableModelError) -> str:
    """``file`` or ``folder``; everything else that a path can be is an error."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as problem:
        raise _unreachable(path, problem, error) from problem
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    raise not_regular(path, mode, error)


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; False for what cannot be the name of one."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def require_file(path: Path, *, error: type[IsomorphError] = UnreadableModelError) -> None:
    """Only a regular file will do."""
    if kind_of(path, error=error) != "file":
        raise not_regular(path, stat.S_IFDIR, error)


def head_of(path: Path, count: int, *, error: type[IsomorphError] = UnreadableModelError) -> bytes:
    """The first bytes of a regular file."""
    require_file(path, error=error)
    try:
        # Should it have become a pipe since, it is opened without waiting for a writer.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise _unreachable(path, problem, error) from problem
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise not_regular(path, os.fstat(fd).st_mode, error)
        return file.read(count)


def not_regular(path: Path, mode: int, error: type[IsomorphError]) -> IsomorphError:
    """The error for a path that is something else than a file."""
    kind = _KINDS.get(stat.S_IFMT(mode), "not a regular file")
    return error("NOT_REGULAR_FILE", f"this is {kind}, not a file:", file=str(path))


def _unreachable(
    path: Path, problem: OSError | ValueError, error: type[IsomorphError]
) -> IsomorphError:
    code, what = "FILE_UNREADABLE", "the file cannot be read:"
    number = problem.errno if isinstance(problem, OSError) else None
    match number:
        case errno.ELOOP:
            code, what = "PATH_LOOP", "the path is a loop of symbolic links:"
        case errno.ENOENT | errno.ENOTDIR:
            code, what = "FILE_NOT_FOUND", "there is no such file:"
        case errno.EACCES | errno.EPERM:
            code, what = "PERMISSION_DENIED", "the file may not be read:"
        case errno.ENAMETOOLONG:
            code, what = "FILE_NOT_FOUND", "the name is longer than any file's"
    why = problem.strerror if isinstance(problem, OSError) else str(problem)
    if code == "FILE_NOT_FOUND" and number == errno.ENOENT:
        why = None  # the system's words for the same
    fix = _similar(path) if code == "FILE_NOT_FOUND" else None
    if ".py:" in path.name:
        fix = "a factory is named by its module, as in package.module:factory"
    return error(code, what, file=str(path), why=why, fix=fix)


_NEAR = 0.8
"""How alike two names of files are, of 1, that one may be a slip of the other."""


def _similar(path: Path) -> str | None:
    """The file in the same folder whose name is nearest; None where none is near."""
    import difflib

    try:
        names = [each.name for each in path.parent.iterdir()]
    except OSError:
        return None
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=_NEAR)
    return f"did you mean {path.with_name(near[0])}?" if near else None
