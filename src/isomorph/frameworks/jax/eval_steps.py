"""StableHLO operations made ready for the float64 executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isomorph.frameworks.jax.eval_control import RULES, keys_of, reduced_by_body
from isomorph.frameworks.jax.mlir_values import array_of
from isomorph.frameworks.jax.op_facts import CUSTOM_CALLS, DISCRETE, EXACT, MOVES
from isomorph.frameworks.jax.op_names import native, neutral, reducer
from isomorph.frameworks.jax.program import JaxBody, JaxNode, JaxProgram
from isomorph.kernels import registry
from isomorph.kernels.stablehlo.elementwise import STABLEHLO
from isomorph.oracle.call import Call
from isomorph.oracle.declared_graph import DeclaredStep, NamedBody, evaluable
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import WeightCache

_PASSES = frozenset({"return", "optimization_barrier"})
REPLACED = "replace"
"""How a region is called that returns what is written."""
_EXACT_JOINS = frozenset({"maximum", "minimum", "and", "or", REPLACED})


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxStep(DeclaredStep):
    """One operation; ``operands_read`` of its inputs are operands, the rest its regions read."""

    operands_read: int

    def float_type(
        self, dtypes: Sequence[str | None], declared: Sequence[str | None]
    ) -> str | None:
        """That of its outputs first."""
        return DeclaredStep.float_type(self, declared, dtypes)

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the kernel, from the operands."""
        return DeclaredStep.compute(self, call, arrays[: self.operands_read])


Part = NamedBody[JaxStep]


def compiled(
    program: JaxProgram, weights: WeightCache[str], *, file: str | None = None
) -> Sequence[JaxStep]:
    """The steps of the main function; an operation without a meaning is refused by its name."""
    registry.load_all()
    return evaluable(
        _Compiler(program, weights).steps(program.nodes),
        file=file,
        why="it draws random numbers, calls a library by name, or is one that we have no kernel "
        "for",
        fix="pass random numbers as inputs; define a call by name with isomorph.op and --ops",
    )


def stored_value(program: JaxProgram, name: str) -> EvalValue:
    """A constant of the module in its declared type."""
    if name not in program.constants:
        raise LookupError(f"{name} has no stored value")
    value = array_of(program.constants[name])
    return EvalValue(np.asarray(value), dtype=program.tensors[name].dtype, constant=True)


class _Compiler:
    def __init__(self, program: JaxProgram, weights: WeightCache[str]) -> None:
        self._program, self._weights, self._count = program, weights, 0

    def steps(self, nodes: Sequence[JaxNode]) -> tuple[JaxStep, ...]:
        """The nodes in order, without those that compute nothing."""
        return tuple(self._step(node) for node in nodes if node.outputs)

    def _part(self, body: JaxBody) -> Part:
        return NamedBody(
            inputs=body.inputs,
            outputs=body.outputs,
            steps=self.steps(body.nodes),
            own_constants=frozenset(body.own_constants),
            weights=self._weights,
        )

    def _step(self, node: JaxNode) -> JaxStep:
        self._count += 1
        index = self._count
        tensors = self._program.tensors
        made = tuple(tensors[name] for name in node.outputs)
        parts = {label: self._part(body) for label, body in node.bodies.items()}
        attributes: dict[str, Any] = {
            **node.attributes,
            "output_dtypes": tuple(each.dtype for each in made),
            "output_shapes": tuple(each.shape for each in made),
        }
        rule, kernel = RULES.get(node.op), registry.find(STABLEHLO, native(node), 1)
        join = joined_by(node)
        if node.op == "sort":
            keys = keys_of(parts["comparator"], self._weights.value)
            attributes["keys"], kernel = keys, kernel if keys is not None else None
        elif node.op in ("reduce", "reduce_window", "scatter"):
            attributes["reducer"] = join
            simple = join is not None and node.operands == (3 if node.op == "scatter" else 2)
            kernel = kernel if simple else None
            rule = reduced_by_body if node.op == "reduce" and not simple else None
        passes = node.op in _PASSES or neutral(node) == "Identity"
        if _is_complex(attributes) and node.op not in MOVES:
            kernel = None
        return JaxStep(
            index=index,
            name=node.name,
            op=native(node),
            inputs=node.inputs,
            outputs=node.outputs,
            attributes=attributes,
            rule=rule,
            passes=passes,
            shape_only=node.op == "get_dimension_size",
            discrete=node.op in DISCRETE,
            exact=_exact(node, join),
            narrow=node.op == "bitcast_convert",
            disturbable=any(map(is_inexact_number, node.attributes.values())),
            kernel=kernel
            if native(node) not in CUSTOM_CALLS or CUSTOM_CALLS[native(node)]
            else None,
            operands_read=node.operands,
            domain=STABLEHLO,
            declared=attributes["output_dtypes"],
            bodies=parts,
        )


def joined_by(node: JaxNode) -> str | None:
    """By what a region joins two numbers; ``replace`` where it returns the second."""
    if node.op not in ("reduce", "reduce_window", "scatter"):
        return None
    body = next(iter(node.bodies.values()))
    if not body.nodes and len(body.inputs) == 2 and body.outputs == body.inputs[1:]:
        return REPLACED if node.op == "scatter" else None
    return reducer(node)


def _exact(node: JaxNode, join: str | None) -> bool:
    return node.op in EXACT or native(node) == "chlo.top_k" or join in _EXACT_JOINS


def _is_complex(attributes: Mapping[str, Any]) -> bool:
    return any(str(each).startswith("complex") for each in attributes["output_dtypes"])
