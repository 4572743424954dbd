"""Causes explained by their own docstrings, codes by the table that is kept of them."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.explanation import Explanation
from isomorph.diagnose.known_issues import KnownIssue, known_issues

_NEAREST = 3
_TO_DO = "isomorph fix REFERENCE CANDIDATE -o FIXED proposes a patch and proves it by measuring."
_BY_HAND = "No patch of the file removes it: apply the fix that the finding names."


def explain(word: str) -> Explanation:
    """The explanation of a cause or code; raises UsageError with near matches otherwise."""
    entered = word.strip()
    # Two causes and their codes differ in nothing but their letters' case.
    if entered not in codes() and entered.lower() in registry.names("causes"):
        return _cause(entered.lower())
    entry = codes().get(entered.upper())
    if entry is not None:
        return Explanation(
            word=entered.upper(),
            kind=entry["kind"],
            what=entry["what"],
            recognized=entry["recognized"],
            do=entry["do"],
            exit_code=entry.get("exit"),
        )
    near = _near(entered)
    raise UsageError(
        "UNKNOWN_NAME",
        f"{entered!r} is neither a cause nor a code",
        why=f"causes: {', '.join(registry.names('causes'))}",
        fix=f"did you mean {' or '.join(map(repr, near))}?" if near else "isomorph explain --list",
    )


def words() -> tuple[Explanation, ...]:
    """Everything that can be explained: the causes, then the codes."""
    return tuple(explain(word) for word in (*registry.names("causes"), *codes()))


@cache
def codes() -> Mapping[str, Any]:
    """The table of codes, of findings and of errors, and of the checks of lint."""
    text = files("isomorph.diagnose").joinpath("codes.json").read_text("utf-8")
    return {**json.loads(text), **dict(_remarks())}


def _remarks() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The checks of lint, each by its code; its docstring is its page."""
    for name in registry.names("rules"):
        check = registry.rule(name)
        what, _, details = (inspect.getdoc(type(check)) or "").partition("\n\n")
        yield (
            check.code,
            {
                "kind": "remark",
                "what": " ".join(what.split()),
                "recognized": " ".join(details.split()) or "Seen in the graph, without running it.",
                "do": f"isomorph lint prints advice; --ignore {check.code} suppresses it.",
            },
        )


def _cause(name: str) -> Explanation:
    text = inspect.getdoc(registry.cause(name)) or ""
    what, _, recognized = text.partition("\n\n")
    by_mechanism: dict[str, list[KnownIssue]] = {}
    for each in known_issues():
        if each.cause == name:
            by_mechanism.setdefault(each.mechanism, []).append(each)
    return Explanation(
        word=name,
        kind="cause",
        what=" ".join(what.split()),
        recognized=" ".join(recognized.split()),
        do=_TO_DO if name in registry.names("fixes") else _BY_HAND,
        issues=tuple(
            f"{mechanism}: {', '.join(each.thread for each in found[:_NEAREST])} ({found[0].link})"
            for mechanism, found in by_mechanism.items()
        ),
    )


def _near(word: str) -> list[str]:
    causes = difflib.get_close_matches(word.lower(), registry.names("causes"), n=_NEAREST)
    known = difflib.get_close_matches(word.upper(), list(codes()), n=_NEAREST)
    return [*causes, *known][:_NEAREST]
