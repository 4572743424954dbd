"""The neutral description of a StableHLO program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.frameworks.jax.mlir_values import array_of
from isomorph.frameworks.jax.op_facts import CONTROL
from isomorph.frameworks.jax.op_names import native, neutral, reducer
from isomorph.frameworks.jax.program import JaxBody, JaxNode, JaxProgram, JaxTensor

_NAMED_AXES = frozenset({"dot_dimension_numbers", "dimension_numbers", "scatter_dimension_numbers"})
"""Attributes that are several."""
_OF_THE_FILE = frozenset({"decomposition", "backend_config", "version"})
"""Attributes that are no part of what an operation computes."""


def describe(program: JaxProgram) -> Graph:
    """The main function with the bodies of its branches and loops."""
    specs = {name: spec_of(tensor) for name, tensor in program.tensors.items()}
    constants = {
        name: constant_of(name, array_of(value)) for name, value in program.constants.items()
    }
    inner = {name for node in program.all_nodes() for body in node.bodies.values()
             for name in _made_in(body, program.constants)}  # fmt: skip
    return Graph(
        name=program.name,
        inputs=tuple(specs[name] for name in program.inputs),
        outputs=tuple(specs[name] for name in program.outputs),
        nodes=tuple(_node(node, "", specs, program.constants) for node in program.nodes),
        tensors={name: spec for name, spec in specs.items() if name not in inner},
        constants={name: value for name, value in constants.items() if name not in inner},
        framework="jax",
    )


def spec_of(tensor: JaxTensor) -> TensorSpec:
    """What is declared of one tensor."""
    return TensorSpec(name=tensor.name, dtype=tensor.dtype, shape=tensor.shape)


def _made_in(body: JaxBody, constants: Mapping[str, Any]) -> set[str]:
    """The tensors that belong to a body, its constants among them."""
    made = {*body.inputs, *(name for node in body.nodes for name in node.outputs)}
    return made | {name for name in body.own_constants if name in constants}


def _node(
    node: JaxNode, prefix: str, specs: Mapping[str, TensorSpec], constants: Mapping[str, Any]
) -> Node:
    name = f"{prefix}{node.name}"
    kept = {key: value for key, value in node.attributes.items() if key not in _OF_THE_FILE}
    numbered = {
        key: value for each in _NAMED_AXES & kept.keys() for key, value in kept[each].items()
    }
    attributes = {key: value for key, value in kept.items() if key not in _NAMED_AXES} | numbered
    if node.op in ("reduce", "reduce_window", "scatter"):
        attributes["reducer"] = reducer(node) or "several operations"
    control = node.op in CONTROL
    return Node(
        name=name,
        op=neutral(node),
        native_op=native(node),
        inputs=node.inputs,
        outputs=node.outputs,
        attributes=attributes,
        bodies={
            key: _body(body, f"{name}/{key}#0/", specs, constants)
            for key, body in node.bodies.items()
            if control
        },
        source=node.source,
    )


def _body(
    body: JaxBody, prefix: str, specs: Mapping[str, TensorSpec], constants: Mapping[str, Any]
) -> Graph:
    own = _made_in(body, constants)
    stored: dict[str, Constant] = {
        name: constant_of(name, array_of(constants[name]), body=True) for name in body.own_constants
    }
    return Graph(
        name=prefix.rstrip("/"),
        inputs=tuple(specs[name] for name in body.inputs),
        outputs=tuple(specs[name] for name in body.outputs),
        nodes=tuple(_node(node, prefix, specs, constants) for node in body.nodes),
        tensors={name: specs[name] for name in sorted(own)},
        constants=stored,
        framework="jax",
    )
