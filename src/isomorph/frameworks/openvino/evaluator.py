"""An OpenVINO model for the float64 oracle, fed and fetched at any top-level tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.openvino.eval_control import RULES
from isomorph.frameworks.openvino.nodes import IrNode, nodes_of
from isomorph.frameworks.openvino.op_table import has_meaning
from isomorph.frameworks.openvino.weights import array_of
from isomorph.kernels import registry
from isomorph.kernels.openvino.layers import ONNX, OPENVINO
from isomorph.oracle.declared_graph import DeclaredGraph, DeclaredStep, NamedBody, evaluable
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import Body, IrGraph, IrModel

EXACT = MOVES_DATA | frozenset(
    {"Cast", "CastLike", "ReverseSequence", "OneHot", "NonZero", "IsNaN", "IsInf", "IsFinite",
     "Equal", "NotEqual", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Not",
     "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "ReduceLogicalAnd",
     "ReduceLogicalOr", "ScatterUpdate", "StridedSlice", "ReadValue", "Assign", "Roll",
     "ShuffleChannels", "BatchToSpace", "SpaceToBatch", "SliceScatter", "AdaptiveMaxPool"}
)  # fmt: skip
"""Operators whose result is an input's value, or not a float at all."""
DISCRETE = frozenset({"Floor", "Ceil", "Round", "Sign", "Mod", "FloorMod", "Range"})
"""Operators whose float result is discrete among constants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(NamedBody[DeclaredStep]):
    """A body, and how it is connected."""

    body: Body


class IrMainGraph(DeclaredGraph):
    """The main graph of a model: its steps, its constants and what its tensors declare."""

    def __init__(self, model: IrModel, file: str | None) -> None:
        registry.load_all()
        graph = model.graph
        super().__init__(
            evaluable(
                _steps(model, graph),
                file=file,
                why="it is an operator of an extension, or one that we have no kernel for",
                fix="convert the model with other operators",
            ),
            graph.inputs,
            graph.results,
            types={port.name: port.dtype for layer in graph.layers for port in layer.outputs},
            stored=graph.stored,
            weights=_weights(model, graph),
            folds=lambda step, known: step.rule is None and all(n in known for n in step.needs),
        )


def _weights(model: IrModel, graph: IrGraph) -> WeightCache[str]:
    stored = graph.stored
    return WeightCache(
        lambda key: EvalValue(
            array_of(model, stored[key]), dtype=stored[key].outputs[0].dtype, constant=True
        )
    )


def _steps(model: IrModel, graph: IrGraph) -> tuple[DeclaredStep, ...]:
    return tuple(_step(model, index, node) for index, node in enumerate(nodes_of(graph)))


def _step(model: IrModel, index: int, node: IrNode) -> DeclaredStep:
    layer = node.layer
    op, domain = node.op if node.dequantizes else layer.type, OPENVINO
    kernel = registry.find(OPENVINO, op, 1)
    if kernel is None:
        op, domain = node.op, ""
        kernel = registry.find("", op, ONNX)
    declared = tuple(port.dtype for port in node.outputs)
    return DeclaredStep(
        index=index,
        name=node.name,
        op=op,
        inputs=node.inputs,
        outputs=tuple(port.name for port in node.outputs),
        attributes={**node.attributes, "output_dtypes": declared, "version": layer.version},
        rule=RULES.get(layer.type) if layer.bodies else None,
        shape_only=node.op == "Shape",
        discrete=node.op in DISCRETE,
        exact=node.op in EXACT,
        disturbable=any(map(is_inexact_number, node.attributes.values())),
        kernel=kernel if has_meaning(layer, node.attributes) else None,
        declared=declared,
        domain=domain,
        version=1 if domain else ONNX,
        bodies={key: _part(model, body) for key, body in layer.bodies.items()},
    )


def _part(model: IrModel, body: Body) -> Part:
    graph = body.graph
    wanted = [port.tensor for port in body.gives] + [end for end, _ in body.back]
    return Part(
        body=body,
        inputs=graph.inputs,
        outputs=tuple(dict.fromkeys([*wanted, *filter(None, [body.condition])])),
        steps=_steps(model, graph),
        own_constants=graph.stored,
        weights=_weights(model, graph),
    )
