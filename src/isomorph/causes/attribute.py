"""The same operator with the same weights, told to do something else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from isomorph.core.case import Case, Diagnosis
from isomorph.core.patch import Edit, Patch
from isomorph.core.report import Experiment
from isomorph.stages.diagnose import constants
from isomorph.stages.diagnose.choices import choices
from isomorph.stages.diagnose.counterpart import told
from isomorph.stages.diagnose.forms import forms
from isomorph.stages.diagnose.parameters import current, parameter, stored
from isomorph.stages.measure.widths import QUANTISED_OPS

if TYPE_CHECKING:
    from isomorph.core.model import Node

_MOST_TRIALS = 64
_MOST_NODES = 4
_SPOKEN_FOR = frozenset({"Constant", "Cast", "CastLike"})
"""What these are told is a value or a type, and other causes know them."""
# A weight that is stored transposed is read rightly by the flag beside it.
_READS_WEIGHTS = frozenset({"transA", "transB"})


class Attribute:
    """An attribute, a default of an opset, or a small parameter has another value.

    Recognised by putting the right value in: first what the reference states, through the names
    that both sides have in common, then the few other words, flags, axes and pads that mean
    something. If the node is right then, nothing but this value was wrong. Where the graphs have
    nothing in common, the form that each side computes is recognised by its values.
    """

    name = "attribute"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Confirmed by a value that heals; else suspected where the weights cannot be it."""
        if case.scattered or not case.counterparts or _quantised(case):
            return
        found = next(_confirmed(case), None) or _another_form(case)
        if found is not None:
            yield found
            return
        if constants.weights(case, constants.unmatched(case)):
            return
        yield from _suspected(case)


def _quantised(case: Case) -> bool:
    """A quantiser's parameters have a cause of their own."""
    return any(node.op in QUANTISED_OPS for node in case.nodes)


def _confirmed(case: Case) -> Iterator[Diagnosis]:
    """Every value that puts the node right, the likeliest first; few are tried."""
    trials = islice(_trials(case), _MOST_TRIALS)
    for node, name, now, value, edits in trials:
        found = case.rehearse(Patch(summary="", edits=edits))
        if found is not None and case.equals(found):
            yield _told(node, name, now, value)


def _trials(case: Case) -> Iterator[tuple[Node | None, str, Any, Any, tuple[Edit, ...]]]:
    nodes = [case.node, *(node for node in case.nodes if node.name != case.node.name)]
    nodes = [node for node in nodes if node.op not in _SPOKEN_FOR][:_MOST_NODES]
    for node in nodes:
        for name, value in told(case, node):
            now = current(case, node, name)
            yield node, name, now, value, parameter(case, node, name, value)
    for node in nodes:
        for name, values in choices(case, node, _rank(case, node)).items():
            if name in _READS_WEIGHTS and not constants.stored_alike(case):
                continue
            now = current(case, node, name)
            for value in values:
                yield node, name, now, value, parameter(case, node, name, value)
    yield from _scalars(case)


def _scalars(case: Case) -> Iterator[tuple[Node | None, str, Any, Any, tuple[Edit, ...]]]:
    """Single numbers of a spelled-out operator, each with the numbers that the reference has."""
    import numpy as np

    stated = list(constants.stated(case))
    for name in constants.floats(case.candidate, case.nodes):
        held = case.candidate.constants[name]
        if held.values is None or len(held.values) != 1:
            continue
        now = float(held.values[0])
        for value in stated:
            if value != now:
                array = np.full(held.shape, value, np.float64)
                yield None, name, now, value, stored(case, name, array)


def _told(node: Node | None, name: str, now: Any, value: Any) -> Diagnosis:  # noqa: ANN401
    what = f"{node.op} {name}" if node is not None else f"the number {name!r}"
    return Diagnosis(
        cause="attribute",
        certainty=3,
        summary=f"{what} is {_shown(now)}, not {_shown(value)}",
        evidence={"attributes": [[name, str(now), str(value)]]},
        experiments=(
            Experiment(
                question=f"Is {name} of {node.name!r} wrong?" if node else f"Is {name!r} wrong?",
                change=f"it becomes {_shown(value)}",
                predicts="the node is right",
                seen="it is",
                agrees=True,
            ),
        ),
        fix=f"set {name} to {_shown(value)}",
    )


def _another_form(case: Case) -> Diagnosis | None:
    """Two formulas of one activation, recognised by what each gives for the same input."""
    mine, theirs = forms(case)
    if mine is None or theirs is None:
        return None
    return Diagnosis(
        cause="attribute",
        certainty=3,
        summary=f"it computes {mine}, and the reference {theirs}",
        evidence={"form": mine, "reference_form": theirs},
        experiments=(
            Experiment(
                question="Which formula does each side compute?",
                change="the known formulas are computed in float64 from the same input",
                predicts="each side is one of them",
                seen=f"the candidate is {mine}, the reference {theirs}",
                agrees=True,
            ),
        ),
        fix=f"use {theirs}",
    )


def _suspected(case: Case) -> Iterator[Diagnosis]:
    other = _same_operator(case)
    if other is None:
        yield from _decomposed(case)
        return
    node = next(each for each in reversed(case.nodes) if each.op == other.op)
    small = [case.candidate.constants[n] for n in node.inputs if n in case.candidate.constants]
    if not node.attributes and all(each.values is None for each in small):
        return  # it cannot be told anything
    different = [(name, current(case, node, name), value) for name, value in told(case, node)]
    words = "; ".join(f"{n} is {_shown(mine)}, not {_shown(right)}" for n, mine, right in different)
    yield Diagnosis(
        cause="attribute",
        certainty=2 if different else 1,
        summary=f"{node.op} has the reference's inputs and weights, and another result"
        + (f": {words}" if words else ""),
        evidence={"attributes": [list(map(str, each)) for each in different]},
        fix="; ".join(f"set {name} to {_shown(right)}" for name, _, right in different) or None,
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
    if whole.op in _SPOKEN_FOR:
        return
    if not whole.attributes and not constants.unmatched(case):
        return
    yield Diagnosis(
        cause="attribute",
        certainty=1,
        summary=f"{whole.op} is computed in another form or with another parameter "
        "than its counterpart",
        evidence={"attributes": {name: str(value) for name, value in whole.attributes.items()}},
    )


def _rank(case: Case, node: Node) -> int:
    spec = case.candidate.tensors.get(node.inputs[0]) if node.inputs else None
    return len(spec.shape) if spec is not None and spec.shape is not None else case.right.ndim


def _shown(value: Any) -> str:  # noqa: ANN401
    return f"{value:g}" if isinstance(value, float) else str(value)
