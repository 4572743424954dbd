"""Constants of the reference that underflow in the candidate's narrow type.

An epsilon of 1e-10 becomes zero in float16, or the smallest positive number. This is no rounding:
after a logarithm or a division it changes everything, and it is inherent to the type. So the
reference is evaluated again with such constants as the candidate stores them. What is then within
the intended loss is the cost of the type; a value that becomes infinite is a fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.experiments import experiment
from isomorph.core.limits import UNDERFLOW_ELEMENTS
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node, percentage
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.core.stated_numbers import RELEVANT_SHARE, UNDERFLOW_CLAMPED
from isomorph.measure.distance import float_info, widen
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.precision import narrow_constants
from isomorph.measure.replaced_constants import ReplacedConstants
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.measure.comparand import Comparand

CODE = "CONSTANT_UNDERFLOW"
_MOST_LISTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConstant:
    """A constant of the reference, and its counterpart in the candidate that underflows."""

    reference: str
    candidate: str
    dtype: str
    exact: Array = field(repr=False)
    stored: Array = field(repr=False)

    @property
    def text(self) -> str:
        """How the first element that underflows is stored, as text."""
        lost = np.ravel(self.exact != self.stored)
        place = int(np.argmax(lost))
        was, now = float(np.ravel(self.exact)[place]), float(np.ravel(self.stored)[place])
        return message("difference.stored_as", exact=was, stored=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Underflow:
    """The reference with constants as the candidate's type stores them, and what that explains."""

    reference: EvaluatedModel
    candidate: EvaluatedModel
    constants: tuple[StoredConstant, ...]
    outputs: frozenset[str] = frozenset()
    """Outputs of the candidate that agree with this reference."""
    findings: tuple[Finding, ...] = ()


def underflow(reference: Comparand, candidate: Comparand) -> Underflow | None:
    """Return the reference with constants as the candidate stores them; None if none differ."""
    if not (isinstance(reference, EvaluatedModel) and isinstance(candidate, EvaluatedModel)):
        return None
    try:
        sessions = reference.oracle(), candidate.oracle()
        if any(each.capabilities.feed != "all" for each in sessions):
            return None
        constants = tuple(_lost(reference, candidate, *sessions))
    except (IsomorphError, ValueError, KeyError):
        return None  # a constant that cannot be read explains nothing
    if not constants:
        return None
    stored = _holding(reference, constants)
    return Underflow(reference=stored, candidate=candidate, constants=constants)


def explained(
    found: Underflow,
    before: Sequence[Divergence],
    after: Sequence[Divergence],
    plain: EvaluatedModel,
) -> tuple[tuple[Divergence, ...], Underflow | None]:
    """Return the divergences judged with the stored constants, and the resulting findings."""
    expected, stored = plain.oracle_outputs(), found.reference.oracle_outputs()
    if isinstance(expected, IsomorphError) or isinstance(stored, IsomorphError):
        return tuple(before), None
    judged: list[Divergence] = []
    outputs: set[str] = set()
    for old, new in zip(before, after, strict=True):
        fine = new.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}
        if old.verdict is not Verdict.DIVERGENT or not fine:
            judged.append(old)
            continue
        outputs.add(str(old.candidate_output))
        name = old.reference_output
        endless = _turned_infinite(expected.get(str(name)), stored.get(str(name)))
        first = found.constants[0]
        judged.append(
            replace(old, reason=message("DIVERGENT.infinite", constant=first.candidate))
            if endless
            else replace(
                old,
                verdict=Verdict.DEGRADED,
                intended_loss=new.intended_loss or old.intended_loss,
                reason=message("DEGRADED.underflow"),
            )
        )
    if not outputs:
        return tuple(before), None
    marked = replace(found, outputs=frozenset(outputs))
    return tuple(judged), replace(marked, findings=tuple(_findings(marked, plain)))


def _lost(
    reference: EvaluatedModel, candidate: EvaluatedModel, ref: Session, cand: Session
) -> Iterator[StoredConstant]:
    """Yield the constants with elements that underflow in the candidate's type."""
    here, there = reference.model.graph.constants, candidate.model.graph.constants
    narrow = [
        name
        for name in narrow_constants(candidate.model.graph)
        if name in there
        and float_info(there[name].dtype).smallest_normal > np.finfo(np.float32).smallest_normal
    ]
    by_size: dict[int, list[str]] = {}
    for name in narrow:
        by_size.setdefault(math.prod(there[name].shape), []).append(name)
    kept = {*narrow_constants(reference.model.graph)}
    for name, constant in here.items():
        size = math.prod(constant.shape)
        rivals = by_size.get(size, []) if size <= UNDERFLOW_ELEMENTS else []
        if not rivals or name in kept or "float" not in constant.dtype:
            continue
        exact = widen(np.asarray(ref.run({}, [name])[name]))
        least = max(_smallest(there[rival].dtype) for rival in rivals)
        if not np.any((exact != 0) & (np.abs(exact) < least)):
            continue
        for rival in sorted(rivals, key=lambda each: each != name):
            actual = widen(np.asarray(cand.run({}, [rival])[rival]))
            found = _as_stored(exact, actual.reshape(exact.shape), there[rival].dtype)
            if found is not None:
                yield StoredConstant(
                    reference=name,
                    candidate=rival,
                    dtype=there[rival].dtype,
                    exact=exact,
                    stored=found,
                )
                break


def _smallest(dtype: str) -> float:
    """Return the smallest positive number of a type."""
    return float(float_info(dtype).smallest_subnormal)


def _as_stored(exact: Array, actual: Array, dtype: str) -> Array | None:
    """Return ``exact`` with the elements that underflow as stored; None if others differ.

    Every other element must be one rounding of the exact one.
    """
    least = _smallest(dtype)
    tiny = (exact != 0) & (np.abs(exact) < least)
    with np.errstate(invalid="ignore"):
        near = np.abs(actual - exact) <= np.maximum(2 * unit_roundoff(dtype) * np.abs(exact), least)
        gone = (np.abs(actual) <= UNDERFLOW_CLAMPED * least) & (actual * np.sign(exact) >= 0)
    same = (actual == exact) | near
    if not np.all(np.where(tiny, gone, same)) or not np.any(tiny & (actual != exact)):
        return None
    return np.asarray(np.where(tiny, actual, exact))


def _holding(reference: EvaluatedModel, constants: Sequence[StoredConstant]) -> EvaluatedModel:
    """Return the reference with these constants as stored; its runs are kept."""
    put = {each.reference: each.stored for each in constants}
    return reference.evaluated_by(ReplacedConstants(reference.oracle(), put))


def _turned_infinite(expected: Array | None, stored: Array | None) -> bool:
    if expected is None or stored is None or expected.dtype.kind != "f":
        return False
    return bool(np.any(np.isfinite(expected) & ~np.isfinite(stored)))


def _findings(found: Underflow, plain: EvaluatedModel) -> Iterator[Finding]:
    """Yield one finding for each constant that affects an output, the worst first."""
    expected = plain.oracle_outputs()
    if isinstance(expected, IsomorphError):
        return
    effects: list[tuple[float, StoredConstant]] = []
    for each in found.constants:
        alone = _holding(plain, [each]).oracle_outputs()
        if not isinstance(alone, IsomorphError):
            effects.append((_moved(expected, alone), each))
    most = max((size for size, _ in effects), default=0.0)
    effects = [
        (s, e) for s, e in effects if s > 0 and (math.isinf(s) or s >= RELEVANT_SHARE * most)
    ]
    for size, constant in sorted(effects, key=lambda each: -each[0])[:_MOST_LISTED]:
        yield _finding(constant, size, found)


def _moved(expected: Mapping[str, Array], stored: Mapping[str, Array]) -> float:
    """Return the relative change of the outputs; infinite where a value is no longer finite."""
    most = 0.0
    for name, right in expected.items():
        other = stored.get(name)
        if other is None or right.dtype.kind != "f" or other.shape != right.shape:
            continue
        if _turned_infinite(right, other):
            return math.inf
        with np.errstate(all="ignore"):
            finite = np.isfinite(right) & np.isfinite(other)
            size = float(np.max(np.abs(right), initial=0.0, where=finite))
            step = float(np.max(np.abs(other - right), initial=0.0, where=finite))
        most = max(most, step / size if size else step)
    return most


def _finding(constant: StoredConstant, size: float, found: Underflow) -> Finding:
    readers = _readers(found, constant)
    node = readers[0] if readers else None
    place = named_node(node.op, node.name) if node is not None else ""
    if math.isinf(size):
        text = message(
            "CONSTANT_UNDERFLOW.infinite",
            constant=constant.candidate,
            dtype=constant.dtype,
            stored=constant.text,
        )
    else:
        text = message(
            "CONSTANT_UNDERFLOW.moves",
            constant=constant.candidate,
            dtype=constant.dtype,
            stored=constant.text,
            size=percentage(size),
        )
    return Finding(
        code=CODE,
        cause="precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        node=node.name if node is not None else None,
        nodes=tuple(each.name for each in readers),
        tensors=(constant.candidate,),
        source=node.source if node is not None else None,
        summary=f"{place}: {text}" if place else text,
        evidence={
            Fact.CONSTANT: constant.candidate,
            "reference_constant": constant.reference,
            "type": constant.dtype,
            "smallest": _smallest(constant.dtype),
        },
        experiments=(
            experiment(
                "precision.constant",
                constant=constant.candidate,
                outputs=", ".join(sorted(found.outputs)),
            ),
        ),
        fix=message("FIX.float32_constant", constant=constant.candidate, dtype=constant.dtype),
    )


def _readers(found: Underflow, constant: StoredConstant) -> list[Node]:
    """Return the nodes of the candidate that read a constant."""
    nodes = found.candidate.model.graph.nodes
    return [node for node in nodes if constant.candidate in node.inputs]
