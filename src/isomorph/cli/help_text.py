"""The help of a command, out of its signature and its docstring."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from isomorph.cli.parameters import Argument, Option, Parameter
from isomorph.reporters.textwrap import NARROWEST, USUAL

_HELP = ("-h, --help", "Show this message and exit.")
_WIDEST_TERM = 30


def command_help(name: str, docstring: str, parameters: Sequence[Parameter]) -> str:
    """The help of one command."""
    places = [each for each in parameters if isinstance(each.declared, Argument)]
    options = [each for each in parameters if isinstance(each.declared, Option)]
    words = " ".join(_place(each) for each in places)
    parts = [f"Usage: isomorph {name} [OPTIONS] {words}".rstrip(), *_paragraphs(docstring)]
    if places:
        parts.append(_section("Arguments", ((each.label, _description(each)) for each in places)))
    listed = [(_names(each), _description(each)) for each in options]
    parts.append(_section("Options", [*listed, _HELP]))
    return "\n\n".join(parts)


def program_help(
    docstring: str, parameters: Sequence[Parameter], commands: Mapping[str, str]
) -> str:
    """The help of the whole program; ``commands`` has the first line of each one's help."""
    listed = [(_names(each), _description(each)) for each in parameters]
    return "\n\n".join(
        (
            "Usage: isomorph [OPTIONS] COMMAND [ARGS]...",
            *_paragraphs(docstring),
            _section("Options", [*listed, _HELP]),
            _section("Commands", commands.items()),
        )
    )


def _paragraphs(docstring: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(docstring).split("\n\n"):
        yield _wrapped(" ".join(paragraph.split()), indent=2)


def _place(parameter: Parameter) -> str:
    return parameter.label if parameter.required else f"[{parameter.label}]"


def _names(parameter: Parameter) -> str:
    """``-o, --output <path>``, the short name first; ``--locate / --no-locate``."""
    names = ", ".join(sorted(parameter.positive, key=len))
    negative = "".join(f" / {name}" for name in parameter.negative)
    return f"{names}{negative} {parameter.value_word}".rstrip()


def _description(parameter: Parameter) -> str:
    declared, default = parameter.declared, parameter.default
    facts = []
    if isinstance(declared, Option) and declared.least is not None:
        facts.append(
            f"from {declared.least}" + ("" if declared.most is None else f" to {declared.most}")
        )
    if parameter.required and isinstance(declared, Option):
        facts.append("required")
    shown = isinstance(declared, Option) or declared.show_default
    if shown and not parameter.required and default is not None and parameter.kind is not bool:
        facts.append(f"default: {default}")
    return declared.help + (f" [{'; '.join(facts)}]" if facts else "")


def _section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    listed = list(rows)
    width = min(_WIDEST_TERM, max(len(term) for term, _ in listed))
    lines = [f"{title}:"]
    for term, text in listed:
        described = _wrapped(text, indent=width + 4).split("\n")
        if len(term) <= width:
            described[0] = f"  {term.ljust(width)}  {described[0].lstrip()}"
            lines += described
        else:
            lines += [f"  {term}", *described]
    return "\n".join(lines)


def _wrapped(text: str, *, indent: int) -> str:
    columns = min(USUAL, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))
    margin = " " * indent
    return textwrap.fill(
        text,
        max(columns, indent + 20),
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
