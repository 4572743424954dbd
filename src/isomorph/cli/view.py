"""``isomorph view``: a report, or a folder of them, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.messages import message


def view(
    source: Annotated[
        Path, Argument(metavar="REPORT|FOLDER", help="A JSON report, or a folder of them.")
    ] = Path(),
    *,
    port: Annotated[
        int, Option("--port", min=0, max=65535, help="Listen here; 0 takes a free one.")
    ] = 0,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    debug: options.Debug = False,
) -> int:
    """Look at reports in the browser; of a folder, compare any two. Ctrl-C ends it.

    The server listens on this machine only and requires the token in the printed address.
    """
    import webbrowser

    from isomorph.cli.output import write
    from isomorph.server.report_store import ReportStore
    from isomorph.server.serve import serve

    def ready(address: str) -> None:
        write(f"{address}\n{message('REPORT.end_view')}", None)
        if browser:
            webbrowser.open(address)

    try:
        serve(ReportStore(source.resolve()), port=port, ready=ready)
    except KeyboardInterrupt:
        return 0  # the usual end
    return 0
