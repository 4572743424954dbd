"""The object that PyTorch's own exporters take, and the arguments to call it with."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from isomorph.core.conversion import Order
from isomorph.core.errors import RuntimeFailedError, UnreadableModelError
from isomorph.frameworks.pytorch import load
from isomorph.frameworks.pytorch.export import Example, read_example
from isomorph.frameworks.pytorch.model import TorchModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """``native`` is an exported program, a script or a module; ``module`` can be called."""

    kind: str
    native: Any
    module: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def values(self) -> tuple[Any, ...]:
        """All arguments in the order in which the model takes them."""
        return (*self.args, *self.kwargs.values())


def live(order: Order) -> Live:
    """What the order's source is, opened as far as it may be."""
    options = dict(order.options)
    if load.FACTORY.fullmatch(order.source) and not Path(order.source).exists():
        return _from_factory(order, options)
    model, _ = load.load_file(Path(order.source), {**options, "inputs": order.example})
    values = _by_name(read_example(Path(order.example)))
    if model.kind == "module":
        return _from_module(model.deployed, Example.named(values))
    args, kwargs = model.arguments(values)
    native = model.exported if model.kind == "exported" else model.deployed
    return Live(
        kind=model.kind, native=native, module=_callable(model), args=tuple(args), kwargs=kwargs
    )


def live_program(order: Order, who: str) -> Live:
    """The same, for converters that start from an exported program or a module."""
    given = live(order)
    if given.kind == "script":
        raise RuntimeFailedError(
            "CONVERTER_FAILED",
            f"{who} takes no TorchScript",
            fix="give an exported program (.pt2), or go by way of ONNX: --via onnx",
        )
    return given


class Settled(torch.nn.Module):  # type: ignore[misc]
    """An exported program as a module whose mode nobody can set.

    Training mode is an argument of its operators by now, and exporters that set it all the same
    are refused by torch.
    """

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.training = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """As the program."""
        return self.inner(*args, **kwargs)

    def train(self, mode: bool = True) -> Settled:  # noqa: FBT001 - torch's own signature
        """Stays as it is."""
        return self


def _callable(model: TorchModel) -> Any:  # noqa: ANN401
    return Settled(model.deployed) if model.kind == "exported" else model.deployed


def _by_name(example: Example) -> dict[str, Any]:
    return {**{str(place): value for place, value in enumerate(example.args)}, **example.kwargs}


def _from_factory(order: Order, options: dict[str, str]) -> Live:
    home = options.get("home", "")
    before = os.getcwd()  # noqa: PTH109 - restored as it was
    try:
        if home:
            os.chdir(home)
            sys.path.insert(0, home)
        made = load.call_factory(order.source, options)
    finally:
        os.chdir(before)
    return _from_module(made, Example.named(_by_name(read_example(Path(order.example)))))


def _from_module(module: Any, example: Example) -> Live:  # noqa: ANN401
    if not isinstance(module, torch.nn.Module):
        raise UnreadableModelError(
            "NOT_A_MODEL",
            f"this is a {type(module).__name__}, not a module",
            fix="let the factory return a torch.nn.Module, alone or with its inputs",
        )
    return Live(
        kind="module",
        native=module,
        module=module,
        args=example.args,
        kwargs=example.kwargs,
    )
