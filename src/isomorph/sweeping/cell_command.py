"""The words of the command line that run one cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.sweep import Verb

if TYPE_CHECKING:
    from isomorph.core.sweep import Cell


def command_words(cell: Cell, made: str = "made") -> list[str]:
    """``check REFERENCE CANDIDATE`` with every option of the cell.

    ``made`` is where a conversion writes its result, which nobody keeps.
    """
    models = [cell.reference, made if cell.verb is Verb.CONVERT else cell.candidate]
    words = [str(cell.verb), *(each for each in models if each), f"--seed={cell.seed}"]
    for name, value in cell.options.items():
        if name not in _WORDS:
            raise UsageError("CONFIG_INVALID", f"a cell of a sweep knows no option {name!r}")
        words += _WORDS[name](value)
    return words


def _single(flag: str) -> Callable[[Any], list[str]]:
    return lambda value: [f"{flag}={value}"]


def _switch(flag: str) -> Callable[[Any], list[str]]:
    return lambda value: [flag] if value else []


def _each(flag: str, shown: Callable[[Any], str] = str) -> Callable[[Any], list[str]]:
    """``--flag=KEY=VALUE`` for each entry of a table, or ``--flag=VALUE``."""

    def words(value: Any) -> list[str]:  # noqa: ANN401
        if not isinstance(value, Mapping):
            return [f"{flag}={shown(value)}"]
        return [f"{flag}={key}={shown(each)}" for key, each in value.items()]

    return words


def _axes(order: Any) -> str:  # noqa: ANN401
    return ",".join(str(axis) for axis in order)


def _number(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value)


_WORDS: Mapping[str, Callable[[Any], list[str]]] = {
    "inputs": _single("--inputs"),
    "data": _single("--data"),
    "metric": _single("--metric"),
    "state": _single("--state"),
    "runtime": _each("--runtime"),
    "settings": _each("--set"),
    "dims": _each("--dim"),
    "budget": _each("--budget", _number),
    "layouts": _each("--layout", _axes),
    "bind_inputs": _each("--bind-input"),
    "bind_outputs": _each("--bind-output"),
    "decode": _single("--decode"),
    "caches": _each("--cache"),
    "strict": _switch("--strict"),
    "only_given": _switch("--only-given"),
    "trust": _switch("--trust"),
    "quick": _switch("--quick"),
    "prove": _switch("--prove"),
    "translation_only": _switch("--translation-only"),
    "locate": lambda value: ["--locate" if value else "--no-locate"],
    "memory": _single("--memory"),
    "timeout": _single("--timeout"),
    "to": _single("--to"),
    "quantize": _single("--quantize"),
    "precision": _single("--precision"),
    "via": lambda value: [f"--via={','.join(value)}"],
    "opset": _single("--opset"),
    "repair": _switch("--repair"),
}


def option_words() -> Iterator[str]:
    """The options that a cell may have."""
    yield from _WORDS
