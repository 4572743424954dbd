"""Finds extensions by entry point and loads them on demand.

Those of isomorph are listed in pyproject.toml like those of any package; the file name, the
registry name and the word on the command line are the same.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from isomorph.core import converter_abilities, execution, protocols
from isomorph.core.entry_points import EntryPoint, entry_points
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.operator_tables import NO_TABLES, OperatorTables
from isomorph.core.protocols import Cause, Converter, Fix, Framework, Reporter, Rule, Runtime

KINDS = ("frameworks", "runtimes", "converters", "rules", "reporters", "causes", "fixes")

PROTOCOLS: Mapping[str, type] = {
    "frameworks": Framework,
    "runtimes": Runtime,
    "converters": Converter,
    "rules": Rule,
    "reporters": Reporter,
    "causes": Cause,
    "fixes": Fix,
}
"""What every extension of a kind has."""

ABILITIES: Mapping[str, tuple[type, ...]] = {
    "frameworks": (
        protocols.SupportsPatch,
        protocols.SupportsExtract,
        protocols.HasSidecarFiles,
        protocols.HasMeanings,
    ),
    "runtimes": (
        protocols.EnvironmentReader,
        protocols.HasSwitches,
        protocols.SetsPrecision,
        protocols.ListsOptimizers,
        protocols.WritesSettingsCode,
        execution.LoadsLibraries,
        execution.MultipliesElsewhere,
        protocols.ReportsCapabilities,
    ),
    "converters": (
        protocols.ProvenByRuntime,
        protocols.ReportsCapabilities,
        converter_abilities.RunsInReleases,
        converter_abilities.TakesOpset,
        converter_abilities.HasPasses,
        converter_abilities.WritesConversion,
    ),
    "reporters": (
        protocols.StyledReporter,
        protocols.FilesReporter,
        protocols.RepairReporter,
        protocols.EnvironmentReporter,
    ),
}
"""What an extension of a kind may have besides; callers ask with ``isinstance``."""

_SINGULAR = {kind: kind.removesuffix("s") for kind in KINDS} | {"fixes": "fix"}


@cache
def _installed() -> dict[str, dict[str, EntryPoint]]:
    return entry_points("isomorph.")


def _found(kind: str) -> dict[str, EntryPoint]:
    return _installed().get(f"isomorph.{kind}", {})


def installed() -> dict[str, dict[str, str]]:
    """What ``provide`` takes: ``module:attribute`` of every extension by group and name."""
    return {
        group: {name: point.value for name, point in points.items()}
        for group, points in _installed().items()
    }


def provide(extensions: Mapping[str, Mapping[str, str]]) -> None:
    """Know these extensions besides: an environment without isomorph lists none of them."""
    for group, points in extensions.items():
        known = _installed().setdefault(group, {})
        known.update({name: EntryPoint(name, value) for name, value in points.items()})


def forget() -> None:
    """Look for extensions again: packages were installed since, or the path has changed."""
    _installed.cache_clear()
    load.cache_clear()
    operator_tables.cache_clear()


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
        near = difflib.get_close_matches(name, names(kind), n=1)
        raise error_of(
            UsageError,
            "UNKNOWN_NAME.extension_near" if near else "UNKNOWN_NAME.extension",
            kind=_SINGULAR[kind],
            name=name,
            known=", ".join(names(kind)),
            near=near[0] if near else "",
        )
    extension = point.load()()
    _require_members(kind, name, extension)
    return extension


def lacking(extension: object, protocol: type) -> list[str]:
    """The members of a protocol that an object lacks; properties are not evaluated."""
    absent = object()
    return sorted(
        name
        for name in protocols.members(protocol)
        if inspect.getattr_static(extension, name, absent) is absent
    )


def _require_members(kind: str, name: str, extension: object) -> None:
    """Raise where an extension lacks a member of its protocol, or has an ability by half."""
    partial = [
        each
        for each in ABILITIES.get(kind, ())
        if 0 < len(lacking(extension, each)) < len(protocols.members(each))
    ]
    for protocol in (PROTOCOLS[kind], *partial):
        absent = lacking(extension, protocol)
        if absent:
            raise error_of(
                UsageError,
                "EXTENSION_INCOMPLETE.members",
                kind=_SINGULAR[kind],
                name=name,
                members=", ".join(map(repr, absent)),
                protocol=protocol.__name__,
            )


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


@cache
def operator_tables(name: str) -> OperatorTables:
    """The operator tables of a framework; empty ones where it is not installed."""
    return framework(name).operator_tables if name in names("frameworks") else NO_TABLES
