"""The entry: an error becomes its own lines and exit code, never a traceback unasked."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from isomorph.core.errors import IsomorphError
from isomorph.core.escaping import printable

BUG = 70
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # whoever calls us from Python has plans of their own
        _heed_signals()
    try:
        from isomorph.cli.app import app

        # Not standalone: typer hands back the command's number and raises its own errors.
        code = int(app(args=given, prog_name="isomorph", standalone_mode=False) or 0)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where one can be caught
        if "--debug" in given:
            traceback.print_exc()
        return _explain(error)
    if code == INTERRUPTED:  # some versions of typer turn Ctrl-C into this number themselves
        _print_error("interrupted")
    return code


def _heed_signals() -> None:
    """A closed terminal and a polite request to end are interruptions like Ctrl-C."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for word in ("SIGHUP", "SIGTERM"):
        number = getattr(signal, word, None)
        # What was chosen to be ignored (nohup) stays ignored.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _explain(error: Exception) -> int:
    if isinstance(error, IsomorphError):
        _print_error(*error.lines)
        return error.exit_code
    # typer carries its own copy of click in some versions and imports it in others, so its
    # errors are known by their shape.
    message, code = getattr(error, "format_message", None), getattr(error, "exit_code", None)
    if callable(message) and isinstance(code, int):
        path = getattr(getattr(error, "ctx", None), "command_path", "isomorph")
        _print_error(f"error[USAGE] {printable(message())}", f"  fix: {path} --help")
        return code
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
