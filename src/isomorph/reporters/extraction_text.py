"""The text of an extraction, as the command line shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.extraction import Extraction


def lines(found: Extraction) -> list[str]:
    """What was cut out, and whether it shows the fault."""
    text = [
        message(
            "EXTRACT.part",
            folder=found.folder,
            node=found.node,
            nodes=found.nodes,
            count=found.nodes_before,
        )
    ]
    if found.whole:
        text.append(message("EXTRACT.whole"))
    key = "EXTRACT.shows" if found.shows else "EXTRACT.hides"
    text.append(message(key, reason=found.report.reason))
    if found.script is not None:
        text.append(message("EXTRACT.script", folder=found.folder, script=found.script))
    elif found.no_script:
        text.append(message("EXTRACT.no_script", why=found.no_script))
    return [*text, message("EXTRACT.command", folder=found.folder, command=found.command)]
