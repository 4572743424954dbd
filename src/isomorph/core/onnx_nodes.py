"""ONNX nodes that stand for one node of another framework, as edits of a patch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from isomorph.core.patch import AddConstant, AddNode, Edit

Shape = tuple[int, ...]


class OnnxNodes:
    """Collects the nodes of one copy, with names that are free and tensors by their new names.

    ``names`` gives the candidate's name of a tensor of the reference; ``shapes`` its sizes, or
    None where they are not known; ``unused`` makes a name free; ``kind`` is the type in which
    real numbers are stored.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        shapes: Callable[[str], Shape | None],
        unused: Callable[[str], str],
        kind: np.dtype[Any],
    ) -> None:
        self._names, self.shape, self._unused, self._kind = names, shapes, unused, kind
        self._around = ""
        self._taken: set[str] = set()
        self.edits: list[Edit] = []

    def of(self, node: str) -> OnnxNodes:
        """The same collection, with names that begin with this node's from now on."""
        self._around = node
        return self

    def add(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """One node; tensors of the reference among its names are given their names here."""
        self.edits.append(
            AddNode(
                name=self._free(f"{self._around}_original"),
                op=op,
                inputs=tuple(self._names.get(name, name) for name in inputs),
                outputs=tuple(self._names.get(name, name) for name in outputs),
                attributes=dict(attributes or {}),
            )
        )

    def made(
        self, op: str, inputs: Sequence[str], attributes: Mapping[str, Any] | None = None
    ) -> str:
        """The result of one node, under a name of its own."""
        result = self._free(f"{self._around}_{op}")
        self.add(op, inputs, (result,), attributes)
        return result

    def slice(self, data: str, axis: int, start: int, stop: int) -> str:
        """A part of a tensor along one axis."""
        bounds = [self.integers((each,)) for each in (start, stop, axis)]
        return self.made("Slice", (data, *bounds))

    def number(self, value: float) -> str:
        """A stored real number."""
        return self.numbers(value)

    def numbers(self, values: object) -> str:
        """Stored real numbers, in the type of the tensor that is put right."""
        return self._stored(np.asarray(values).astype(self._kind))

    def integers(self, values: Sequence[int]) -> str:
        """Stored whole numbers: sizes, axes, amounts."""
        return self._stored(np.asarray(values, np.int64))

    def _stored(self, value: object) -> str:
        name = self._free(f"{self._around}_constant")
        self.edits.append(AddConstant(name=name, value=value))
        return name

    def _free(self, name: str) -> str:
        found, count = self._unused(name), 1
        while found in self._taken:
            count += 1
            found = self._unused(f"{name}_{count}")
        self._taken.add(found)
        return found
