"""The neutral description of an ONNX graph."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.core.threads import in_threads
from isomorph.frameworks.onnx.attributes import attributes_of, constant_value
from isomorph.frameworks.onnx.element_types import complete
from isomorph.frameworks.onnx.model import is_mapped
from isomorph.frameworks.onnx.node_source import source_of
from isomorph.frameworks.onnx.quantization import quantization_of
from isomorph.frameworks.onnx.scope import bodies, domain_of, topological, unnamed
from isomorph.frameworks.onnx.shapes import spec_of
from isomorph.frameworks.onnx.stored_tensors import dense
from isomorph.frameworks.onnx.validate import opsets

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.onnx.model import OnnxModel


def describe(model: OnnxModel, inferred: Any) -> Graph:  # noqa: ANN401
    """Nodes in topological order and all that is declared of their tensors.

    ``inferred`` is the same graph with value_info filled in; values come from the model.
    """
    describer = _Describer(model)
    whole = describer.graph(model.outline.graph, inferred, "")
    return replace(whole, functions=describer.functions())


def node_names(graph: Any) -> list[str]:  # noqa: ANN401
    """One name per node of one graph, in file order: stable, and never the same twice."""
    counts = Counter(node.name for node in graph.node)
    taken = {name for name, count in counts.items() if name and count == 1}
    names: list[str] = []
    for index, node in enumerate(graph.node):
        name = node.name if node.name in taken else unnamed(node)
        if name in taken and name != node.name:
            name = f"{name}#{index}"
        taken.add(name)
        names.append(name)
    return names


class _Describer:
    def __init__(self, model: OnnxModel) -> None:
        self.model = model
        self.versions = opsets(model.outline)
        self.producer = str(model.outline.producer_name)

    def graph(
        self,
        graph: Any,  # noqa: ANN401
        inferred: Any,  # noqa: ANN401
        prefix: str,
        outer: ChainMap[str, Any] | None = None,
    ) -> Graph:
        own = _origins(graph, self.model)
        origins = outer.new_child(own) if outer is not None else ChainMap(own)
        names = node_names(graph)
        constants = self._constants(own, body=outer is not None)
        specs = _specs(graph, inferred, constants)
        order, _ = topological(graph.node)
        nodes = tuple(
            self._node(graph.node[index], inferred.node[index], prefix + names[index], origins)
            for index in order
        )
        complete(nodes, specs, self.versions)
        return Graph(
            name=graph.name,
            inputs=tuple(specs[value.name] for value in graph.input if value.name not in constants),
            outputs=tuple(specs.get(value.name) or spec_of(value) for value in graph.output),
            nodes=nodes,
            tensors=specs,
            constants=constants,
            quantization=quantization_of(
                nodes, specs, lambda name: self._read(origins[name]) if name in origins else None
            ),
            framework="onnx",
        )

    def _constants(self, own: Mapping[str, Any], *, body: bool) -> dict[str, Constant]:
        """The descriptions of constants, by name."""

        def described(name: str) -> Constant:
            return constant_of(name, self._read(own[name]), body=body)

        # Hashing is most of the work, and other threads run while one hashes.
        mapped = [name for name, held in own.items() if _is_view(held)]
        found = dict(zip(mapped, in_threads(described, mapped), strict=True))
        # Of the others no two large ones are in memory at once.
        return {name: found.get(name) or described(name) for name in own}

    def functions(self) -> dict[str, Graph]:
        """The functions of the file by the names under which nodes call them, each of them once."""
        found: dict[str, Graph] = {}
        names = Counter((each.domain, each.name) for each in self.model.outline.functions)
        for function in self.model.outline.functions:
            if names[function.domain, function.name] > 1:
                continue  # overloads: which one a node calls depends on types
            domain = domain_of(function)
            name = f"{domain}::{function.name}" if domain else function.name
            body = onnx.GraphProto(name=function.name, node=function.node)
            for names_of, values in (
                (function.input, body.input),
                (function.output, body.output),
            ):
                values.extend(onnx.ValueInfoProto(name=each) for each in names_of)
            found[name] = self.graph(body, body, f"{name}/", ChainMap())
        return found

    def _read(self, origin: Any) -> Array:  # noqa: ANN401
        if hasattr(origin, "op_type"):
            value = constant_value(origin, self.model)
            assert value is not None, "only Constant nodes are listed as origins"
            return value
        return (
            dense(origin, self.model.array)
            if hasattr(origin, "indices")
            else self.model.array(origin)
        )

    def _node(
        self,
        node: Any,  # noqa: ANN401
        inferred: Any,  # noqa: ANN401
        name: str,
        outer: ChainMap[str, Any],
    ) -> Node:
        domain = domain_of(node)
        version = self.versions.get(domain, 1)
        inner = {}
        for (key, index, body), (_, _, known) in zip(bodies(node), bodies(inferred), strict=True):
            place = key if f"{key}" not in inner else f"{key}#{index}"
            inner[place] = self.graph(body, known, f"{name}/{key}#{index}/", outer)
        return Node(
            name=name,
            op=node.op_type,
            native_op=f"{domain}::{node.op_type}" if domain else node.op_type,
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            attributes=attributes_of(node, version, self.model),
            bodies=inner,
            source=source_of(node, self.producer),
        )


def _origins(graph: Any, model: OnnxModel) -> dict[str, Any]:  # noqa: ANN401
    """What holds each constant's value: an initializer, a sparse one, or a Constant node."""
    found: dict[str, Any] = {tensor.name: tensor for tensor in graph.initializer}
    found.update({sparse.values.name: sparse for sparse in graph.sparse_initializer})
    for node in graph.node:
        if constant_value(node, model) is not None:
            found[node.output[0]] = node
    return found


def _is_view(origin: Any) -> bool:  # noqa: ANN401
    """Whether a constant's value is a view of another file: of an initializer that lies there."""
    return isinstance(origin, onnx.TensorProto) and is_mapped(origin)


def _specs(graph: Any, inferred: Any, constants: Mapping[str, Constant]) -> dict[str, TensorSpec]:  # noqa: ANN401
    declared = {value.name: spec_of(value) for value in inferred.value_info}
    for value in (*inferred.input, *inferred.output):
        declared[value.name] = spec_of(value)
    for name, constant in constants.items():
        declared[name] = TensorSpec(name=name, dtype=constant.dtype, shape=constant.shape)
    names = [value.name for value in graph.input] + list(constants)
    names += [name for node in graph.node for name in node.output if name]
    return {
        name: declared.get(name) or TensorSpec(name=name, dtype=None, shape=None) for name in names
    }
