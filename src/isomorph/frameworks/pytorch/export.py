"""Example inputs, and exporting a live module with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.frameworks.pytorch.arrays import to_tensor
from isomorph.frameworks.pytorch.silence_logs import quietly


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """What ``forward`` is called with."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Any, ...]:
        """Those given by place, then those given by name."""
        return (*self.args, *self.kwargs.values())

    @classmethod
    def of(cls, given: Any) -> Example:  # noqa: ANN401
        """Positional from a tuple or list, named from a mapping, one from a lone tensor."""
        if isinstance(given, Mapping):
            return cls.named(given)
        if isinstance(given, (tuple, list)):
            return cls(args=tuple(_live(value) for value in given))
        return cls(args=(_live(given),))

    @classmethod
    def named(cls, given: Mapping[str, Any]) -> Example:
        """By parameter name; names that are numbers count places from 0, as no name does."""
        # A .npy file gives its one array without a name.
        places = {name: int(name or 0) for name in given if name.isdigit() or not name}
        return cls(
            args=tuple(_live(given[name]) for name in sorted(places, key=places.__getitem__)),
            kwargs={name: _live(value) for name, value in given.items() if name not in places},
        )


def _live(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, np.ndarray):
        return to_tensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_live(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _live(item) for key, item in value.items()}
    return value


def read_example(path: Path) -> Example:
    """Arrays by parameter name out of an .npz or .safetensors file."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        if is_zip:
            with np.load(path, allow_pickle=False) as arrays:
                return Example.named({name: arrays[name] for name in arrays.files})
        from safetensors.torch import load_file

        return Example.named(load_file(path))
    except Exception as error:  # every reader has its own exceptions
        raise UsageError(
            "INPUTS_UNREADABLE", "the example inputs cannot be read", file=str(path),
            why=str(error), fix="give an .npz or .safetensors file",
        ) from error  # fmt: skip


def export(module: torch.nn.Module, example: Example) -> Any:  # noqa: ANN401
    """The module's ``ExportedProgram``, in the mode (training or not) it is in."""
    try:
        with quietly():
            return torch.export.export(
                module, example.args, kwargs=dict(example.kwargs), strict=False
            )
    except Exception as error:  # tracing runs the user's code, and torch's own checks
        message = " ".join(str(error).split())
        raise UnreadableModelError(
            "NOT_EXPORTABLE",
            f"torch.export cannot follow {type(module).__name__}",
            why=f"{type(error).__name__}: {message[:200]}{_place(error)}",
            fix="replace Python decisions on values by torch.cond or torch.where",
        ) from error


def _place(error: Exception) -> str:
    """Where in the user's own code tracing gave up, from torch's own message."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', str(error))
    own = [frame for frame in frames if "/torch/" not in frame[0]]
    return f" (at {own[-1][0]}:{own[-1][1]})" if own else ""


def export_live(module: torch.nn.Module, example_inputs: Any, folder: Path) -> Path:  # noqa: ANN401
    """Export a live module (or save an exported program) into ``folder``, for a worker to load."""
    exported = module
    if isinstance(module, torch.jit.ScriptModule):
        path = folder / "module.pt"
        with quietly():
            module.save(path)
        return path
    if isinstance(module, torch.nn.Module):
        exported = export(module, Example.of(example_inputs))
    path = folder / "module.pt2"
    with quietly():
        torch.export.save(exported, path)
    return path
