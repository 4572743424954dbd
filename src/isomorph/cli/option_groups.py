"""Groups of command-line options that several commands share, one dataclass per group."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_args, get_type_hints

from isomorph.cli import convert_options
from isomorph.cli import options as cli_options


@dataclass(frozen=True, kw_only=True)
class Flags:
    """A group of options: a dataclass with one field for each."""

    @property
    def options(self) -> dict[str, Any]:
        """The options that the user gave, as keyword arguments of the API.

        The API, or a project file, supplies the others.
        """
        found = {}
        for field, name, parse in _keywords(type(self)):
            value = getattr(self, field.name)
            parsed = value if parse is None else parse(value)
            if value != field.default and parsed is not None and parsed != {}:
                found[name] = parsed
        return found

    @classmethod
    def keywords(cls) -> set[str]:
        """The names of the keyword arguments that the group can set."""
        return {name for _, name, _ in _keywords(cls)}


def _keywords(
    group: type[Flags],
) -> Iterator[tuple[Field[Any], str, Callable[[Any], Any] | None]]:
    """The fields of a group, each with the keyword that it sets and the parser of its value."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        _, declared = get_args(hints[field.name])
        yield field, declared.sets or field.name, declared.parse


def options_of(*groups: Flags) -> dict[str, Any]:
    """The options of several groups, as keyword arguments of the API."""
    return {name: value for group in groups for name, value in group.options.items()}


@dataclass(frozen=True, kw_only=True)
class InputFlags(Flags):
    """Inputs, sizes of dynamic axes and the seed."""

    inputs: cli_options.Inputs = None
    dim: cli_options.Dim = None
    seed: cli_options.Seed = None


@dataclass(frozen=True, kw_only=True)
class RuntimeFlags(Flags):
    """Runtime and settings of a command with one model."""

    runtime: cli_options.RuntimeName = None
    setting: cli_options.OneSetting = None


@dataclass(frozen=True, kw_only=True)
class PairFlags(Flags):
    """Runtimes of both models, and how their inputs and outputs correspond."""

    runtime: cli_options.Runtime = None
    setting: cli_options.Setting = None
    bind_input: cli_options.BindInput = None
    bind_output: cli_options.BindOutput = None
    layout: cli_options.Layout = None
    translation_only: cli_options.TranslationOnly = False


@dataclass(frozen=True, kw_only=True)
class LoadFlags(Flags):
    """Permissions and resources for loading and running models."""

    trust: cli_options.Trust = False
    state: cli_options.State = None
    ops: cli_options.Ops = None
    in_process: cli_options.InProcess = False
    memory: cli_options.Memory = None
    timeout: cli_options.Timeout = None


@dataclass(frozen=True, kw_only=True)
class SampleFlags(Flags):
    """A test set with its metric, sizes to try, and budgets."""

    data: cli_options.Data = None
    metric: cli_options.Metric = None
    dims: cli_options.Sizes = None
    budget: cli_options.Budget = None


@dataclass(frozen=True, kw_only=True)
class RepairFlags(Flags):
    """What a repair may do, and how far it may be off."""

    keep_float: cli_options.KeepFloat = None
    budget: cli_options.Budget = None


@dataclass(frozen=True, kw_only=True)
class CheckFlags(Flags):
    """How far a check goes, and how its result is judged."""

    quick: cli_options.Quick = False
    prove: cli_options.Prove = False
    locate: cli_options.Locate = None
    align: cli_options.Align = None
    quantization: cli_options.Quantization = None
    profile: cli_options.Profile = None
    baseline: cli_options.Baseline = None
    pair: cli_options.Pair = None
    strict: cli_options.Strict = False
    only_given: cli_options.OnlyGiven = False
    decode: cli_options.Decode = None
    cache: cli_options.Cache = None


@dataclass(frozen=True, kw_only=True)
class TargetFlags(Flags):
    """The target of a conversion."""

    to: convert_options.To = None
    quantize: cli_options.Quantize = None
    precision: convert_options.Precision = None


@dataclass(frozen=True, kw_only=True)
class RouteFlags(Flags):
    """How a conversion is made."""

    data: convert_options.CalibrationData = None
    budget: cli_options.Budget = None
    via: convert_options.Via = None
    opset: convert_options.Opset = None
    range_words: convert_options.ConvertRange = None
    repair: convert_options.Repair = False
    keep: convert_options.Keep = False
    translation_only: cli_options.TranslationOnly = False


@dataclass(frozen=True, kw_only=True)
class ConvertLoadFlags(Flags):
    """Sizes to try, permissions and resources of a conversion."""

    dims: cli_options.Sizes = None
    trust: cli_options.Trust = False
    state: cli_options.State = None
    memory: cli_options.Memory = None
    timeout: cli_options.Timeout = None


def expand_options(command: Callable[..., int]) -> Callable[..., int]:
    """Wrap a command so that each field of its dataclass parameters is an option."""
    kinds = get_type_hints(command, include_extras=True)
    taken = inspect.signature(command).parameters
    groups = {name: kinds[name] for name in taken if is_dataclass(kinds[name])}
    if not groups:
        return command

    @wraps(command)
    def expanded(**options: Any) -> int:  # noqa: ANN401
        made = {
            name: kind(**{each.name: options.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**options, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in taken.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=kinds[name]))
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded


def _parameters(kind: type[Flags]) -> list[inspect.Parameter]:
    hints: Mapping[str, Any] = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(kind)
    ]
