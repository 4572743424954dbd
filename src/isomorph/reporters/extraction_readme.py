"""The page that goes with an extracted part: what it is, and how to see the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.escaping import printable

if TYPE_CHECKING:
    from isomorph.core.extraction import Extraction


def readme(found: Extraction) -> str:
    """Ready to be attached to a bug report."""
    files = [
        *([f"- `{found.reference}`: what it should compute"] if found.reference else []),
        f"- `{found.candidate}`: what it computes, {found.nodes} of {found.nodes_before} nodes",
        f"- `{found.inputs}`: the inputs of the part, as they arrive there",
    ]
    lines = [
        f"# A fault at node `{_quoted(found.node)}`",
        "",
        *_summary(found),
        "",
        *files,
        "",
        *_script(found),
        "With isomorph, in this folder:" if found.script else "To see it, in this folder:",
        "",
        "```",
        found.command,
        "```",
        "",
        f"Verdict: {found.report.verdict.value}: {_quoted(found.report.reason)}.",
        *(f"- {_quoted(line)}" for line in _figures(found)),
        "",
        *(f"- {_quoted(line)}" for line in _environments(found)),
    ]
    return "\n".join(lines) + "\n"


def _script(found: Extraction) -> list[str]:
    if found.script is None:
        why = f"There is no script for it without isomorph: {_quoted(found.no_script)}."
        return [why, ""] if found.no_script else []
    text = "To see it, in this folder, with the frameworks alone (exit code 0: it is there):"
    return [text, "", "```", f"python {found.script}", "```", ""]


def _summary(found: Extraction) -> list[str]:
    kind = (
        "The candidate's part does not compute what the reference's part does."
        if found.reference
        else "The part does not run as its own graph does, evaluated in float64."
    )
    if not found.shows:
        kind = "Cut out alone, the part does not show the fault that the whole model shows."
    lines = [kind]
    if found.whole:
        lines.append("It begins at the model's inputs: no smaller part shows the fault.")
    return lines


def _figures(found: Extraction) -> list[str]:
    lines = []
    for each in found.report.outputs:
        seen = each.observed or each.execution_candidate
        if seen is None:
            continue
        off = seen.distance
        lines.append(
            f"output {each.candidate_output!r}: {off.differing} of {off.elements} values differ, "
            f"by {off.max_abs if off.max_abs is not None else float('nan'):.3g} at most"
        )
    return lines


def _environments(found: Extraction) -> list[str]:
    return [
        f"{name}: {used.runtime} {used.version} on {used.device}, {used.precision}"
        for name, used in found.report.environments.items()
    ]


def _quoted(text: str) -> str:
    # Names come out of models: they must not end a code span or begin a line.
    return printable(text, limit=400).replace("`", "'")
