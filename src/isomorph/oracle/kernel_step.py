"""A node on named tensors that a kernel computes, with what the kernel knows of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.step import Step
from isomorph.oracle.value import EvalValue

LOOK_UPS = frozenset({"Gather", "GatherElements", "GatherND"})
"""Operators that look a table up, which is not lifted whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStep(Step[str]):
    """One node; ``captured`` is what its bodies read from outside."""

    domain: str
    version: int = 1
    kernel: Kernel | None = None
    captured: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Every tensor it reads, those that its bodies read from outside included."""
        return tuple(name for name in (*self.inputs, *self.captured) if name)

    @abstractmethod
    def output_types(self, dtypes: Sequence[str | None]) -> Sequence[str | None]:
        """The declared types of its outputs, for inputs of these types."""

    def float_type(
        self, dtypes: Sequence[str | None], declared: Sequence[str | None]
    ) -> str | None:
        """The float type that it computes in, from those of its inputs and of its outputs."""
        return next((dtype for dtype in (*dtypes, *declared) if is_float(dtype)), None)

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """The types of the inputs, and the float type that is computed in."""
        dtypes = tuple(value.dtype for value in inputs)
        declared = self.output_types(dtypes)
        call = Call(
            op=self.op,
            domain=self.domain,
            version=self.version,
            attributes=self.attributes,
            outputs=len(self.outputs),
            dtype=self.float_type(dtypes, declared),
            constant=constant,
            input_dtypes=dtypes,
            site=site,
            table=inputs[0].table if inputs else None,
        )
        return call, declared
