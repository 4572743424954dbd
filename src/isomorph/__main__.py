"""The entry: an error becomes its own lines and exit code, never a traceback unasked."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from isomorph.core.collector import collect_seldom, skip_final_collection
from isomorph.core.errors import BUG, IsomorphError
from isomorph.core.escaping import printable

INTERRUPTED = 130

_IDLE_LIMIT = "OPENBLAS_THREAD_TIMEOUT"
_SHORTEST_IDLE = "4"
"""Threads of OpenBLAS without work sleep after 2 to the power of this many cycles: its least.

By default each computes nothing for tens of milliseconds after it was started, one for every core.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # whoever calls us from Python has plans of their own
        collect_seldom()
        os.environ.setdefault(_IDLE_LIMIT, _SHORTEST_IDLE)
        _heed_signals()
        _open_closed_streams()
    try:
        from isomorph.cli.app import app

        return app(given)
    except KeyboardInterrupt:
        _print_error("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where one can be caught
        if "--debug" in given:
            traceback.print_exc()
        return _explain(error)
    finally:
        if arguments is None:
            skip_final_collection()


def _heed_signals() -> None:
    """A closed terminal and a polite request to end are interruptions like Ctrl-C."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for word in ("SIGHUP", "SIGTERM"):
        number = getattr(signal, word, None)
        # What was chosen to be ignored (nohup) stays ignored.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _open_closed_streams() -> None:
    """Let a stream that the caller closed (``>&-``) take text; the exit code carries the answer."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def _explain(error: Exception) -> int:
    if isinstance(error, IsomorphError):
        from isomorph.cli.error_text import error_lines

        _print_error(*error_lines(error))
        return error.exit_code
    kind, message = type(error).__name__, printable(str(error))
    _print_error(
        f"error[BUG] {kind}: {message}" if message else f"error[BUG] {kind}",
        "  why: this is a fault of isomorph, not of your model",
        "  fix: run again with --debug and report what it prints",
    )
    return BUG


def _print_error(*lines: str) -> None:
    with suppress(OSError):  # a terminal that was closed; the exit code remains
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
