"""Command-line options that several commands share, their parsers, and what they set in the API."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from isomorph.cli.parameters import Argument, Option
from isomorph.core.budgets import is_budget
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.core.runtime_word import SEPARATOR

SIDES = ("reference", "candidate")
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def runtimes(words: Sequence[str] | None) -> str | dict[str, str] | None:
    """``NAME`` for every side, or ``reference=NAME`` and ``candidate=NAME`` for one each."""
    by_side: dict[str, str] = {}
    for word in words or ():
        side, equals, name = word.partition("=")
        if not equals or SEPARATOR in side:  # the path of an environment may hold an equals sign
            side, name = "", word
            equals = ""
        if (equals and side not in SIDES) or not name or side in by_side:
            raise _bad("--runtime", word, "runtime")
        by_side[side] = name
    if not by_side:
        return None
    if set(by_side) == {""}:
        return by_side[""]
    everywhere = by_side.pop("", None)
    return {side: everywhere for side in SIDES if everywhere} | by_side


def settings(words: Sequence[str] | None) -> dict[str, str]:
    """``key=value``, ``candidate.key=value`` or ``oracle.key=value``; a runtime knows its keys."""
    return _assignments("--set", words, "setting")


def bindings(flag: str, words: Sequence[str] | None) -> dict[str, str]:
    """The reference's name for each of the candidate's that a user bound by hand."""
    return _assignments(flag, words, "binding")


def dims(words: Sequence[str] | None) -> dict[str, int]:
    """A size for each named axis; zero is a size."""
    sizes: dict[str, int] = {}
    for axis, size in _assignments("--dim", words, "dim", last=True).items():
        if not (size.isascii() and size.isdigit()):
            raise _bad("--dim", f"{axis}={size}", "dim")
        sizes[axis] = int(size)
    return sizes


def sizes(words: Sequence[str] | None) -> dict[str, tuple[int, ...]] | None:
    """Sizes to try for each named axis; None without ``--dims``."""
    tried: dict[str, tuple[int, ...]] = {}
    for axis, given in _assignments("--dims", words, "dims", last=True).items():
        if not re.fullmatch(r"\d+(,\d+)*", given, re.ASCII):
            raise _bad("--dims", f"{axis}={given}", "dims")
        tried[axis] = tuple(int(size) for size in given.split(","))
    return tried or None


def layouts(words: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """The order in which the candidate's input takes the reference's axes."""
    orders: dict[str, tuple[int, ...]] = {}
    for name, order in _assignments("--layout", words, "layout", last=True).items():
        if not re.fullmatch(r"\d+(,\d+)*", order):
            raise _bad("--layout", f"{name}={order}", "layout")
        orders[name] = tuple(int(axis) for axis in order.split(","))
    return orders


def budgets(words: Sequence[str] | None) -> dict[str, float]:
    """An absolute budget by output name; under the empty name, for every other output."""
    stated: dict[str, float] = {}
    for word in words or ():
        name, _, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not is_budget(value) or name in stated:
            raise _bad("--budget", word, "budget")
        stated[name] = value
    return stated


def ranges(words: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """The least and largest number of an input by its name; without a name, of all others."""
    stated: dict[str, tuple[float, float]] = {}
    for word in words or ():
        name, _, pair = word.rpartition("=")
        try:
            low, high = (float(number) for number in pair.split(":"))
        except ValueError:
            low = high = math.nan
        if not (math.isfinite(low) and math.isfinite(high) and low <= high) or name in stated:
            raise _bad("--range", word, "range")
        stated[name] = low, high
    return stated


def memory_bytes(word: str | None) -> int | None:
    """``4GiB``, ``512M`` or plain bytes; a unit without the i is a power of 1000."""
    if word is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", word.strip().lower())
    if match is None or float(match[1]) == 0:
        raise _bad("--memory", word, "memory")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** _UNITS[match[2] or ""])


def seconds(value: float | None) -> float | None:
    """The timeout, if it is a positive number."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise _bad("--timeout", str(value), "timeout")
    return value


def separated(words: Sequence[str] | None) -> tuple[str, ...]:
    """The parts of every word, which commas separate."""
    return tuple(part for word in words or () for part in word.split(",") if part)


def float_count(word: str | None) -> str | None:
    """How many nodes stay in float: a number, or ``auto``."""
    if word is not None and word != "auto" and not (word.isascii() and word.isdigit()):
        raise error_of(UsageError, "BAD_COUNT.keep_float", word=word)
    return word


def require_choice(flag: str, word: str, known: Sequence[str]) -> str:
    """The value, if it is one of the known ones."""
    if word not in known:
        names = ", ".join(known)
        raise error_of(UsageError, "BAD_OPTION.choice", flag=flag, word=word, known=names)
    return word


def _assignments(
    flag: str, words: Sequence[str] | None, shape: str, *, last: bool = False
) -> dict[str, str]:
    read: dict[str, str] = {}
    for word in words or ():
        key, equals, value = word.rpartition("=") if last else word.partition("=")
        if not equals or not key or key in read:
            raise _bad(flag, word, shape)
        read[key] = value
    return read


def _bad(flag: str, word: str, shape: str) -> UsageError:
    """The error for a value that is not written in the shape of this name."""
    expected = message(f"EXPECTED.{shape}")
    return error_of(UsageError, "BAD_OPTION.word", flag=flag, word=word, expected=expected)


ModelWord = Annotated[
    str, Argument(metavar="MODEL", help="A model file, or package.module:factory with --trust.")
]
Inputs = Annotated[
    Path | None,
    Option("--inputs", help="Arrays by input name: .npz, .npy, .safetensors, or a JSON report's."),
]
Runtime = Annotated[
    list[str] | None,
    Option(
        "--runtime",
        metavar="[SIDE=]NAME",
        help="Run here instead of the usual runtime.",
        parse=runtimes,
    ),
]
RuntimeName = Annotated[
    str | None, Option("--runtime", metavar="NAME", help="Instead of the usual runtime.")
]
Setting = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="[SIDE.]KEY=VALUE",
        help="A setting of the runtime; repeatable.",
        sets="settings",
        parse=settings,
    ),
]
OneSetting = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the runtime; repeatable.",
        sets="settings",
        parse=settings,
    ),
]
Dim = Annotated[
    list[str] | None,
    Option(
        "--dim", metavar="AXIS=SIZE", help="The size of a dynamic axis.", sets="dims", parse=dims
    ),
]
Sizes = Annotated[
    list[str] | None,
    Option(
        "--dims",
        metavar="AXIS=SIZE,…",
        help="Further sizes of a dynamic axis to try.",
        sets="sizes",
        parse=sizes,
    ),
]
Budget = Annotated[
    list[str] | None,
    Option(
        "--budget", metavar="[OUTPUT=]NUMBER", help="An absolute budget of your own.", parse=budgets
    ),
]
Range = Annotated[
    list[str] | None,
    Option("--range", metavar="[INPUT=]LOW:HIGH", help="The numbers that an input may hold."),
]
BindInput = Annotated[
    list[str] | None,
    Option(
        "--bind-input",
        metavar="REF=CAND",
        help="These two inputs are the same.",
        sets="bind_inputs",
        parse=lambda words: bindings("--bind-input", words),
    ),
]
BindOutput = Annotated[
    list[str] | None,
    Option(
        "--bind-output",
        metavar="REF=CAND",
        help="These two outputs are the same.",
        sets="bind_outputs",
        parse=lambda words: bindings("--bind-output", words),
    ),
]
Layout = Annotated[
    list[str] | None,
    Option(
        "--layout",
        metavar="NAME=AXES",
        help="How the candidate orders a tensor's axes.",
        sets="layouts",
        parse=layouts,
    ),
]
Seed = Annotated[
    int | None, Option("--seed", min=0, help="Seed of every random choice; without it, 0.")
]
Trust = Annotated[
    bool, Option("--trust", help="Allow files and factories that run code when opened.")
]
State = Annotated[Path | None, Option("--state", help="Weights (safetensors) for a factory.")]
Ops = Annotated[
    list[str] | None,
    Option("--ops", metavar="MODULE", help="What custom operators mean (isomorph.op); --trust."),
]
InProcess = Annotated[bool, Option("--in-process", help="No worker processes: for debugging only.")]
Memory = Annotated[
    str | None,
    Option(
        "--memory", metavar="SIZE", help="Most memory per worker, as in 4GiB.", parse=memory_bytes
    ),
]
Timeout = Annotated[
    float | None,
    Option(
        "--timeout",
        metavar="SECONDS",
        help="Most time of a worker for one run of a model; time without a core does not count.",
        parse=seconds,
    ),
]
ReportFormat = Annotated[
    str | None,
    Option("--format", help="html, json, junit, sarif, …; without it, by the output's suffix."),
]
Output = Annotated[Path | None, Option("--output", "-o", help="Write the report to this file.")]
Folder = Annotated[
    Path, Option("--output", "-o", metavar="DIR", help="The folder to write; a new one.")
]
Debug = Annotated[bool, Option("--debug", help="Show a traceback when something fails.")]
Data = Annotated[
    Path | None,
    Option("--data", help="Many samples: a folder of array files, or one with a sample axis."),
]
Metric = Annotated[
    str | None,
    Option(
        "--metric",
        metavar="MODULE:FUNCTION",
        help="Your own measure (outputs, sample) → number, over --data; with --trust.",
    ),
]
Locate = Annotated[
    bool | None,
    Option(
        "--locate/--no-locate",
        help="Name the faulty nodes of a divergence, which is the default, or do not.",
    ),
]
Align = Annotated[
    bool | None,
    Option(
        "--align/--no-align",
        help="Pair every tensor of the two graphs; without it, where faulty nodes are sought.",
    ),
]
Quantization = Annotated[
    bool | None,
    Option(
        "--quantization/--no-quantization",
        help="Measure every quantized tensor, or none; without it, up to a few hundred.",
    ),
]
Profile = Annotated[
    bool | None,
    Option(
        "--profile/--no-profile",
        help="Keep the error of every node, for a page; html does, json where it localizes.",
    ),
]
Baseline = Annotated[
    Path | None, Option("--baseline", help="Divergences that were accepted (isomorph accept).")
]
Pair = Annotated[
    str | None, Option("--pair", help="The name under which the baseline knows these two.")
]
Strict = Annotated[bool, Option("--strict", help="Exit 1 for a fault that rounding hides, too.")]
Quick = Annotated[
    bool,
    Option("--quick", help="Compare the outputs only: no faulty nodes, weights or other inputs."),
]
Prove = Annotated[
    bool,
    Option(
        "--prove",
        help="Prove as well that the outputs agree on every input of these shapes.",
    ),
]
Decode = Annotated[
    int | None,
    Option(
        "--decode",
        metavar="N",
        min=1,
        help="Decode N tokens with the caches, and compare every step; --inputs is the prompt.",
    ),
]
Cache = Annotated[
    list[str] | None,
    Option(
        "--cache",
        metavar="IN=OUT",
        help="This output of a decoder is this input at the next step.",
        sets="caches",
        parse=lambda words: _assignments("--cache", words, "cache"),
    ),
]
OnlyGiven = Annotated[
    bool, Option("--only-given", help="Ask about the given inputs alone, not the whole function.")
]
TranslationOnly = Annotated[
    bool,
    Option(
        "--translation-only",
        help="Ask about the graphs alone where this machine cannot run a model.",
    ),
]
Quantize = Annotated[
    str | None,
    Option("--quantize", metavar="WIDTH", help="float16, dynamic, int8, int16x8 or palettized."),
]
KeepFloat = Annotated[
    str | None,
    Option(
        "--keep-float",
        metavar="N|auto",
        help="Keep the worst N nodes of a quantized candidate in float, or as few as needed.",
        parse=float_count,
    ),
]
