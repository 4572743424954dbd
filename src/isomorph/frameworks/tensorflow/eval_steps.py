"""What is found out about a program once, and used in every run and every round of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isomorph.frameworks.tensorflow.op_facts import (
    dtypes_of,
    is_inexact,
    narrow_only,
    works_in_floats,
)
from isomorph.frameworks.tensorflow.op_noise import computed_by, moved_as_declared
from isomorph.frameworks.tensorflow.program import Spec, TfNode, TfProgram
from isomorph.frameworks.tensorflow.tensor_list_ops import LISTS, computed_list
from isomorph.kernels.registry import Call, Kernel
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.value import EvalValue

KEPT_BYTES = 4 << 30
"""Lifted constants kept between runs; beyond it they are lifted again each time."""

_COMPLEX = {"complex64": "float32", "complex128": "float64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One node, and how it is computed.

    ``compute`` works on float64, ``declared`` on the declared types. ``narrow`` says that even
    data is brought to its declared type first. ``inexact`` says that an output is a float,
    ``disturbable`` that an attribute is. ``call`` lacks its site and its noise.
    """

    node: TfNode
    call: Call
    dtypes: tuple[str | None, ...]
    compute: Kernel
    declared: Kernel
    narrow: bool
    inexact: bool
    disturbable: bool


class Book:
    """The steps and the stored values of a program and of its bodies."""

    def __init__(self) -> None:
        self._steps: dict[tuple[str, str], Step] = {}
        self._stored: dict[str, Mapping[str, EvalValue]] = {}

    def step(self, program: TfProgram, node: TfNode) -> Step:
        """What is known of this node."""
        key = (program.name, node.name)
        if key not in self._steps:
            self._steps[key] = _made(program, node)
        return self._steps[key]

    def stored(self, program: TfProgram) -> Mapping[str, EvalValue]:
        """The constants of the graph or of one of its bodies; each lifts itself on first use."""
        kept = self._stored.get(program.name)
        if kept is None:
            kept = _Constants(program)
            if sum(8 * array.size for array in program.constants.values()) <= KEPT_BYTES:
                kept = dict(kept)
            self._stored[program.name] = kept
        return kept

    def clear(self) -> None:
        """Let go of everything."""
        self._steps.clear()
        self._stored.clear()


class _Constants(Mapping[str, EvalValue]):
    """Stored values, held anew whenever they are read, so that no lifted one is kept."""

    def __init__(self, program: TfProgram) -> None:
        self._program = program

    def __getitem__(self, name: str) -> EvalValue:
        """The value as a constant of its declared type."""
        dtype = self._program.specs.get(name, Spec()).dtype
        return EvalValue(self._program.constants[name], dtype=dtype, constant=True)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._program.constants)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._program.constants)


def _made(program: TfProgram, node: TfNode) -> Step:
    inputs, outputs = dtypes_of(program, node.inputs), dtypes_of(program, node.outputs)
    floats = [dtype for dtype in (*inputs, *outputs) if is_float(dtype)]
    floats += [_COMPLEX[dtype] for dtype in inputs if dtype in _COMPLEX]
    declared: Kernel = computed_list if node.op in LISTS else moved_as_declared
    narrow = node.op not in LISTS and narrow_only(program, node)
    wide = node.op not in LISTS and works_in_floats(program, node) and not narrow
    return Step(
        node=node,
        call=Call(
            op=node.op,
            attributes=node.attributes,
            outputs=len(node.outputs),
            dtype=floats[0] if floats else None,
            input_dtypes=inputs,
        ),
        dtypes=outputs,
        compute=computed_by(node.op) if wide else declared,
        declared=declared,
        narrow=narrow,
        inexact=any(map(is_inexact, outputs)),
        disturbable=any(map(is_inexact_number, node.attributes.values())),
    )
