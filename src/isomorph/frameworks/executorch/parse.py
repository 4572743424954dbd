"""From the bytes of a .pte file to a program: values become tensors, instructions become nodes.

Instructions write values in place. Here every tensor is written once: a value that is written
again gets a new name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.executorch.file_layout import FileLayout
from isomorph.frameworks.executorch.op_names import TENSORS, row_of
from isomorph.frameworks.executorch.plan_values import (
    LISTS,
    Kind,
    PlanValues,
    address_of,
    lies_elsewhere,
    unsupported,
)
from isomorph.frameworks.executorch.program import (
    PteNode,
    PteProgram,
    PteTensor,
    ReadGraph,
    Slot,
)
from isomorph.frameworks.executorch.xnnpack_graph import BACKEND, Boundary, DelegateReader
from isomorph.store.flatbuffer import DamagedFlatbufferError, Table

_KERNEL, _DELEGATE, _MOVE, _JUMP, _FREE = range(1, 6)


class _Reader(ReadGraph):
    """The values of one execution plan, and what its instructions have made of them so far."""

    def __init__(self, layout: FileLayout, plan: Table, file: str) -> None:
        super().__init__()
        self.layout, self.plan, self.file = layout, plan, file
        self.stored = PlanValues(layout, plan.tables(2), file)
        self.operators, self.lowered = plan.tables(6), plan.tables(7)
        self.names: dict[int, str] = {}
        self.delegates: list[str] = []
        self.indices: dict[str, int] = {}
        self.memory: dict[tuple[int, int, int], str] = {}
        """What lies at a place of the memory that was planned ahead."""

    def method(self) -> PteProgram:
        """The whole plan."""
        given = self.plan.numbers(3, "i4").tolist()
        fixed: dict[int, Any] = {}
        inputs = []
        for place, index in enumerate(given):
            kind, table = self.stored.value(index)
            if kind == Kind.TENSOR and table is not None:
                inputs.append(self._defined(index, f"args_{place}"))
            else:
                fixed[place] = self.stored.number(index)
        chains = self.plan.tables(5)
        if len(chains) != 1:
            raise unsupported(self.file, f"the method has {len(chains)} chains of instructions")
        for place, instruction in enumerate(chains[0].tables(2)):
            self._instruction(place, instruction)
        return PteProgram(
            method=self.plan.text(0),
            inputs=tuple(inputs),
            outputs=tuple(self._outputs(set(inputs))),
            nodes=tuple(self.nodes),
            tensors=self.tensors,
            delegates=tuple(self.delegates),
            places=self.places,
            given=fixed,
            indices=self.indices,
        )

    def _outputs(self, inputs: set[str]) -> Iterable[str]:
        """One name for each output, each written by a node and none twice."""
        taken = set(inputs)
        for place, index in enumerate(self.plan.numbers(4, "i4").tolist()):
            kind, _ = self.stored.value(index)
            if kind != Kind.TENSOR and index not in self.names:
                yield ""  # a number that the program states
                continue
            name = self._read(index)
            if name in taken or self.tensors[name].data is not None:
                alias = f"output_{place}"
                self._add(alias, self.tensors[name])
                self._moved(f"output:{place}", "executorch.output", name, alias)
                name = alias
            taken.add(name)
            yield name

    def _instruction(self, place: int, instruction: Table) -> None:
        kind, table = instruction.union(1)
        if table is None or kind == _FREE:
            return
        if kind == _KERNEL:
            self._kernel(place, table)
        elif kind == _DELEGATE:
            self._delegate(place, table)
        elif kind == _MOVE:
            source = self._read(table.integer(0))
            target = self._defined(table.integer(1))
            self._moved(f"move:{place}", "executorch.move", source, target, instruction=place)
        else:
            raise unsupported(self.file, f"instruction {place} branches on a computed value")

    def _kernel(self, place: int, table: Table) -> None:
        operators, chosen = self.operators, table.integer(0)
        if not 0 <= chosen < len(operators):
            raise DamagedFlatbufferError(f"instruction {place} names operator {chosen}")
        base, overload = operators[chosen].text(0), operators[chosen].text(1)
        base = base.replace("::", ".")
        native = f"{base}.{overload}" if overload else base
        arguments = table.numbers(1, "i4").tolist()
        row = row_of(native)
        op, words = row if row is not None else (native, self._guessed(arguments))
        name = f"{base.rpartition('.')[2]}:{place}"
        inputs, attributes = self._arguments(name, words, arguments)
        outputs = [
            self._defined(index) for index in self._written(arguments[len(words) :], arguments)
        ]
        if op == "Conv" and attributes.get("transposed"):
            op = "ConvTranspose"
        self.nodes.append(
            PteNode(
                name=name, op=op, native_op=native, inputs=tuple(inputs), outputs=tuple(outputs),
                attributes=attributes, instruction=place,
            )
        )  # fmt: skip

    def _guessed(self, arguments: list[int]) -> tuple[str, ...]:
        """Names for the arguments of an unknown operator, whose last value is what it returns."""
        returned = set(self._listed(arguments[-1])) if arguments else set()
        count = next((n for n, each in enumerate(arguments) if each in returned), 0)
        return tuple(f"argument_{place}" for place in range(count))

    def _listed(self, index: int) -> list[int]:
        """The values of a list of values; a value that is none alone."""
        kind, table = self.stored.value(index)
        return table.numbers(0, "i4").tolist() if kind in LISTS and table is not None else [index]

    def _written(self, rest: list[int], arguments: list[int]) -> list[int]:
        """The values that a kernel writes: its last arguments, the last of which repeats them."""
        if not rest:
            rest = arguments[-1:]
        found: list[int] = []
        for index in rest[:-1] or rest:
            found += self._listed(index)
        return list(dict.fromkeys(found))

    def _arguments(
        self, node: str, words: tuple[str, ...], arguments: list[int]
    ) -> tuple[list[str], dict[str, Any]]:
        inputs: list[str] = []
        attributes: dict[str, Any] = {}
        for word, index in zip(words, arguments, strict=False):
            kind, table = self.stored.value(index)
            if kind == Kind.TENSOR:
                inputs.append(self._read(index))
            elif kind in LISTS and table is not None:
                inputs += [
                    self._read(item)
                    if item >= 0 and self.stored.value(item)[0] == Kind.TENSOR
                    else ""
                    for item in table.numbers(0, "i4").tolist()
                ]
            elif kind in (Kind.NULL, 0) and word in TENSORS:
                inputs.append("")
            else:
                attributes[word] = self._attribute(index, inputs)
                places = self.stored.places(index)
                if places:
                    self.places[node, word] = places
        while inputs and not inputs[-1]:
            inputs.pop()
        return inputs, attributes

    def _attribute(self, index: int, inputs: list[str]) -> Any:  # noqa: ANN401
        """A stated number, text or list of them; a computed number is an input of the node."""
        if index in self.names:
            inputs.append(self.names[index])
            return Slot(len(inputs) - 1)
        kind, table = self.stored.value(index)
        if table is None or kind == Kind.NULL:
            return None
        if kind == Kind.TEXT:
            return table.text(0)
        if kind == Kind.INTS:
            return tuple(self._size(item, inputs) for item in table.numbers(0, "i8").tolist())
        if kind in (Kind.DOUBLES, Kind.BOOLS):
            return tuple(table.numbers(0, "f8" if kind == Kind.DOUBLES else "?").tolist())
        return self.stored.number(index)

    def _size(self, index: int, inputs: list[str]) -> Any:  # noqa: ANN401
        if self.stored.value(index)[0] in (*LISTS, Kind.INTS):
            raise DamagedFlatbufferError(f"value {index} is a list in a list")
        return self._attribute(index, inputs)

    def _delegate(self, place: int, table: Table) -> None:
        chosen, arguments = table.integer(0), table.numbers(1, "i4").tolist()
        listed = self.lowered
        if not 0 <= chosen < len(listed):
            raise DamagedFlatbufferError(f"instruction {place} names delegate {chosen}")
        backend, where = listed[chosen].text(0), listed[chosen].table(1)
        self.delegates.append(backend)
        if backend != BACKEND or where is None:
            raise unsupported(
                self.file, f"a part of the model was lowered to {backend}, which is not read"
            )
        boundary = Boundary(
            read=lambda place: self._read(arguments[place]),
            written=lambda place: self._defined(arguments[place]),
            count=len(arguments),
        )
        DelegateReader(self.layout, self.layout.delegate(where), place, boundary, self).read()

    def _moved(
        self,
        name: str,
        native: str,
        source: str,
        target: str,
        **more: Any,  # noqa: ANN401
    ) -> None:
        """A node that names what lies in memory anew."""
        ends = {"inputs": (source,), "outputs": (target,)}
        self.nodes.append(
            PteNode(name=name, native_op=native, **{"op": "Identity", **ends, **more})
        )

    def _read(self, index: int) -> str:
        """The name of the tensor that a value holds now; a constant is defined when first read."""
        if index in self.names:
            return self.names[index]
        kind, table = self.stored.value(index)
        if (
            kind == Kind.TENSOR
            and table is not None
            and (base := self.memory.get(address_of(table)))
        ):
            return self._viewed(index, base)
        held = table is not None and (table.integer(5, "I") or lies_elsewhere(table))
        if kind != Kind.TENSOR or table is None or not held:
            raise UnreadableModelError(
                "DANGLING_INPUT",
                f"an instruction reads value {index}, which nothing computes and no buffer holds",
                file=self.file,
            )
        return self._defined(index, self._own_name(index, table), stored=True)

    def _viewed(self, index: int, base: str) -> str:
        """A value that no instruction writes: it lies where another does, in another shape."""
        name = self._defined(index)
        sizes = self.tensors[name].shape
        view, size = "executorch.view", {"size": sizes}
        self._moved(f"view:{index}", view, base, name, op="Reshape", attributes=size)
        return name

    def _own_name(self, index: int, table: Table) -> str:
        info = table.table(9)
        named = info.text(1) if info is not None else ""
        return named if named and named not in self.tensors else f"constant_{index}"

    def _defined(self, index: int, name: str | None = None, *, stored: bool = False) -> str:
        """A new name for what is written into a value."""
        kind, table = self.stored.value(index)
        word = name or f"value_{index}"
        while word in self.tensors:
            word += "'"
        if kind == Kind.TENSOR and table is not None:
            self._add(word, self.stored.tensor(word, table, stored=stored))
        else:
            dtype = "float64" if kind == Kind.DOUBLE else "bool" if kind == Kind.BOOL else "int64"
            self._add(word, PteTensor(name=word, dtype=dtype, shape=()))
        self.names[index], self.indices[word] = word, index
        if table is not None and kind == Kind.TENSOR and table.where(6) is not None:
            self.memory[address_of(table)] = word
        return word

    def _add(self, name: str, tensor: PteTensor) -> None:
        if tensor.name != name:
            tensor = PteTensor(name=name, dtype=tensor.dtype, shape=tensor.shape)
        self.tensors[name] = tensor


def read_method(layout: FileLayout, plan: Table, *, file: str) -> PteProgram:
    """One execution plan with its delegates opened."""
    return _Reader(layout, plan, file).method()
