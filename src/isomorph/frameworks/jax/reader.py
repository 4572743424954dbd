"""From the main function of a StableHLO module to nodes on named tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.jax.inline import TRACED, path_of
from isomorph.frameworks.jax.mlir_values import name_in, plain, source_of, tensor_of
from isomorph.frameworks.jax.op_facts import BODY_NAMES, RETURN
from isomorph.frameworks.jax.program import JaxBody, JaxNode, JaxTensor

_CONSTANT = re.compile(r"(^|/)constant(_\d+)?$")
"""Names that were given to constants before."""


_OF_A_TRUTH = ("else", "then")
"""What the branches are called where the number that decides is a truth value."""


class Reader:
    """Gives every value of a module the name of a tensor, and every operation that of a node.

    Nodes are called by the path that JAX keeps of the user's program, ``Dense_0/dot_general``.
    """

    def __init__(self, paths: Mapping[Any, str], *, file: str) -> None:
        self._paths = paths
        self._wanted: dict[Any, str] = {}
        self.names: dict[Any, str] = {}
        self.tensors: dict[str, JaxTensor] = {}
        self.constants: dict[str, Any] = {}
        self._file = file
        self._tensor_names: dict[str, int] = {}
        self._node_names: dict[str, int] = {}

    def prefer(self, value: Any, name: str) -> None:  # noqa: ANN401
        """Ask for the name of a value that is not defined yet."""
        self._wanted.setdefault(value, name)

    def free_node(self, wanted: str) -> str:
        """A name that no other node has."""
        return _free(wanted, self._node_names)

    def define(self, value: Any, wanted: str) -> str:  # noqa: ANN401
        """Name a value and note its type."""
        name = _free(self._wanted.get(value, wanted), self._tensor_names)
        tensor = tensor_of(name, value.type)
        if tensor is None:
            raise UnreadableModelError(
                "UNSUPPORTED_DTYPE", "a value is of a type that cannot be read",
                file=self._file, where=name, why=str(value.type)[:100],
            )  # fmt: skip
        self.names[value] = name
        self.tensors[name] = tensor
        return name

    def declare(self, wanted: str, dtype: str, shape: tuple[int | None, ...]) -> str:
        """Name a tensor that is no value of the module."""
        name = _free(wanted, self._tensor_names)
        self.tensors[name] = JaxTensor(name=name, dtype=dtype, shape=shape)
        return name

    def nodes(self, operations: Sequence[Any]) -> tuple[JaxNode, ...]:
        """The operations of a block but for its last, which returns; constants are no nodes."""
        found = []
        for view in operations:
            operation = view.operation
            if operation.name in RETURN:
                continue
            if operation.name == "stablehlo.constant":
                name = self.define(operation.results[0], self._constant_name(operation))
                self.constants[name] = operation.attributes["value"]
                _name_in_module(operation, name)
                continue
            found.append(self._node(operation))
        return tuple(found)

    def _constant_name(self, operation: Any) -> str:  # noqa: ANN401
        path = path_of(operation, self._paths)
        if _CONSTANT.search(path):
            return path
        return f"{path}/constant" if path else "constant"

    def _node(self, operation: Any) -> JaxNode:  # noqa: ANN401
        kind = str(operation.name)
        op = kind.removeprefix("stablehlo.")
        name = self.free_node(path_of(operation, self._paths) or op)
        inputs = tuple(self._known(value) for value in operation.operands)
        attributes = {each: plain(operation.attributes[each]) for each in _keys(operation)}
        bodies, captured = self._bodies(operation, op, name)
        results = list(operation.results)
        outputs = tuple(
            self.define(value, name if len(results) == 1 else f"{name}:{place}")
            for place, value in enumerate(results)
        )
        source = source_of(operation.location)
        _name_in_module(operation, name)
        return JaxNode(
            name=name,
            op=op,
            inputs=(*inputs, *captured),
            outputs=outputs,
            operands=len(inputs),
            attributes=attributes,
            bodies=bodies,
            source=source,
        )

    def _known(self, value: Any) -> str:  # noqa: ANN401
        if value not in self.names:
            raise UnreadableModelError(
                "DANGLING_INPUT", "an operation reads a value before it exists", file=self._file
            )
        return self.names[value]

    def _bodies(
        self,
        operation: Any,  # noqa: ANN401
        op: str,
        node: str,
    ) -> tuple[Mapping[str, JaxBody], tuple[str, ...]]:
        """The regions, and the tensors that they read from around the operation."""
        bodies: dict[str, JaxBody] = {}
        captured: dict[str, None] = {}
        labels = BODY_NAMES.get(op, ())
        for place, region in enumerate(operation.regions):
            label = labels[place] if place < len(labels) else f"branch{place}"
            if op == "case" and len(operation.regions) == len(_OF_A_TRUTH):
                label = _OF_A_TRUTH[place]
            block = region.blocks[0]
            around = set(self.names.values())
            given = tuple(
                self.define(value, f"{node}/{label}/{name_in(value.location) or 'arg'}")
                for value in block.arguments
            )
            operations = list(block.operations)
            before = set(self.constants)
            nodes = self.nodes(operations)
            deeper = {name for each in nodes for inner in each.bodies.values()
                      for name in inner.own_constants}  # fmt: skip
            own = tuple(name for name in self.constants if name not in before | deeper)
            outputs = tuple(self._known(value) for value in operations[-1].operands)
            bodies[label] = JaxBody(inputs=given, nodes=nodes, outputs=outputs, own_constants=own)
            read = [name for each in nodes for name in each.inputs] + list(outputs)
            captured.update((name, None) for name in read if name in around)
        return bodies, tuple(captured)


def _name_in_module(operation: Any, name: str) -> None:  # noqa: ANN401
    """Keep a name in the module, so that a part that is cut out and read again has it, too."""
    operation.location = ir.Location.name(f"{TRACED}part)/{name}", operation.location)


def _free(wanted: str, taken: dict[str, int]) -> str:
    """The wanted name, with a number behind it where it is taken."""
    name = wanted
    while name in taken:
        name = f"{wanted}_{taken[wanted]}"
        taken[wanted] += 1
    taken[name] = 1
    return name


def _keys(operation: Any) -> list[str]:  # noqa: ANN401
    return [each if isinstance(each, str) else each.name for each in operation.attributes]
