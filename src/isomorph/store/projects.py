"""``isomorph.toml``, or ``[tool.isomorph]`` in ``pyproject.toml``: found, read and validated."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from isomorph.core.baseline import FILE
from isomorph.core.budgets import is_budget
from isomorph.core.errors import UsageError
from isomorph.core.project import NamedPair, Project
from isomorph.store import toml
from isomorph.store.safe_paths import exists

NAMES = ("isomorph.toml", "pyproject.toml")
PATHS = ("reference", "candidate", "inputs", "data", "state")
"""The options of a pair that are paths."""


def is_text(value: object) -> bool:
    """Whether a value is a string without a NUL, which no path and no name can hold."""
    return isinstance(value, str) and "\0" not in value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _table_of(kind: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(kind, value.values()))


def _list_of(kind: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(kind, value))


_KINDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "reference": (is_text, "a path or package.module:factory"),
    "candidate": (is_text, "a path or package.module:factory"),
    "inputs": (is_text, "a path"),
    "data": (is_text, "a path"),
    "metric": (is_text, "package.module:function"),
    "state": (is_text, "a path"),
    "runtime": (
        lambda value: is_text(value) or _table_of(is_text)(value),
        "a name, or a table with reference and candidate",
    ),
    "settings": (_table_of(is_text), "a table of strings"),
    "dims": (_table_of(_is_whole), "a table of whole numbers"),
    "budget": (
        lambda value: is_budget(value) or _table_of(is_budget)(value),
        "a number, 0 or more, or a table of such numbers by output",
    ),
    "layouts": (_table_of(_list_of(_is_whole)), "a table of lists of axes"),
    "bind_inputs": (_table_of(is_text), "a table of names"),
    "bind_outputs": (_table_of(is_text), "a table of names"),
    "seed": (_is_whole, "a whole number"),
    "decode": (_is_whole, "a number of tokens"),
    "caches": (_table_of(is_text), "a table of names"),
    "strict": (_is_flag, "true or false"),
    "only_given": (_is_flag, "true or false"),
    "translation_only": (_is_flag, "true or false"),
    "trust": (_is_flag, "true or false"),
    "quick": (_is_flag, "true or false"),
    "prove": (_is_flag, "true or false"),
    "locate": (_is_flag, "true or false"),
    "memory": (_is_whole, "a number of bytes"),
    "timeout": (_is_number, "a number of seconds"),
    "environments": (_list_of(is_text), "a list of names from [environments]"),
}
_OF_ENVIRONMENT = ("runtime", "settings")


def option_names() -> tuple[str, ...]:
    """All keys that a pair may have."""
    return tuple(_KINDS)


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
        name: checked_options(table, _OF_ENVIRONMENT, path, f"environments.{name}")
        for name, table in _tables(document, "environments", path).items()
    }
    pairs = tuple(
        pair
        for name, table in _tables(document, "pairs", path).items()
        for pair in _pairs(name, table, environments, path)
    )
    baseline = document.get("baseline", FILE)
    if not is_text(baseline):
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
) -> dict[str, Any]:
    """The options of a table, each known and of its type."""
    if not isinstance(table, dict):
        raise toml.wrong_type(where, table, "a table", file=file, where=where)
    toml.refuse_unknown(table, known, file=file, where=where)
    for key, value in table.items():
        fits, expected = _KINDS[key]
        if not fits(value):
            raise toml.wrong_type(key, value, expected, file=file, where=where)
    return dict(table)


def _pairs(
    name: str, table: object, environments: Mapping[str, dict[str, Any]], file: Path
) -> list[NamedPair]:
    where = f"pairs.{name}"
    options = checked_options(table, tuple(_KINDS), file, where)
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
