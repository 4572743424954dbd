"""An OpenVINO model for the float64 oracle, fed and fetched at any top-level tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.openvino.eval_control import RULES
from isomorph.frameworks.openvino.nodes import IrNode, nodes_of
from isomorph.frameworks.openvino.op_table import has_meaning
from isomorph.frameworks.openvino.oracle_step import IrStep, Part
from isomorph.frameworks.openvino.weights import array_of
from isomorph.kernels import registry
from isomorph.kernels.openvino.layers import ONNX, OPENVINO
from isomorph.oracle import evaluator as oracle
from isomorph.oracle.declared_graph import DeclaredGraph
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.unsupported import refuse_undefined
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


class Evaluator(oracle.Evaluator[str]):
    """One model, loaded once and run many times; an operator without a meaning is refused here."""

    def __init__(self, model: IrModel, *, file: str | None = None) -> None:
        super().__init__(IrMainGraph(model, file))


class IrMainGraph(DeclaredGraph):
    """The main graph of a model: its steps, its constants and what its tensors declare."""

    def __init__(self, model: IrModel, file: str | None) -> None:
        registry.load_all()
        graph = model.graph
        steps = _steps(model, graph)
        _refuse_unsupported(steps, file)
        stored = {layer.outputs[0].name: layer for layer in graph.constants}
        super().__init__(
            steps,
            graph.inputs,
            graph.results,
            types={port.name: port.dtype for layer in graph.layers for port in layer.outputs},
            stored=stored,
            weights=_weights(model, graph),
            folds=lambda step, known: step.rule is None and all(n in known for n in step.needs),
        )


def _weights(model: IrModel, graph: IrGraph) -> WeightCache[str]:
    stored = {layer.outputs[0].name: layer for layer in graph.constants}
    return WeightCache(
        lambda key: EvalValue(
            array_of(model, stored[key]), dtype=stored[key].outputs[0].dtype, constant=True
        )
    )


def _steps(model: IrModel, graph: IrGraph) -> tuple[IrStep, ...]:
    return tuple(_step(model, index, node) for index, node in enumerate(nodes_of(graph)))


def _step(model: IrModel, index: int, node: IrNode) -> IrStep:
    layer = node.layer
    op = node.op if node.dequantizes else layer.type
    kernel = registry.find(OPENVINO, op, 1)
    domain = OPENVINO
    if kernel is None:
        op, domain = node.op, ""
        kernel = registry.find("", op, ONNX)
    declared = tuple(port.dtype for port in node.outputs)
    attributes = {**node.attributes, "output_dtypes": declared, "version": layer.version}
    if not has_meaning(layer, node.attributes):
        kernel = None
    return IrStep(
        index=index,
        name=node.name,
        op=op,
        inputs=node.inputs,
        outputs=tuple(port.name for port in node.outputs),
        attributes=attributes,
        rule=RULES.get(layer.type) if node.bodies else None,
        shape_only=node.op == "Shape",
        discrete=node.op in DISCRETE,
        exact=node.op in EXACT,
        disturbable=any(map(is_inexact_number, node.attributes.values())),
        kernel=kernel,
        declared=declared,
        domain=domain,
        version=1 if domain else ONNX,
        bodies={key: _part(model, body) for key, body in node.bodies.items()},
    )


def _part(model: IrModel, body: Body) -> Part:
    graph = body.graph
    wanted = (
        *(port.tensor for port in body.gives),
        *(end for end, _ in body.back),
        *([body.condition] if body.condition else []),
    )
    return Part(
        body=body,
        inputs=graph.inputs,
        outputs=tuple(dict.fromkeys(wanted)),
        steps=_steps(model, graph),
        own_constants=frozenset(layer.outputs[0].name for layer in graph.constants),
        weights=_weights(model, graph),
    )


def _all_steps(steps: tuple[IrStep, ...]) -> Iterator[IrStep]:
    for step in steps:
        yield step
        for part in step.bodies.values():
            yield from _all_steps(part.steps)


def _refuse_unsupported(steps: tuple[IrStep, ...], file: str | None) -> None:
    missing: dict[str, list[str]] = {}
    for step in _all_steps(steps):
        if step.kernel is None and step.rule is None:
            missing.setdefault(step.op, []).append(step.name)
    refuse_undefined(
        missing,
        file=file,
        why="it is an operator of an extension, or one that we have no kernel for",
        fix="convert the model with other operators",
    )
