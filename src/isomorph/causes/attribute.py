"""The same operator with the same weights, told to do something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from isomorph.core.case import Case, Diagnosis
from isomorph.stages.diagnose import constants

if TYPE_CHECKING:
    from isomorph.core.model import Node

# One meaning under two names: PyTorch's argument, then ONNX's attribute.
_SAME_MEANING = {
    "eps": "epsilon", "dim": "axis", "negative_slope": "alpha", "padding": "pads",
    "stride": "strides", "dilation": "dilations", "kernel_size": "kernel_shape",
    "groups": "group", "approximate": "approximate", "keepdim": "keepdims", "min": "min",
    "max": "max",
}  # fmt: skip


# What changes nothing when a model is only evaluated, or is spelled by opposite conventions.
_WITHOUT_EFFECT = frozenset({"momentum", "cudnn_enabled", "training", "training_mode", "inplace"})


class Attribute:
    """An attribute, a default of an opset, or a small parameter has another value.

    Recognised where the operator and its weights are the reference's and its inputs are right:
    then only what it is told to do is left. Attributes that both sides spell out are compared
    through their common names.
    """

    name = "attribute"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Speak only where the weights cannot be it."""
        weights = constants.weights(case, constants.unmatched(case))
        if case.scattered or weights or not case.counterparts:
            return
        other = _same_operator(case)
        if other is None:
            yield from _decomposed(case)
            return
        different = _different(case.node.attributes, other.attributes)
        told = "; ".join(
            f"{name} is {_shown(mine)}, not {_shown(theirs)}"
            for name, mine, theirs in different[:3]
        )
        yield Diagnosis(
            cause="attribute",
            certainty=2 if different else 1,
            summary=f"{case.node.op} has the reference's inputs and weights, and another result"
            + (f": {told}" if told else ""),
            evidence={"attributes": [list(map(str, each)) for each in different]},
            fix="; ".join(f"set {name} to {_shown(theirs)}" for name, _, theirs in different[:3])
            or None,
        )


def _same_operator(case: Case) -> Node | None:
    """The counterpart that does what one of the guilty nodes does."""
    ops = {node.op for node in case.nodes}
    same = [node for node in case.counterparts if node.op in ops]
    return same[-1] if same else None


def _decomposed(case: Case) -> Iterator[Diagnosis]:
    """One side spells out what the other has as one operator: its form or parameter differs."""
    one = case.node if len(case.nodes) == 1 else None
    if one is None and len(case.counterparts) != 1:
        return
    whole = one or case.counterparts[0]
    if not whole.attributes and not constants.unmatched(case):
        return
    yield Diagnosis(
        cause="attribute",
        certainty=1,
        summary=f"{whole.op} is computed in another form or with another parameter "
        "than its counterpart",
        evidence={"attributes": {name: str(value) for name, value in whole.attributes.items()}},
    )


def _different(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Attributes that both sides state, with other values."""
    named = {_SAME_MEANING.get(name, name): value for name, value in theirs.items()}
    found = []
    for name, value in mine.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name in named and named[name] is not None and not _equal(value, named[name]):
            found.append((name, value, named[name]))
    return found


def _shown(value: Any) -> str:  # noqa: ANN401
    return f"{value:g}" if isinstance(value, float) else str(value)


def _equal(mine: Any, theirs: Any) -> bool:  # noqa: ANN401
    if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        left, right = list(mine), list(theirs)
        # ONNX writes the begin and end of every axis; PyTorch each axis once.
        if len(left) == 2 * len(right) and left[: len(right)] == left[len(right) :]:
            left = left[: len(right)]
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(mine, (int, float)) and isinstance(theirs, (int, float)):
        # A file may store as float32 what the other side holds as a double.
        return abs(float(mine) - float(theirs)) <= 2.0**-23 * abs(float(theirs))
    return str(mine) == str(theirs) or str(mine).lower() == str(theirs).lower()
