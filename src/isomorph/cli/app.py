"""The command line: one command per file, imported when it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated

from isomorph.cli.parameters import Option, parameters_of
from isomorph.cli.parser import HelpAsked, parse
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.version import VERSION

COMMANDS: Mapping[str, str] = {
    "check": "Are these two models the same function? If not: where and why.",
    "prove": "Are these two models the same function for every input of these shapes?",
    "sweep": "Check many models in many environments; cells that are done are not done again.",
    "bisect": "Find the release, optimizer, operator set or pass that changed a verdict.",
    "accept": "Record an examined divergence: who accepts it, why, until when.",
    "fix": "Repair the candidate, and measure that the repair is right.",
    "convert": "Convert a model to another format, and check every step.",
    "lint": "Find what stands in the way of a conversion, without running the model.",
    "ranges": "Bound every tensor for all inputs of given ranges.",
    "stress": "Search for the input on which two models differ most.",
    "run": "Run a model and show what came out; keep it with --output.",
    "trace": "Record a run with all its tensors, to compare it elsewhere.",
    "extract": "Cut the faulty node out of both models, for a bug report.",
    "inspect": "Show what a model file holds: inputs, outputs, operators, weights.",
    "diff": "What differs between two models by their structure, or between two reports.",
    "report": "Show a report again: as a page, as text, for another tool.",
    "view": "Look at reports in the browser; of a folder, compare any two.",
    "explain": "What a cause or a code means, and what to do about it.",
    "completion": "Print a script that completes commands, options and files in a shell.",
    "doctor": "What is installed, does it work, what to install for what is missing.",
    "demo": "Convert a network twice, once with a fault; check both.",
}
"""The commands in the order of the help, each with the first sentence of its docstring, so that
the help imports none of them."""


def app(words: Sequence[str]) -> int:
    """Run the command that the words name; its exit code."""
    place = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    try:
        stated = parse(words[:place], parameters_of(isomorph), program="isomorph")
    except HelpAsked:
        return _show_help(0)
    if stated["version"]:
        _show(f"isomorph {VERSION}")
        return 0
    if place == len(words):
        # A call without a command is wrong use: show the help and exit 2.
        return _show_help(2)
    return _run(words[place], words[place + 1 :])


def isomorph(
    version: Annotated[bool, Option("--version", help="Show the version.")] = False,
    debug: Annotated[
        bool, Option("--debug", help="Show a traceback when something fails.")
    ] = False,
) -> int:
    """Is the converted model still the same function? If not: which node, why, what repairs it."""
    return 0


def command(name: str) -> Callable[..., int]:
    """The function of a command, with each option as a parameter of its own."""
    from isomorph.cli.option_groups import expand_options

    return expand_options(getattr(import_module(f"isomorph.cli.{name}"), name))


def _run(name: str, words: Sequence[str]) -> int:
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        if near:
            raise error_of(UsageError, "USAGE.command_near", name=name, near=near[0])
        raise error_of(UsageError, "USAGE.command", name=name)
    function = command(name)
    parameters = parameters_of(function)
    try:
        stated = parse(words, parameters, program=f"isomorph {name}")
    except HelpAsked:
        from isomorph.cli.help_text import command_help

        _show(command_help(name, function.__doc__ or "", parameters))
        return 0
    return function(**stated)


def _show_help(code: int) -> int:
    from isomorph.cli.help_text import program_help

    text = program_help(isomorph.__doc__ or "", parameters_of(isomorph), COMMANDS)
    _show(f"{text}\n\n{message('HELP.begin')}")
    return code


def _show(text: str) -> None:
    from isomorph.cli.output import write

    write(text, None)
