"""How a command declares its parameters: ``name: Annotated[type, Option("--name")] = default``.

A parser of our own: importing one that does more takes longer than most commands.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

_WORDS = {int: "<int>", float: "<float>", Path: "<path>", str: "<str>"}


class Option:
    """An option by its names: ``--seed``, ``--output`` and ``-o``, ``--locate/--no-locate``.

    ``sets`` is the keyword of the API that it sets, where that is not the name of the parameter,
    and ``parse`` makes the value of the keyword from that of the option.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - as in other parsers
        metavar: str | None = None,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
        sets: str | None = None,
        parse: Callable[[Any], Any] | None = None,
    ) -> None:
        self.names, self.help, self.metavar = names, help, metavar
        self.least, self.most = min, max
        self.sets, self.parse = sets, parse


class Argument:
    """An argument that is known by its place."""

    def __init__(
        self,
        *,
        metavar: str,
        help: str,  # noqa: A002
        show_default: bool = True,
    ) -> None:
        self.metavar, self.help, self.show_default = metavar, help, show_default


class Parameter(NamedTuple):
    """One parameter of a command."""

    name: str
    """The name in the signature of the function."""
    kind: type
    """bool, int, float, Path or str."""
    several: bool
    """Whether the option may be repeated."""
    default: Any
    declared: Option | Argument

    @property
    def required(self) -> bool:
        """Whether the command cannot do without it."""
        return self.default is inspect.Parameter.empty

    @property
    def positive(self) -> tuple[str, ...]:
        """The names that give a value, or turn a flag on."""
        assert isinstance(self.declared, Option)
        return tuple(name.partition("/")[0] for name in self.declared.names)

    @property
    def negative(self) -> tuple[str, ...]:
        """The names that turn a flag off."""
        assert isinstance(self.declared, Option)
        return tuple(name.partition("/")[2] for name in self.declared.names if "/" in name)

    @property
    def value_word(self) -> str:
        """What stands for its value in the help; empty for a flag."""
        if self.kind is bool:
            return ""
        return self.declared.metavar or _WORDS[self.kind]

    @property
    def label(self) -> str:
        """What an error calls it."""
        if isinstance(self.declared, Argument):
            return self.declared.metavar
        return self.positive[0]


def parameters_of(command: Callable[..., int]) -> tuple[Parameter, ...]:
    """The parameters that the signature of a command declares."""
    kinds = get_type_hints(command, include_extras=True)
    return tuple(
        _parameter(name, kinds[name], parameter.default)
        for name, parameter in inspect.signature(command).parameters.items()
    )


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:  # noqa: ANN401
    kind, declared = get_args(annotation)
    if get_origin(kind) is types.UnionType:
        (kind,) = (each for each in get_args(kind) if each is not types.NoneType)
    several = get_origin(kind) is list
    if several:
        (kind,) = get_args(kind)
    return Parameter(name=name, kind=kind, several=several, default=default, declared=declared)
