"""What went wrong in a runtime, as one of our errors, and such an error as data and back.

Everything a framework raises is evidence about that framework: its words are kept as the why,
its traceback as a note for ``--debug``.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from isomorph.core import errors
from isomorph.core.errors import (
    IsomorphError,
    MissingDependencyError,
    RuntimeFailedError,
    UnreadableModelError,
)

_FIELDS = ("code", "what", "file", "where", "why", "fix", "node")

# How NumPy, C++, ONNX Runtime, PyTorch, TensorFlow and CUDA phrase it.
_OUT_OF_MEMORY = re.compile(
    r"bad_alloc|bad allocation|allocate memory|out of memory|unable to allocate|not enough memory"
    r"|OOM when allocating|ResourceExhausted",
    re.IGNORECASE,
)


@contextmanager
def guard(doing: str, *, file: str | None = None) -> Iterator[None]:
    """Whatever is raised inside comes out as one of our errors."""
    try:
        yield
    except IsomorphError as error:
        if (translated := _as_memory_error(error, doing)) is not error:
            raise translated from error
        raise
    # A framework that calls sys.exit has failed like any other; it does not end us.
    except (Exception, SystemExit) as error:
        raise translate(error, doing, file=file) from error


def translate(error: BaseException, doing: str, *, file: str | None = None) -> IsomorphError:
    """A foreign exception as an IsomorphError."""
    if isinstance(error, IsomorphError):
        return _as_memory_error(error, doing)
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or tells_of_memory(str(error)):
        ours = out_of_memory(doing, why=why, file=file)
    else:
        # What a package lacks, another version of it may have.
        lacking = isinstance(error, (ImportError, AttributeError))
        fix = "isomorph doctor lists which version of each package is needed" if lacking else None
        ours = RuntimeFailedError("RUNTIME_FAILED", f"{doing} failed", file=file, why=why, fix=fix)
    ours.add_note("".join(traceback.format_exception(error)))
    return ours


def tells_of_memory(text: str) -> bool:
    """Whether a framework's message reports a failed allocation."""
    return _OUT_OF_MEMORY.search(text) is not None


def out_of_memory(
    doing: str,
    *,
    why: str,
    file: str | None = None,
    where: str | None = None,
    node: str | None = None,
) -> RuntimeFailedError:
    """The error for every way in which memory can run out."""
    return RuntimeFailedError(
        "OUT_OF_MEMORY",
        f"{doing} ran out of memory",
        file=file,
        where=where,
        why=why,
        fix="raise the limit with --memory, or bind the dynamic axes to smaller sizes with --dim",
        node=node,
    )


def _as_memory_error(error: IsomorphError, doing: str) -> IsomorphError:
    # Adapters wrap a runtime's message without reading it; only failures are read here,
    # never a refusal or a wrong word, and never one that has its answer already.
    if not isinstance(error, (RuntimeFailedError, UnreadableModelError)):
        return error
    if error.code in {"OUT_OF_MEMORY", "DISK_FULL"}:
        return error
    caused = isinstance(error.__cause__, MemoryError)
    if not caused and not tells_of_memory(error.why or ""):
        return error
    return out_of_memory(
        doing,
        why=error.why or error.what,
        file=error.file,
        where=error.where,
        node=error.node,
    )


def to_data(error: IsomorphError) -> dict[str, Any]:
    """Everything the other process needs to raise the same error."""
    # A subclass of another package is sent as the nearest class that both sides know.
    kind = next(name for name in (c.__name__ for c in type(error).__mro__) if name in _known())
    data: dict[str, Any] = {name: getattr(error, name) for name in _FIELDS}
    data["what"] = error.phrase
    data |= {"class": kind, "notes": list(getattr(error, "__notes__", ()))}
    if isinstance(error, MissingDependencyError):
        data["missing"] = [error.package, error.extra, error.needed_for]
    return data


def from_data(data: dict[str, Any]) -> IsomorphError:
    """The error that ``to_data`` was given."""
    error: IsomorphError
    if "missing" in data:
        package, extra, needed_for = data["missing"]
        error = MissingDependencyError(package, extra=extra, needed_for=needed_for)
    else:
        kind = _known()[data["class"]]
        about = {name: data[name] for name in _FIELDS[2:]}
        error = kind(data["code"], data["what"], **about)
    for note in data["notes"]:
        error.add_note(note)
    return error


def _known() -> dict[str, type[IsomorphError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, IsomorphError)
    }
