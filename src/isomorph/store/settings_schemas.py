"""The JSON Schemas of ``isomorph.toml`` and ``sweep.toml``, from the tables that their readers use.

``python docs/generate.py`` writes them to the files that ship.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from isomorph.core.sweep import Verb
from isomorph.store import projects, sweep_files, sweep_options
from isomorph.store.value_kinds import ValueKind

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors of TOML read."""


def settings_schema_text(file: str) -> str:
    """The schema that ships for ``isomorph.toml`` or ``sweep.toml``."""
    found = files("isomorph.store").joinpath(f"{file}.schema.json")
    return found.read_text(encoding="utf-8")


def project_schema(meanings: Mapping[str, str]) -> dict[str, Any]:
    """That of ``isomorph.toml``; ``meanings`` describe options where they are known."""
    pair = _table(tuple(projects.OPTIONS), meanings, required=("reference",))
    return {
        "$schema": DIALECT,
        "$id": "urn:isomorph:isomorph.toml",
        "title": "isomorph.toml: pairs of models, and how each is checked",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "baseline": {"type": "string", "description": "The file of accepted divergences."},
            "environments": {
                **_tables(_table(projects.OF_ENVIRONMENT, meanings)),
                "description": "Runtimes and settings by name, for `environments` of a pair.",
            },
            "pairs": {**_tables(pair), "description": "The pairs by name."},
        },
    }


def sweep_schema(meanings: Mapping[str, str]) -> dict[str, Any]:
    """That of ``sweep.toml``."""
    part = {"type": "string"}
    cells = {
        "type": "array",
        "items": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": dict.fromkeys(sweep_files.PARTS, part),
        },
    }
    kinds = sweep_options.OPTIONS
    model = _table(sweep_options.OF_MODEL, meanings, required=("reference",), kinds=kinds)
    described: dict[str, dict[str, Any]] = {
        "store": {"type": "string", "minLength": 1, "description": "The folder of the results."},
        "verb": {"enum": [str(each) for each in Verb], "description": "What each cell runs."},
        "seeds": {
            "type": "array",
            "items": {"type": "integer", "minimum": 0},
            "minItems": 1,
            "uniqueItems": True,
            "description": "Each cell is run once for each.",
        },
        "models": {**_tables(model), "description": "Pairs of models, or patterns of files."},
        "pairs": {
            "type": "string",
            "minLength": 1,
            "description": "An isomorph.toml whose pairs are models as well.",
        },
        "environments": {
            **_tables(_table(sweep_options.OF_ENVIRONMENT, meanings, kinds=kinds)),
            "description": "Options by name; each model is run in each.",
        },
        "shards": {
            **_tables(_table(sweep_options.OF_SHARD, meanings, kinds=kinds)),
            "description": "Parts of the data by name; each model is run on each.",
        },
        "include": {**cells, "description": "Run the cells that fit one of these patterns."},
        "exclude": {**cells, "description": "Leave out the cells that fit one of these patterns."},
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:isomorph:sweep.toml",
        "title": "sweep.toml: a matrix of checks",
        "type": "object",
        "additionalProperties": False,
        "anyOf": [{"required": ["models"]}, {"required": ["pairs"]}],
        "properties": {key: described[key] for key in sweep_files.KEYS},
    }


def _tables(table: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": table}


def _table(
    names: Sequence[str],
    meanings: Mapping[str, str],
    *,
    required: Sequence[str] = (),
    kinds: Mapping[str, ValueKind] = projects.OPTIONS,
) -> dict[str, Any]:
    table: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _option(name, meanings, kinds[name]) for name in names},
    }
    return table | ({"required": list(required)} if required else {})


def _option(name: str, meanings: Mapping[str, str], kind: ValueKind) -> dict[str, Any]:
    parts = (meanings.get(name, ""), f"Expected: {kind.expected}.")
    return {**kind.schema, "description": " ".join(part for part in parts if part)}
