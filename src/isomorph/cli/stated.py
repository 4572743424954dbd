"""What several commands let the user state, as dataclasses whose fields are their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from isomorph.cli import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeding:
    """What is fed."""

    inputs: words.Inputs = None
    dim: words.Dim = None
    seed: words.Seed = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(inputs=self.inputs, dims=words.dims(self.dim), seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one model runs."""

    runtime: words.RuntimeName = None
    setting: words.OneSetting = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(runtime=self.runtime, settings=words.settings(self.setting))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Where each of two models runs, and how their signatures belong together."""

    runtime: words.Runtime = None
    setting: words.Setting = None
    bind_input: words.BindInput = None
    bind_output: words.BindOutput = None
    layout: words.Layout = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(
            runtime=words.runtimes(self.runtime),
            settings=words.settings(self.setting),
            bind_inputs=words.bindings("--bind-input", self.bind_input),
            bind_outputs=words.bindings("--bind-output", self.bind_output),
            layouts=words.layouts(self.layout),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What models may do while they are opened and run, and what they are given for it."""

    trust: words.Trust = False
    state: words.State = None
    ops: words.Ops = None
    in_process: words.InProcess = False
    memory: words.Memory = None
    timeout: words.Timeout = None

    @property
    def options(self) -> dict[str, Any]:
        """What was stated, in the words of the API."""
        return given(
            trust=self.trust or None,
            state=self.state,
            ops=self.ops,
            in_process=self.in_process or None,
            memory=words.memory_bytes(self.memory),
            timeout=words.seconds(self.timeout),
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
