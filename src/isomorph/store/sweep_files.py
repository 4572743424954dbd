"""A sweep file in TOML: models, environments, shards of data and seeds, read into cells."""

from __future__ import annotations

import glob
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from isomorph.core.errors import UsageError
from isomorph.core.sweep import Cell, SweepPlan, Verb
from isomorph.core.sweep_limits import SWEEP_CELLS
from isomorph.store import toml
from isomorph.store.option_trust import require_trust
from isomorph.store.projects import PATHS, checked_options, read_project
from isomorph.store.safe_paths import exists
from isomorph.store.sweep_options import (
    OF_ENVIRONMENT,
    OF_MODEL,
    OF_SHARD,
    OPTIONS,
    require_taken,
)
from isomorph.store.value_kinds import text

NAME = "sweep.toml"
_STEM = "{stem}"
KEYS = (
    "store", "verb", "seeds", "models", "pairs", "environments", "shards", "include", "exclude",
)  # fmt: skip
PARTS = ("model", "environment", "shard")
"""The parts of the name of a cell."""


def read_sweep(path: Path) -> SweepPlan:
    """The cells of a file; every mistake names the file and the table."""
    document = toml.read(path)
    toml.refuse_unknown(document, KEYS, file=path, where="top level")
    store = document.get("store", "sweep-results")
    if not store or not text("a folder").fits(store):
        raise toml.wrong_type("store", store, "a folder", file=path, where="top level")
    verb = document.get("verb", "check")
    if verb not in tuple(Verb):
        known = f"one of: {', '.join(Verb)}"
        raise toml.wrong_type("verb", verb, known, file=path, where="top level")
    cells = tuple(_cells(document, Verb(verb), path))
    if not cells:
        raise UsageError(
            "CONFIG_INVALID", "no cell is left to run", file=str(path), where="top level",
            why="there are no models, or include and exclude leave none",
        )  # fmt: skip
    names = [each.name for each in cells]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            "CONFIG_INVALID", f"two cells have the name {twice!r}", file=str(path),
            where="models", fix="give the tables of models other names",
        )  # fmt: skip
    return SweepPlan(file=str(path), store=str((path.parent / store).resolve()), cells=cells)


def _cells(document: Mapping[str, Any], verb: Verb, file: Path) -> Iterator[Cell]:
    environments = {
        name: checked_options(table, OF_ENVIRONMENT, file, f"environments.{name}", OPTIONS)
        for name, table in _tables(document, "environments", file).items()
    } or {"usual": {}}
    shards = {
        name: _located(checked_options(table, OF_SHARD, file, f"shards.{name}"), file)
        for name, table in _tables(document, "shards", file).items()
    } or {"": {}}
    seeds = _seeds(document, file)
    include, exclude = (_patterns(document, key, file) for key in ("include", "exclude"))
    models = [
        each for name, table in _tables(document, "models", file).items()
        for each in _models(name, table, file, verb)
    ]  # fmt: skip
    models += _project_pairs(document, file, verb)
    count = len(models) * len(environments) * len(shards) * len(seeds)
    if count > SWEEP_CELLS:
        raise UsageError(
            "CONFIG_INVALID", f"the matrix has {count:,} cells", file=str(file), where="top level",
            why=f"one sweep has at most {SWEEP_CELLS:,}", fix="divide it into several files",
        )  # fmt: skip
    for (name, reference, candidate, options), environment, shard, seed in itertools.product(
        models, environments, shards, seeds
    ):
        parts = {"model": name, "environment": environment, "shard": shard}
        if (include and not _matches(include, parts)) or _matches(exclude, parts):
            continue
        stated = {**options, **environments[environment], **shards[shard]}
        where = f"{name}@{environment}"
        require_taken(stated, verb, file=str(file), where=where)
        require_trust(stated, file=str(file), where=where)
        yield Cell(
            model=name, environment=environment, shard=shard, seed=seed,
            reference=reference, candidate=candidate, verb=verb, options=stated,
        )  # fmt: skip


_Model = tuple[str, str, str, dict[str, Any]]
"""A name, the reference, the candidate (empty where there is none), and options."""


def _project_pairs(document: Mapping[str, Any], file: Path, verb: Verb) -> Iterator[_Model]:
    """The pairs of the project file that the key ``pairs`` names."""
    stated = document.get("pairs")
    if stated is None:
        return
    if not stated or not text("a path").fits(stated):
        raise toml.wrong_type("pairs", stated, "the path of an isomorph.toml", file=file,
                              where="top level")  # fmt: skip
    path = Path(_place(stated, file))
    project = read_project(path)
    for pair in () if project is None else project.pairs:
        _refuse_factories((pair.reference, pair.candidate or ""), path, f"pairs.{pair.name}")
        # The seeds are those of the sweep.
        options = {name: value for name, value in pair.options.items() if name != "seed"}
        candidate = "" if verb.takes_one or pair.candidate is None else pair.candidate
        sides = [str(Path(each).resolve()) if each else "" for each in (pair.reference, candidate)]
        yield pair.name, sides[0], sides[1], options


def _refuse_factories(words: Sequence[str], file: Path, where: str) -> None:
    for word in words:
        if ":" in word and not exists(file.parent / word):
            raise UsageError(
                "CONFIG_INVALID", f"{word!r} is a factory", file=str(file), where=where,
                why="what a factory returns has no digest, so a cell would never be known as done",
                fix="export the model to a file",
            )  # fmt: skip


def _models(name: str, table: object, file: Path, verb: Verb) -> Iterator[_Model]:
    """The models of a table, or of each file that a pattern names."""
    where = f"models.{name}"
    options = checked_options(table, OF_MODEL, file, where, OPTIONS)
    words = options.pop("reference", None), options.pop("candidate", None)
    if words[0] is None or (words[1] is None) != verb.takes_one:
        expected = "the model alone" if verb.takes_one else "a path"
        raise toml.wrong_type("reference or candidate", words[1], expected, file=file, where=where)
    reference, candidate = (str(word or "") for word in words)
    _refuse_factories((reference, candidate), file, where)
    options = _located(options, file)
    if verb.takes_one:
        found = _fitting(reference, file, where) if glob.has_magic(reference) else [reference]
        for each in found:
            more = f"/{Path(each).stem}" if glob.has_magic(reference) else ""
            yield name + more, _place(each, file), "", options
        return
    if not glob.has_magic(candidate) and not glob.has_magic(reference):
        yield name, _place(reference, file), _place(candidate, file), options
        return
    pattern, other = (candidate, reference) if glob.has_magic(candidate) else (reference, candidate)
    if glob.has_magic(other) or _STEM not in other:
        raise UsageError(
            "CONFIG_INVALID", f"{other!r} does not follow from {pattern!r}", file=str(file),
            where=where, why=f"one side is a pattern, the other has {_STEM} in its place",
        )  # fmt: skip
    for each in _fitting(pattern, file, where):
        stem = Path(each).stem
        sides = {pattern: each, other: other.replace(_STEM, stem)}
        first, second = (_place(sides[word], file) for word in (reference, candidate))
        yield f"{name}/{stem}", first, second, options


def _fitting(pattern: str, file: Path, where: str) -> list[str]:
    """The files that fit a pattern, sorted; hidden ones only where the pattern names them.

    Links to folders are not followed: folders that link to each other have no end.
    """
    stated = Path(pattern)
    root = Path(stated.anchor) if stated.anchor else file.parent
    try:
        found = list(root.glob(pattern.removeprefix(stated.anchor)))
    except (ValueError, OSError) as error:
        raise UsageError(
            "CONFIG_INVALID", f"{pattern!r} is no pattern", file=str(file), where=where,
            why=str(error), fix="as in models/*.onnx, or models/**/*.onnx with folders inside",
        ) from error  # fmt: skip
    hidden = {part for part in stated.parts if part.startswith(".")}
    shown = [path for path in found if not _is_hidden(path.relative_to(root), hidden)]
    if not shown:
        raise UsageError(
            "CONFIG_INVALID", f"no file fits {pattern!r}", file=str(file), where=where,
            why="patterns are relative to the sweep file",
        )  # fmt: skip
    return sorted(str(path if stated.anchor else path.relative_to(root)) for path in shown)


def _is_hidden(path: Path, named: Collection[str]) -> bool:
    return any(part.startswith(".") and part not in ("..", *named) for part in path.parts)


def _located(options: Mapping[str, Any], file: Path) -> dict[str, Any]:
    return {key: _place(value, file) if key in PATHS else value for key, value in options.items()}


def _place(word: str, file: Path) -> str:
    return str((file.parent / word).resolve())


def _tables(document: Mapping[str, Any], key: str, file: Path) -> Mapping[str, Any]:
    found = document.get(key, {})
    if not isinstance(found, dict):
        raise toml.wrong_type(key, found, f"tables [{key}.NAME]", file=file, where="top level")
    return found


def _seeds(document: Mapping[str, Any], file: Path) -> Sequence[int]:
    given = document.get("seeds", [0])
    found = [each for each in given if _is_seed(each)] if isinstance(given, list) else []
    if not found or found != given or len(set(found)) < len(found):
        expected = "a list of different whole numbers"
        raise toml.wrong_type("seeds", given, expected, file=file, where="top level")
    return found


def _is_seed(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _patterns(document: Mapping[str, Any], key: str, file: Path) -> list[Mapping[str, str]]:
    found = document.get(key, [])
    if not isinstance(found, list):
        raise toml.wrong_type(key, found, "a list of tables", file=file, where="top level")
    for each in found:
        if not isinstance(each, dict) or not each:
            raise toml.wrong_type(key, each, "a table", file=file, where=key)
        toml.refuse_unknown(each, PARTS, file=file, where=key)
        if not all(isinstance(word, str) for word in each.values()):
            raise toml.wrong_type(key, each, "patterns as strings", file=file, where=key)
    return found


def _matches(patterns: Sequence[Mapping[str, str]], parts: Mapping[str, str]) -> bool:
    return any(
        all(fnmatchcase(parts[part], word) for part, word in pattern.items())
        for pattern in patterns
    )
