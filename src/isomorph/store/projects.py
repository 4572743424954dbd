"""``isomorph.toml``, or ``[tool.isomorph]`` in ``pyproject.toml``: found, read and validated."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isomorph.core.baseline import FILE
from isomorph.core.errors import UsageError
from isomorph.core.project import NamedPair, Project
from isomorph.store import toml
from isomorph.store.safe_paths import exists
from isomorph.store.value_kinds import (
    ValueKind,
    budget,
    either,
    flag,
    list_of,
    number,
    table_of,
    text,
    whole,
)

NAMES = ("isomorph.toml", "pyproject.toml")
PATHS = ("reference", "candidate", "inputs", "data", "state")
"""The options of a pair that are paths."""


_NAMES = table_of(text("a name"), "a table of names")
_PATH = text("a path")

OPTIONS: Mapping[str, ValueKind] = {
    "reference": text("a path or package.module:factory"),
    "candidate": text("a path or package.module:factory"),
    "inputs": _PATH,
    "data": _PATH,
    "metric": text("package.module:function"),
    "state": _PATH,
    "runtime": either(
        text("a name"),
        table_of(text("a name"), "names by side"),
        "a name, or a table with reference and candidate",
    ),
    "settings": table_of(text("a value"), "a table of strings"),
    "dims": table_of(whole("a size"), "a table of whole numbers"),
    "budget": either(
        budget("a number"),
        table_of(budget("a number"), "numbers by output"),
        "a number, 0 or more, or a table of such numbers by output",
    ),
    "layouts": table_of(list_of(whole("an axis"), "axes"), "a table of lists of axes"),
    "bind_inputs": _NAMES,
    "bind_outputs": _NAMES,
    "seed": whole("a whole number"),
    "decode": whole("a number of tokens"),
    "caches": _NAMES,
    "strict": flag(),
    "only_given": flag(),
    "translation_only": flag(),
    "trust": flag(),
    "quick": flag(),
    "prove": flag(),
    "locate": flag(),
    "memory": whole("a number of bytes"),
    "timeout": number("a number of seconds"),
    "environments": list_of(text("a name"), "a list of names from [environments]"),
}
"""The options of a pair."""
OF_ENVIRONMENT = ("runtime", "settings")
"""Those that an environment may have."""


def option_names() -> tuple[str, ...]:
    """All keys that a pair may have."""
    return tuple(OPTIONS)


def find_project(start: Path) -> Project | None:
    """The project file in this folder or the nearest one above it."""
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if path.is_file() and (found := read_project(path)) is not None:
                return found
    return None


def read_project(path: Path) -> Project | None:
    """The project that a file describes; None for a ``pyproject.toml`` that does not mention us."""
    document: Any = toml.read(path)
    if path.name == "pyproject.toml":
        tool = document.get("tool")
        document = tool.get("isomorph") if isinstance(tool, dict) else None
        if document is None:
            return None
    if not isinstance(document, dict):
        raise toml.wrong_type("tool.isomorph", document, "a table", file=path, where="")
    toml.refuse_unknown(
        document, ["pairs", "environments", "baseline"], file=path, where="top level"
    )
    environments = {
        name: checked_options(table, OF_ENVIRONMENT, path, f"environments.{name}")
        for name, table in _tables(document, "environments", path).items()
    }
    pairs = tuple(
        pair
        for name, table in _tables(document, "pairs", path).items()
        for pair in _pairs(name, table, environments, path)
    )
    baseline = document.get("baseline", FILE)
    if not _PATH.fits(baseline):
        raise toml.wrong_type("baseline", baseline, "a path", file=path, where="top level")
    return Project(file=str(path), baseline=str(path.parent / baseline), pairs=pairs)


def _tables(document: Mapping[str, Any], key: str, file: Path) -> Mapping[str, Any]:
    tables = document.get(key, {})
    if not isinstance(tables, dict):
        raise toml.wrong_type(key, tables, f"tables [{key}.NAME]", file=file, where="top level")
    return tables


def checked_options(
    table: Any,  # noqa: ANN401
    known: tuple[str, ...],
    file: Path,
    where: str,
    kinds: Mapping[str, ValueKind] = OPTIONS,
) -> dict[str, Any]:
    """The options of a table, each known and of its type."""
    if not isinstance(table, dict):
        raise toml.wrong_type(where, table, "a table", file=file, where=where)
    toml.refuse_unknown(table, known, file=file, where=where)
    for key, value in table.items():
        kind = kinds[key]
        if not kind.fits(value):
            raise toml.wrong_type(key, value, kind.expected, file=file, where=where)
    return dict(table)


def _pairs(
    name: str, table: object, environments: Mapping[str, dict[str, Any]], file: Path
) -> list[NamedPair]:
    where = f"pairs.{name}"
    options = checked_options(table, tuple(OPTIONS), file, where)
    named = options.pop("environments", None)
    for key in PATHS:
        if key in options:
            options[key] = _place(options[key], file.parent)
    reference, candidate = options.pop("reference", None), options.pop("candidate", None)
    if reference is None:
        raise toml.wrong_type("reference", None, "a path", file=file, where=where)
    if named is None:
        plain = NamedPair(name=name, reference=reference, candidate=candidate, options=options)
        return [plain]
    for word in named:
        if word not in environments:
            near = difflib.get_close_matches(word, list(environments), n=1)
            raise UsageError(
                "CONFIG_INVALID", f"there is no environment {word!r}", file=str(file), where=where,
                why=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(environments)}",
            )  # fmt: skip
    return [
        NamedPair(
            name=f"{name}@{word}",
            reference=reference,
            candidate=candidate,
            options={**options, **environments[word]},
        )
        for word in named
    ]


def _place(word: str, folder: Path) -> str:
    """Beside the project file; a factory is no path."""
    beside = folder / word
    return word if ":" in word and not exists(beside) else str(beside)
