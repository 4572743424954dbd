"""``isomorph explain``: what a cause or a code means, how it is recognized, what to do."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option

SCHEMAS = ("report", "repair", "isomorph.toml", "sweep.toml")


def explain(
    word: Annotated[
        str | None, Argument(metavar="CAUSE|CODE", help="A word of a report: attribute, TIMEOUT.")
    ] = None,
    *,
    every: Annotated[bool, Option("--list", help="Every word with its first sentence.")] = False,
    schema: Annotated[
        str | None,
        Option("--schema", metavar="NAME", help=f"Print a JSON Schema: {', '.join(SCHEMAS)}."),
    ] = None,
    agents: Annotated[
        bool,
        Option("--agents", help="Print a guide for coding agents, for AGENTS.md of a repository."),
    ] = False,
    debug: options.Debug = False,
) -> int:
    """What a cause or a code means, and what to do about it.

    Without a word, every word with its first sentence.

    Exit codes: 0 explained, 2 an unknown word.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.reporters.explanation_text import index_line, lines

    if schema is not None:
        write(_schema(schema), None)
        return 0
    if agents:
        from isomorph.reporters.agents_guide import agents_guide

        write(agents_guide(), None)
        return 0
    if every or word is None:
        write("\n".join(map(index_line, api.explain())), None)
        return 0
    write("\n".join(lines(*api.explain(word))), None)
    return 0


def _schema(name: str) -> str:
    """A JSON Schema that ships, by the word for what it describes."""
    from isomorph.reporters.json import schema_text
    from isomorph.store.settings_schemas import settings_schema_text

    options.require_choice("--schema", name, SCHEMAS)
    return settings_schema_text(name) if name.endswith(".toml") else schema_text(name)
