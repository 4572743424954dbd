"""The arguments of one operation: tensors by name, and parameters that the file stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isomorph.frameworks.coreml.program import Array, MilOperation, MilProgram, MilType, MilValue

Stored = MilValue | Array
"""A constant: a value of the file, or an array that follows from one."""


Spelled = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By attribute and word: the parameters of the file that say the same, with their values."""


class NotUnderstoodError(Exception):
    """An operation has a parameter that the tables here do not describe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """What an operation computes, in the words of ONNX.

    ``kernel`` computes it, of ``domain``; the operator's own where it is empty. ``origins`` are
    the parameters of the file that attributes come from as they are, and ``spelled`` those that
    the file spells otherwise: by attribute and value, the parameters that stand for it.
    """

    op: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    kernel: str = ""
    domain: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    spelled: Spelled = field(default_factory=dict)


class Arguments:
    """One operation, seen by the table of operators.

    ``known`` are the stored values of the blocks around it; ``made`` takes the constants that the
    operation needs under names of their own.
    """

    def __init__(
        self,
        program: MilProgram,
        operation: MilOperation,
        known: Mapping[str, MilValue],
        made: dict[str, Stored],
    ) -> None:
        self.operation = operation
        self.origins: dict[str, str] = {}
        self.spelled: Spelled = {}
        self._program, self._known, self._made = program, known, made

    @property
    def type(self) -> MilType:
        """What is declared of the first result."""
        return self.operation.outputs[0][1]

    @property
    def name(self) -> str:
        """The name of the first result."""
        return self.operation.outputs[0][0]

    def has(self, parameter: str) -> bool:
        """Whether the operation states a parameter."""
        return bool(self.operation.inputs.get(parameter)) or parameter in self.operation.attributes

    def tensors(self, parameter: str) -> tuple[str, ...]:
        """The tensors that a parameter lists; values written in place get names."""
        found = []
        for place, each in enumerate(self.operation.inputs.get(parameter, ())):
            found.append(
                each if isinstance(each, str) else self.store(f"{parameter}_{place}", each)
            )
        if parameter in self.operation.attributes:
            found.append(self.store(parameter, self.operation.attributes[parameter]))
        return tuple(found)

    def tensor(self, parameter: str) -> str:
        """The tensor of a parameter; an empty string where it is absent."""
        found = self.tensors(parameter)
        return found[0] if found else ""

    def store(self, parameter: str, value: Stored) -> str:
        """A constant of this operation under a name of its own."""
        name = f"{self.name}.{parameter}"
        self._made[name] = value
        return name

    def stored(self, parameter: str) -> MilValue | None:
        """The stored value of a parameter; None where it is absent."""
        given = self.operation.inputs.get(parameter, ())
        if not given:
            return self.operation.attributes.get(parameter)
        each = given[0]
        found = self._known.get(each) if isinstance(each, str) else each
        if found is None or len(given) != 1:
            raise NotUnderstoodError(f"{parameter!r} is computed")
        return found

    def array(self, parameter: str) -> Array | None:
        """The numbers of a stored parameter; None where it is absent."""
        value = self.stored(parameter)
        return None if value is None else self._program.array(value)

    def number(self, parameter: str, default: float, attribute: str = "") -> float:
        """A float parameter; ``attribute`` is what it is called here."""
        array = self.array(parameter)
        self.origins[attribute or parameter] = parameter
        return default if array is None else float(array.reshape(-1)[0])

    def whole(self, parameter: str, default: int, attribute: str = "") -> int:
        """An integer parameter."""
        array = self.array(parameter)
        self.origins[attribute or parameter] = parameter
        return default if array is None else int(array.reshape(-1)[0])

    def flag(self, parameter: str, default: bool = False, attribute: str = "") -> int:  # noqa: FBT001
        """A boolean parameter, as ONNX spells it."""
        return int(bool(self.whole(parameter, int(default), attribute)))

    def wholes(
        self, parameter: str, default: tuple[int, ...] = (), attribute: str = ""
    ) -> tuple[int, ...]:
        """A list of integers."""
        array = self.array(parameter)
        self.origins[attribute or parameter] = parameter
        if array is None:
            return default
        return tuple(int(each) for each in np.asarray(array).reshape(-1))

    def text(self, parameter: str, default: str, attribute: str = "") -> str:
        """A parameter that is a word."""
        value = self.stored(parameter)
        self.origins[attribute or parameter] = parameter
        if value is None:
            return default
        data = value.data if value.data is not None else self._program.array(value)
        return str(data if isinstance(data, str) else np.asarray(data).reshape(-1)[0])

    def lowered(
        self,
        op: str,
        *inputs: str,
        kernel: str = "",
        domain: str = "",
        **attributes: Any,  # noqa: ANN401
    ) -> Lowered:
        """The operator with its inputs, without the absent ones behind the last."""
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        origins = {key: word for key, word in self.origins.items() if key in attributes}
        return Lowered(
            op=op, inputs=inputs, attributes=attributes, kernel=kernel, domain=domain,
            origins=origins, spelled=self.spelled,
        )  # fmt: skip

    def rank(self, parameter: str, types: Mapping[str, MilType]) -> int:
        """The rank of a tensor."""
        declared = types.get(self.tensor(parameter))
        if declared is None or declared.shape is None:
            raise NotUnderstoodError(f"the rank of {parameter!r} is unknown")
        return len(declared.shape)
