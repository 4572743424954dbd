"""The page that goes with an extracted part: what it is, and how to see the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.extraction import Extraction


def readme(found: Extraction) -> str:
    """Ready to be attached to a bug report."""
    files = [
        *([message("README.extract_reference", file=found.reference)] if found.reference else []),
        message(
            "README.extract_candidate",
            file=found.candidate,
            nodes=found.nodes,
            count=found.nodes_before,
        ),
        message("README.extract_inputs", file=found.inputs),
    ]
    lines = [
        "# " + message("README.extract_title", node=_quoted(found.node)),
        "",
        *_summary(found),
        "",
        *(f"- {each}" for each in files),
        "",
        *_script(found),
        message("README.extract_isomorph") if found.script else message("README.extract_see"),
        "",
        "```",
        found.command,
        "```",
        "",
        message(
            "README.extract_verdict",
            verdict=found.report.verdict.value.upper(),
            reason=_quoted(found.report.reason),
        ),
        "",
        *(f"- {_quoted(line)}" for line in _figures(found)),
        "",
        *(f"- {_quoted(line)}" for line in _environments(found)),
    ]
    return "\n".join(lines) + "\n"


def _script(found: Extraction) -> list[str]:
    if found.script is None:
        why = message("README.extract_no_script", why=_quoted(found.no_script))
        return [why, ""] if found.no_script else []
    text = message("README.extract_script")
    return [text, "", "```", f"python {found.script}", "```", ""]


def _summary(found: Extraction) -> list[str]:
    kind = message("README.extract_pair") if found.reference else message("README.extract_run")
    if not found.shows:
        kind = message("README.extract_hides")
    lines = [kind]
    if found.whole:
        lines.append(message("README.extract_whole"))
    return lines


def _figures(found: Extraction) -> list[str]:
    lines = []
    for each in found.report.outputs:
        seen = each.observed or each.execution_candidate
        if seen is None:
            continue
        off = seen.distance
        lines.append(
            message(
                "README.extract_output",
                output=each.candidate_output,
                count=off.differing,
                elements=off.elements,
                size=off.max_abs if off.max_abs is not None else float("nan"),
            )
        )
    return lines


def _environments(found: Extraction) -> list[str]:
    return [
        message(
            "README.extract_environment",
            name=name,
            runtime=used.runtime,
            version=used.version,
            device=used.device,
            precision=used.precision,
        )
        for name, used in found.report.environments.items()
    ]


def _quoted(text: str) -> str:
    # Names come out of models: they must not end a code span or begin a line.
    return printable(text, limit=400).replace("`", "'")
