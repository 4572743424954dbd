"""Finds extensions by entry point and loads them on demand.

Our own are listed in pyproject.toml like a stranger's would be; the file name, the registry
name and the word on the command line are the same.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from isomorph.core.errors import UsageError
from isomorph.core.protocols import Cause, Converter, Fix, Framework, Reporter, Rule, Runtime

KINDS = ("frameworks", "runtimes", "converters", "rules", "reporters", "causes", "fixes")

_SINGULAR = {kind: kind.removesuffix("s") for kind in KINDS} | {"fixes": "fix"}


@cache
def _found(kind: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"isomorph.{kind}")}


def singular(kind: str) -> str:
    """What one of a kind is called: a framework, a fix."""
    return _SINGULAR[kind]


def names(kind: str) -> tuple[str, ...]:
    """The extensions of one kind, sorted; nothing is imported."""
    return tuple(sorted(_found(kind)))


@cache
def load(kind: str, name: str) -> Any:  # noqa: ANN401
    """One instance of the named extension."""
    point = _found(kind).get(name)
    if point is None:
        raise UsageError(
            "UNKNOWN_NAME",
            f"there is no {_SINGULAR[kind]} {name!r}",
            why=f"known: {', '.join(names(kind))}",
            fix=_closest(name, names(kind)),
        )
    return point.load()()


def framework(name: str) -> Framework:
    """The named framework."""
    return cast("Framework", load("frameworks", name))


def runtime(name: str) -> Runtime:
    """The named runtime."""
    return cast("Runtime", load("runtimes", name))


def reporter(name: str) -> Reporter:
    """The named reporter."""
    return cast("Reporter", load("reporters", name))


def cause(name: str) -> Cause:
    """The named cause."""
    return cast("Cause", load("causes", name))


def fix(name: str) -> Fix:
    """The fix for the named cause."""
    return cast("Fix", load("fixes", name))


def converter(name: str) -> Converter:
    """The named converter."""
    return cast("Converter", load("converters", name))


def rule(name: str) -> Rule:
    """The named rule of lint."""
    return cast("Rule", load("rules", name))


def _closest(word: str, known: tuple[str, ...]) -> str | None:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else None
