"""What several commands let the user state, as dataclasses whose fields are their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from isomorph.cli import options as cli_options


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeding:
    """What is fed."""

    inputs: cli_options.Inputs = None
    dim: cli_options.Dim = None
    seed: cli_options.Seed = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(inputs=self.inputs, dims=cli_options.dims(self.dim), seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one model runs."""

    runtime: cli_options.RuntimeName = None
    setting: cli_options.OneSetting = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(runtime=self.runtime, settings=cli_options.settings(self.setting))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Where each of two models runs, and how their signatures belong together."""

    runtime: cli_options.Runtime = None
    setting: cli_options.Setting = None
    bind_input: cli_options.BindInput = None
    bind_output: cli_options.BindOutput = None
    layout: cli_options.Layout = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(
            runtime=cli_options.runtimes(self.runtime),
            settings=cli_options.settings(self.setting),
            bind_inputs=cli_options.bindings("--bind-input", self.bind_input),
            bind_outputs=cli_options.bindings("--bind-output", self.bind_output),
            layouts=cli_options.layouts(self.layout),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What models may do while they are opened and run, and what they are given for it."""

    trust: cli_options.Trust = False
    state: cli_options.State = None
    ops: cli_options.Ops = None
    in_process: cli_options.InProcess = False
    memory: cli_options.Memory = None
    timeout: cli_options.Timeout = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(
            trust=self.trust or None,
            state=self.state,
            ops=self.ops,
            in_process=self.in_process or None,
            memory=cli_options.memory_bytes(self.memory),
            timeout=cli_options.seconds(self.timeout),
        )


def given(**options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Those that say something: the rest is left to the API, or to a project file."""
    return {name: value for name, value in options.items() if value is not None and value != {}}


def spread(command: Callable[..., int]) -> Callable[..., int]:
    """The command with an option for each field of the dataclasses that it takes."""
    kinds = get_type_hints(command, include_extras=True)
    taken = inspect.signature(command).parameters
    gathered = {name: kinds[name] for name in taken if is_dataclass(kinds[name])}
    if not gathered:
        return command

    @wraps(command)
    def spelled(**options: Any) -> int:  # noqa: ANN401
        made = {
            name: kind(**{each.name: options.pop(each.name) for each in fields(kind)})
            for name, kind in gathered.items()
        }
        return command(**options, **made)

    shown: list[inspect.Parameter] = []
    for name, parameter in taken.items():
        if name in gathered:
            shown += _parameters(gathered[name])
        else:
            shown.append(parameter.replace(annotation=kinds[name]))
    spelled.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    spelled.__annotations__ = {each.name: each.annotation for each in shown}
    return spelled


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
