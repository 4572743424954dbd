"""The options that show more or less of a report on the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from isomorph.cli.option_groups import Flags
from isomorph.cli.parameters import Option
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.verbosity import AdjustableReporter, Verbosity

if TYPE_CHECKING:
    from isomorph.core.protocols import Reporter

Verbose = Annotated[
    bool,
    Option(
        "--verbose", "-v", help="Show everything: all numbers, environments, what was not done."
    ),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show the verdict only, in one line.")]


@dataclass(frozen=True, kw_only=True)
class VerbosityFlags(Flags):
    """How much of a report is shown."""

    verbose: Verbose = False
    quiet: Quiet = False


def adjusted(reporter: Reporter, flags: VerbosityFlags) -> Reporter:
    """The reporter with as much text as asked for; documents always hold everything."""
    if flags.verbose and flags.quiet:
        raise error_of(UsageError, "CONFLICTING_SETTINGS.verbosity")
    if not isinstance(reporter, AdjustableReporter):
        return reporter
    if flags.quiet:
        return reporter.with_verbosity(Verbosity.QUIET)
    return reporter.with_verbosity(Verbosity.VERBOSE) if flags.verbose else reporter
