"""The declared types of values where the file does not state them (TorchScript)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from isomorph.native.torch_arrays import is_float
from isomorph.native.torch_program import Program, Step, replace_refs


def declare(
    program: Program, step: Step, values: Mapping[str, Any], tags: dict[str, torch.dtype]
) -> None:
    """Find the types of a step's outputs by asking the operator about empty tensors."""
    if step.bodies or all(_is_declared(program, name) for name in step.outputs):
        return

    def empty(name: str) -> Any:  # noqa: ANN401
        value = values[name]
        if not isinstance(value, torch.Tensor):
            return value
        spec = program.specs.get(name)
        declared = spec.dtype if spec is not None and spec.dtype is not None else tags.get(name)
        dtype = declared if is_float(value) and declared is not None else value.dtype
        return torch.empty_like(value, dtype=dtype, device="meta")

    try:
        arguments = replace_refs(step.args, empty)
        named = replace_refs(step.kwargs, empty)
        result = step.target(*arguments, **named)  # type: ignore[operator]
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        # Some operators need values to know a shape; their floats are what their inputs are.
        floats = [tags[name] for name in step.needs if name in tags]
        tags.update(dict.fromkeys(step.outputs, floats[0]) if floats else {})
        return
    listed = list(result) if step.listed and isinstance(result, (list, tuple)) else [result]
    for name, value in zip(step.outputs, listed, strict=False):
        if isinstance(value, torch.Tensor):
            tags[name] = value.dtype


def _is_declared(program: Program, name: str) -> bool:
    spec = program.specs.get(name)
    return spec is not None and (spec.dtype is not None or spec.kind != "tensor")
