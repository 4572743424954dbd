"""ML programs for the float64 oracle, fed and fetched at any tensor of the main block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.coreml.lowering import LoweredGraph, LoweredNode, lowered
from isomorph.kernels import registry
from isomorph.oracle import evaluator as oracle
from isomorph.oracle.control_flow import chosen, truth, while_loop
from isomorph.oracle.declared_graph import DeclaredGraph, DeclaredStep, NamedBody, evaluable
from isomorph.oracle.plan import constant_tensors
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.step import Scope, Step
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.frameworks.coreml.program import MilProgram
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.step import Read, Rule

_VERSION = 24
"""Of ONNX's operators whose kernels are used."""
_EXACT = MOVES_DATA | frozenset(
    {"Cast", "Equal", "NotEqual", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or",
     "Not", "Xor", "ThresholdedRelu", "Stack", "ConstantOfShape", "QuantizeLinear",
     "PaletteLookup", "NonZero", "OneHot", "SliceScatter"}
)  # fmt: skip
_DISCRETE = frozenset({"Floor", "Ceil", "Round", "Sign", "Mod", "ConstantOfShape"})


class Evaluator(oracle.Evaluator[str]):
    """One ML program, loaded once and run many times."""

    def __init__(self, program: MilProgram, *, file: str | None = None) -> None:
        super().__init__(MilGraph(lowered(program), file))


class MilGraph(DeclaredGraph):
    """The main block: its operations as steps, and the constants that they read."""

    def __init__(self, graph: LoweredGraph, file: str | None) -> None:
        registry.load_all()
        super().__init__(
            evaluable(
                tuple(map(_step, graph.nodes)),
                file=file,
                why="it is none of the operators of MIL that have a kernel here",
                fix="define it with isomorph.op and --ops, or convert the model without it",
            ),
            graph.inputs,
            graph.outputs,
            types={name: declared.dtype for name, declared in graph.types.items()},
            stored=graph.constants,
            weights=_weights(graph),
        )
        self._constants = constant_tensors(self.steps, graph.constants, _from_constants)

    def is_constant(self, key: str) -> bool:
        """Whether a tensor follows from constants and shapes alone."""
        return key in self._constants


def _from_constants(step: Step[str], known: Any) -> bool:  # noqa: ANN401
    return step.shape_only or all(name in known for name in step.needs)


def _weights(graph: LoweredGraph) -> WeightCache[str]:
    return WeightCache(lambda key: EvalValue(np.asarray(graph.array(key)), constant=True))


def _step(node: LoweredNode) -> DeclaredStep:
    meaning, native = node.meaning, node.operation.type
    op = meaning.kernel or meaning.op
    rule = RULES.get(native)
    known = rule is None and not node.missing
    because = f" ({node.missing})" if node.missing and node.missing != "no kernel" else ""
    return DeclaredStep(
        index=node.index,
        name=node.name,
        op=op,
        native=f"{native}{because}",
        domain=meaning.domain,
        version=_VERSION,
        kernel=registry.find(meaning.domain, op, _VERSION) if known else None,
        rule=None if node.missing else rule,
        inputs=meaning.inputs,
        outputs=tuple(name for name, _ in node.operation.outputs),
        declared=tuple(declared.dtype for _, declared in node.operation.outputs),
        attributes=meaning.attributes,
        shape_only=op == "Shape",
        discrete=op in _DISCRETE,
        exact=meaning.op in _EXACT,
        disturbable=any(map(is_inexact_number, meaning.attributes.values())),
        captured=tuple({n: None for body in node.bodies.values() for n in body.captured}),
        bodies={word: _body(body) for word, body in node.bodies.items()},
    )


def _body(graph: LoweredGraph) -> NamedBody[DeclaredStep]:
    return NamedBody(
        steps=tuple(map(_step, graph.nodes)),
        inputs=graph.inputs,
        outputs=graph.outputs,
        own_constants=graph.constants,
        weights=_weights(graph),
    )


def _cond(
    executor: Executor, step: DeclaredStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    taken = truth(inputs[0])
    inner = scope.inside(step.index, int(taken))
    body = step.bodies["then" if taken else "else"]
    return chosen(executor.body(body, {}, inner, read), inputs[0])


def _while(
    executor: Executor, step: DeclaredStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    def run(word: str, carried: Sequence[EvalValue], *place: int) -> list[EvalValue]:
        body = step.bodies[word]
        given = dict(zip(body.inputs, carried, strict=True))
        return executor.body(body, given, scope.inside(step.index, *place), read)

    return while_loop(
        inputs,
        lambda carried, count: run("cond", carried, count, 0),
        lambda carried, count: run("body", carried, count, 1),
    )


RULES: Mapping[str, Rule] = {"cond": _cond, "while_loop": _while}
"""How each operator is evaluated that runs blocks."""
