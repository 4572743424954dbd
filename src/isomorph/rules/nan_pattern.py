"""Roots, logarithms and quotients of what may not be positive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isomorph.core.limits import SIGN_STEPS
from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import Node
from isomorph.core.rule_examples import constant, linted_model, node

_PARTIAL = frozenset({"Log", "Sqrt", "Rsqrt", "Reciprocal", "Div"})
_POSITIVE = frozenset({"Exp", "Sigmoid", "Softmax", "Softplus", "Cosh"})
_NOT_NEGATIVE = frozenset({"Relu", "Abs", "Square", "ReduceL1", "ReduceL2", "ReduceSumSquare"})
_KEEPS_SIGN = frozenset(
    {"Identity", "Reshape", "Transpose", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
     "Squeeze", "Unsqueeze", "Expand", "Cast", "Sqrt", "Flatten", "Concat", "Slice", "Gather"}
)  # fmt: skip


class NanPattern:
    """A logarithm, root or quotient whose operand is not kept away from zero.

    It is a note: the model may never feed such a value. Where it does, frameworks differ in what
    comes out, and optimizers that rewrite ``a / b`` or ``1 / sqrt(x)`` move the edge.
    """

    name = "nan_pattern"
    code = "ISO112"
    positive_examples = (
        linted_model(node("Log")),
        linted_model(node("Abs", out="a"), node("Log", "a")),
        linted_model(node("Div", "x", "x")),
    )
    negative_examples = (
        linted_model(node("Exp", out="a"), node("Log", "a")),
        linted_model(node("Relu", out="a"), node("Sqrt", "a")),
        linted_model(
            node("Abs", out="a"),
            node("Add", "a", "e", out="b"),
            node("Log", "b"),
            constants=(constant("e", 1e-5, shape=()),),
        ),
        linted_model(node("Div", "x", "c"), constants=(constant("c", 2.0, shape=()),)),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each such node."""
        makers = {name: each for each in linted.model.graph.nodes for name in each.outputs}
        for each in linted.model.graph.nodes:
            if each.op not in _PARTIAL or not _floats(linted, each):
                continue
            operand = each.inputs[-1] if each.op == "Div" else each.inputs[0]
            sign = _sign(linted, makers, operand, SIGN_STEPS)
            if sign == "positive" or (each.op == "Sqrt" and sign == "not negative"):
                continue
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.NOTE,
                message=message(
                    "ISO112.negative" if each.op == "Sqrt" else "ISO112.zero",
                    op=each.op,
                    operand=operand,
                ),
                advice=message("ISO112.advice"),
                node=each.name,
                source=each.source,
            )


def _floats(linted: LintedModel, each: Node) -> bool:
    return "float" in (linted.dtype(each.outputs[0]) or "")


def _sign(linted: LintedModel, makers: Mapping[str, Node], tensor: str, left: int) -> str:
    """``positive``, ``not negative`` or ``any``, derived from a few nodes before."""
    stored = linted.model.graph.constants.get(tensor)
    if stored is not None:
        # Values of a large weight are not described; whoever trained it saw to that.
        known = [value for value in stored.values or () if isinstance(value, (int, float))]
        least = min(known, default=1)
        return "positive" if least > 0 else "not negative" if least == 0 else "any"
    made = makers.get(tensor)
    if made is None or not left:
        return "any"
    signs = [_sign(linted, makers, name, left - 1) for name in made.inputs if name]
    return _after(linted, made, signs)


def _after(linted: LintedModel, made: Node, signs: list[str]) -> str:
    if made.op in _POSITIVE:
        return "positive"
    if made.op in _NOT_NEGATIVE or (made.op == "Pow" and _even(linted, made)):
        return "not negative"
    if made.op == "Mul" and len(set(made.inputs)) == 1:
        return "not negative"
    if made.op in {"Add", "Max"} and "any" not in signs and "positive" in signs:
        return "positive"
    if made.op in {"Clip", "Max"} and _floor(linted, made) > 0:
        return "positive"
    if made.op in {"Mul", "Div", "Add"} and "any" not in signs:
        return "positive" if set(signs) == {"positive"} else "not negative"
    return signs[0] if made.op in _KEEPS_SIGN and signs else "any"


def _even(linted: LintedModel, made: Node) -> bool:
    stored = linted.model.graph.constants.get(made.inputs[-1])
    power = stored.values[0] if stored is not None and stored.values else None
    power = made.attributes.get("exponent", power)
    return isinstance(power, (int, float)) and power % 2 == 0


def _floor(linted: LintedModel, made: Node) -> float:
    low = made.attributes.get("min")
    if low is None and len(made.inputs) > 1:
        stored = linted.model.graph.constants.get(made.inputs[1])
        low = stored.values[0] if stored is not None and stored.values else None
    return float(low) if isinstance(low, (int, float)) else 0.0
