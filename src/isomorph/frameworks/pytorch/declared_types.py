"""The declared types of values where the file does not state them (TorchScript).

A lifted tensor is float64 whatever it is declared as, so its type is kept beside it, by
identity: branches and loops hand tensors on under other names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from isomorph.frameworks.pytorch.arrays import FLOATS, is_float
from isomorph.frameworks.pytorch.program import Program, Step, replace_refs


class Declared:
    """What type each value of one run has in the model."""

    def __init__(self) -> None:
        self._found: Any = WeakIdKeyDictionary()

    def of(self, program: Program, name: str, value: Any) -> torch.dtype | None:  # noqa: ANN401
        """As the file states it, or as it was found; a lifted float of unknown origin: float32."""
        spec = program.specs.get(name)
        if spec is not None and spec.dtype is not None:
            return spec.dtype
        if not isinstance(value, torch.Tensor):
            return None
        found = self._found.get(value)
        if found is None and value.dtype == torch.float64:
            return torch.float32
        return value.dtype if found is None else found

    def note(self, value: Any, dtype: torch.dtype | None) -> None:  # noqa: ANN401
        """Remember the type of one value."""
        if isinstance(value, torch.Tensor) and dtype in FLOATS:
            self._found[value] = dtype

    def outputs(
        self, program: Program, step: Step, values: Mapping[str, Any]
    ) -> tuple[torch.dtype | None, ...]:
        """The types of a step's outputs; the operator is asked with empty tensors if need be."""
        specs = [program.specs.get(name) for name in step.outputs]
        stated = tuple(spec.dtype if spec is not None else None for spec in specs)
        if step.bodies or all(
            spec is not None and (spec.dtype is not None or spec.kind in {"int", "float", "bool"})
            for spec in specs
        ):
            return stated
        return self._asked(program, step, values)

    def _asked(
        self, program: Program, step: Step, values: Mapping[str, Any]
    ) -> tuple[torch.dtype | None, ...]:
        def empty(name: str) -> Any:  # noqa: ANN401
            value = values[name]
            if isinstance(value, (list, tuple)):
                return [self._empty(program, name, item) for item in value]
            return self._empty(program, name, value)

        try:
            arguments = replace_refs(step.args, empty)
            result = step.target(*arguments, **replace_refs(step.kwargs, empty))  # type: ignore[operator]
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            # Some operators need values to know a shape; their floats are what their inputs are.
            floats = [name for name in step.needs if is_float(values[name])]
            known = self.of(program, floats[0], values[floats[0]]) if floats else None
            return (known,) * len(step.outputs)
        listed = list(result) if step.listed and isinstance(result, (list, tuple)) else [result]
        return tuple(getattr(value, "dtype", None) for value in listed)

    def _empty(self, program: Program, name: str, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, torch.Tensor):
            return value
        dtype = self.of(program, name, value) if is_float(value) else value.dtype
        return torch.empty_like(value, dtype=dtype, device="meta")
