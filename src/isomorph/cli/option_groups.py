"""Groups of command-line options that several commands share, one dataclass per group."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from isomorph.api.options import CheckOptions, Limits, PairOptions, RuntimeOptions
from isomorph.cli import options as cli_options

_KEYWORDS = ("inputs", "data", "dims", "budget", "seed", "trust", "in_process")
"""What the verbs take as keywords of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFlags:
    """Inputs, sizes of dynamic axes and the seed."""

    inputs: cli_options.Inputs = None
    dim: cli_options.Dim = None
    seed: cli_options.Seed = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that the user gave, as keyword arguments of the API."""
        return given(inputs=self.inputs, dims=cli_options.dims(self.dim), seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFlags:
    """Runtime and settings of a command with one model."""

    runtime: cli_options.RuntimeName = None
    setting: cli_options.OneSetting = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that the user gave, as keyword arguments of the API."""
        return given(runtime=self.runtime, settings=cli_options.settings(self.setting))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFlags:
    """Runtimes of both models, and how their inputs and outputs correspond."""

    runtime: cli_options.Runtime = None
    setting: cli_options.Setting = None
    bind_input: cli_options.BindInput = None
    bind_output: cli_options.BindOutput = None
    layout: cli_options.Layout = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that the user gave, as keyword arguments of the API."""
        return given(
            runtime=cli_options.runtimes(self.runtime),
            settings=cli_options.settings(self.setting),
            bind_inputs=cli_options.bindings("--bind-input", self.bind_input),
            bind_outputs=cli_options.bindings("--bind-output", self.bind_output),
            layouts=cli_options.layouts(self.layout),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFlags:
    """Permissions and resources for loading and running models."""

    trust: cli_options.Trust = False
    state: cli_options.State = None
    ops: cli_options.Ops = None
    in_process: cli_options.InProcess = False
    memory: cli_options.Memory = None
    timeout: cli_options.Timeout = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that the user gave, as keyword arguments of the API."""
        return given(
            trust=self.trust or None,
            state=self.state,
            ops=self.ops,
            in_process=self.in_process or None,
            memory=cli_options.memory_bytes(self.memory),
            timeout=cli_options.seconds(self.timeout),
        )


def arguments(
    kind: type[CheckOptions | PairOptions | RuntimeOptions], stated: Mapping[str, Any]
) -> dict[str, Any]:
    """The stated options as keywords of a verb, grouped in the ``kind`` of options it takes."""
    left = dict(stated)
    keywords = {name: left.pop(name) for name in _KEYWORDS if name in left}
    limits = Limits(**{name: left.pop(name) for name in ("memory", "timeout") if name in left})
    loading = {name: left.pop(name) for name in ("settings", "state", "ops") if name in left}
    runtime = RuntimeOptions(name=left.pop("runtime", None), limits=limits, **loading)
    if issubclass(kind, RuntimeOptions):
        return {**keywords, "options": runtime}
    return {**keywords, "options": kind(runtime=runtime, **left)}


def given(**options: Any) -> dict[str, Any]:  # noqa: ANN401
    """The options that have a value; the API or a project file supplies the others."""
    return {name: value for name, value in options.items() if value is not None and value != {}}


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


def _parameters(kind: Any) -> list[inspect.Parameter]:  # noqa: ANN401
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
