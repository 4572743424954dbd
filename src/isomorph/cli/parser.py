"""Reading the words of a command line into the arguments of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isomorph.cli.parameters import Argument, Option, Parameter
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError

HELP = ("-h", "--help")


class HelpAsked(Exception):  # noqa: N818 - not an error
    """The words ask for the help."""


def parse(words: Sequence[str], parameters: Sequence[Parameter], *, program: str) -> dict[str, Any]:
    """The arguments of the command by name; raises ``HelpAsked`` where the help is asked for.

    Options may stand anywhere; behind ``--`` every word is an argument. An error points to the
    help of ``program``.
    """
    try:
        return _parsed(words, parameters)
    except _WrongWordsError as error:
        page = f"{program} {HELP[-1]}"
        raise error_of(UsageError, error.key, help=page, **error.facts) from None


class _WrongWordsError(Exception):
    """An error of the words of a command, by its key; the command adds where its help is."""

    def __init__(self, key: str, **facts: Any) -> None:  # noqa: ANN401
        self.key, self.facts = key, facts


def _parsed(words: Sequence[str], parameters: Sequence[Parameter]) -> dict[str, Any]:
    options = _by_name(parameters)
    values: dict[str, Any] = {}
    places: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            places += left
            break
        if not word.startswith("-") or word == "-":
            places.append(word)
            continue
        name, value = _split(word)
        if name in HELP:
            if value is not None:
                raise _WrongWordsError("USAGE.no_value", name=name)
            raise HelpAsked
        _take(name, value, left, options, values)
    values |= _placed(places, [each for each in parameters if isinstance(each.declared, Argument)])
    return values | _defaults(parameters, values)


def _by_name(parameters: Sequence[Parameter]) -> dict[str, tuple[Parameter, bool]]:
    """Every name of an option, and whether it turns a flag on."""
    known = [each for each in parameters if isinstance(each.declared, Option)]
    on = {name: (each, True) for each in known for name in each.positive}
    return on | {name: (each, False) for each in known for name in each.negative}


def _split(word: str) -> tuple[str, str | None]:
    """Name and value of ``--name=value`` and ``-nvalue``; None where the value is the next word."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:] or None


def _take(
    name: str,
    value: str | None,
    left: list[str],
    options: Mapping[str, tuple[Parameter, bool]],
    values: dict[str, Any],
) -> None:
    """Put one option into ``values``; its value may be the first of the words ``left``."""
    if name not in options:
        near = _similar(name, options)
        if near:
            raise _WrongWordsError("USAGE.option_near", name=name, near=near)
        raise _WrongWordsError("USAGE.option", name=name)
    parameter, on = options[name]
    if parameter.kind is bool:
        if value is not None:
            raise _WrongWordsError("USAGE.no_value", name=name)
        values[parameter.name] = on
        return
    if value is None:
        if not left:
            raise _WrongWordsError("USAGE.value_missing", name=name)
        value = left.pop(0)
    read = _converted(value, parameter, name)
    if parameter.several:
        values.setdefault(parameter.name, []).append(read)
    else:
        values[parameter.name] = read


def _converted(value: str, parameter: Parameter, name: str) -> Any:  # noqa: ANN401
    try:
        read = parameter.kind(value)
    except ValueError:
        key = "USAGE.integer" if parameter.kind is int else "USAGE.number"
        raise _WrongWordsError(key, name=name, value=value) from None
    declared = parameter.declared
    if isinstance(declared, Option):
        least, most = declared.least, declared.most
        if (least is not None and read < least) or (most is not None and read > most):
            key = "USAGE.least" if most is None else "USAGE.range"
            raise _WrongWordsError(key, name=name, value=value, least=least, most=most)
    return read


def _placed(places: Sequence[str], arguments: Sequence[Parameter]) -> dict[str, Any]:
    if len(places) > len(arguments):
        extra = " ".join(places[len(arguments) :])
        raise _WrongWordsError("USAGE.too_many", words=extra)
    return {
        each.name: _converted(word, each, each.label)
        for word, each in zip(places, arguments, strict=False)
    }


def _defaults(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    absent = [each for each in parameters if each.name not in values]
    for each in absent:
        if each.required:
            raise _WrongWordsError("USAGE.argument", label=each.label)
    return {each.name: each.default for each in absent}


def _similar(name: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=3)
    return " or ".join(near)
