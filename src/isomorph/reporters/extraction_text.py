"""The text of an extraction, as the command line shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.extraction import Extraction


def lines(found: Extraction) -> list[str]:
    """What was cut out, and whether it shows the fault."""
    size = f"{found.nodes} of {found.nodes_before} nodes"
    text = [f"{found.folder}: the part around node {found.node!r}, {size}"]
    if found.whole:
        text.append("it begins at the model's inputs: no smaller part shows the fault")
    if found.shows:
        text.append(f"the part alone is divergent: {found.report.reason}")
    else:
        text.append(f"the part alone does not show the fault: {found.report.reason}")
    if found.script is not None:
        text.append(f"without isomorph: cd {found.folder} && python {found.script}")
    elif found.no_script:
        text.append(f"no script shows it without isomorph: {found.no_script}")
    return [*text, f"see it: cd {found.folder} && {found.command}"]
