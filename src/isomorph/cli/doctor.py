"""``isomorph doctor``: what is installed here, and what to install for what is missing."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Option


def doctor(
    imports: Annotated[
        bool,
        Option("--import", help="Import every package in a process of its own; takes longer."),
    ] = False,
    debug: options.Debug = False,
) -> int:
    """What is installed, does it work, what to install for what is missing.

    Exit codes: 0 all that is installed works, 3 something that is installed does not.
    """
    from isomorph.api.doctor import doctor as examine
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress
    from isomorph.core.installation import InstallationStatus
    from isomorph.reporters.doctor_text import as_text

    with Progress() as progress:
        found = examine(progress, imports=imports)
    write(as_text(found, imported=imports), None)
    return 3 if any(each.status is InstallationStatus.BROKEN for each in found) else 0
