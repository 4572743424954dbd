"""Writing text to the terminal in its encoding, or to a file, atomically."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.messages import message

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.protocols import Reporter
    from isomorph.core.report import Report

# What our own sentences use beyond ASCII, for terminals that have nothing else.
_PLAIN = str.maketrans(
    {"×": "x", "−": "-", "–": "-", "—": "-", "…": "...", "≤": "<=", "→": "->", "·": "-"}
    | dict.fromkeys("─━═╌", "-")
)


def show_report(report: Report, reporter: Reporter, output: Path | None) -> None:
    """Write the report: in color on a terminal that supports it, as plain text to a file."""
    from isomorph.core.protocols import StyledReporter

    if output is None and isinstance(reporter, StyledReporter) and use_color():
        write(reporter.render_styled(report), None)
    elif output is not None:
        from isomorph.reporters.documents import report_files

        for path, text in report_files(report, reporter, output).items():
            write(text, path)
    else:
        write(reporter.render(report), None)
    _append_to_environment_file(report, reporter)


def write_result(text: str, output: Path | None, headline: str = "") -> None:
    """Write to the terminal; or to a file, and on the terminal what it says and where it is."""
    from isomorph.core.escaping import printable

    write(text, output)
    if output is not None:
        place = message("REPORT.written", file=printable(str(output)))
        write(f"{printable(headline)}\n{place}" if headline else place, None)


def show_verdict(report: Report, output: Path, *, quiet: bool = False) -> None:
    """The verdict, the cause and the fix on the terminal, for a report that went to a file.

    With ``quiet``, the verdict alone.
    """
    from isomorph.core.escaping import printable
    from isomorph.core.verbosity import Verbosity
    from isomorph.reporters.terminal import TerminalReporter

    reporter = TerminalReporter(Verbosity.QUIET if quiet else Verbosity.BRIEF)
    text = reporter.render_styled(report) if use_color() else reporter.render(report)
    gap = "\n" if len(text.rstrip("\n").splitlines()) > 1 else ""
    written = message("REPORT.written", file=printable(str(output)))
    write(f"{text}{gap}{written}", None)


@contextmanager
def show_report_on_interrupt(reporter: Reporter, output: Path | None) -> Iterator[None]:
    """On Ctrl-C, write the report of what was measured so far, then raise again."""
    try:
        yield
    except InterruptedCheck as stop:
        with suppress(OSError, UsageError):  # the terminal may be what has gone
            show_report(stop.report, reporter, output)
        raise


def _append_to_environment_file(report: Report, reporter: Reporter) -> None:
    """Append to the files that a reporter finds in environment variables (GitHub's job summary)."""
    from pathlib import Path

    from isomorph import registry
    from isomorph.core.protocols import EnvironmentReporter

    if not isinstance(reporter, EnvironmentReporter):
        return
    for variable, other in reporter.environment_files.items():
        target = os.environ.get(variable)
        if target:
            with Path(target).open("a", encoding="utf-8", errors="replace") as file:
                file.write(registry.reporter(other).render(report))


def use_color() -> bool:
    """Whether stdout is a terminal and color is not disabled (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and _term() != "dumb"


def _term() -> str:
    return os.environ.get("TERM", "")


def write(text: str, output: Path | None) -> None:
    """Write the text and a newline to stdout, or to a file."""
    text = text.rstrip("\n") + "\n"
    if output is not None:
        _write_file(output, text.encode("utf-8", "surrogatepass"))
        return
    try:
        sys.stdout.write(encodable(text, sys.stdout.encoding or "ascii"))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe; the exit code still carries the verdict. Buffered text
        # goes to the null device, so that the interpreter does not fail while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise error_of(UsageError, "OUTPUT_UNWRITABLE.stdout", error=error.strerror) from error


def encodable(text: str, encoding: str) -> str:
    """``text`` in this encoding; characters it lacks become ASCII look-alikes or escapes."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        plain = text.translate(_PLAIN)
        return plain.encode("ascii", "backslashreplace").decode("ascii")
    return text


def refuse_page_on_terminal(reporter: Reporter, output: Path | None) -> None:
    """Raise if an HTML page would be printed on a terminal."""
    if output is None and reporter.profile and sys.stdout.isatty():
        raise error_of(UsageError, "BAD_OPTION.page", name=reporter.name)


def _write_file(path: Path, data: bytes) -> None:
    from isomorph.store.atomic import new_file
    from isomorph.store.targets import check_target

    check_target(path)
    with new_file(path) as stream:
        stream.write(data)
