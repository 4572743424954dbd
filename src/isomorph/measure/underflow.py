"""Constants of the reference that the candidate's narrow type cannot tell from zero.

An epsilon of 1e-10 becomes zero in float16, or the smallest number there is. That is no rounding:
behind a logarithm or a division it moves everything, and it is what the type makes of the
constant. So the reference is evaluated once more with such constants as the candidate stores
them. What is then within the intended loss is the price of the type; a number that becomes
infinite by it is a fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import UNDERFLOW_ELEMENTS
from isomorph.core.report import Experiment, Finding, FindingEffect, FindingStatus
from isomorph.measure.distance import float_info, widen
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.precision import narrow_constants
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise
    from isomorph.measure.evaluated_model import Comparand

CODE = "CONSTANT_UNDERFLOW"
_CLAMPED = 2.0
"""Smallest numbers of the type that a converter may store instead of zero.

onnxruntime's converter to float16 stores one of them, onnxconverter-common's 1e-7, which is two.
"""
_MOST_TOLD = 3
_FELT = 0.01
"""Of the largest effect of one constant: others with less are not worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConstant:
    """A constant of the reference, and its counterpart in the candidate that lost it."""

    reference: str
    candidate: str
    dtype: str
    exact: Array = field(repr=False)
    stored: Array = field(repr=False)

    @property
    def words(self) -> str:
        """What became of the number that lost most."""
        lost = np.ravel(self.exact != self.stored)
        place = int(np.argmax(lost))
        was, now = float(np.ravel(self.exact)[place]), float(np.ravel(self.stored)[place])
        return f"{was:.3g} is stored as {now:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Underflow:
    """The reference with constants as the candidate's type stores them, and what that explains."""

    reference: EvaluatedModel
    candidate: EvaluatedModel
    constants: tuple[StoredConstant, ...]
    outputs: frozenset[str] = frozenset()
    """Outputs of the candidate that are as this reference has them."""
    findings: tuple[Finding, ...] = ()


class _StoredConstants:
    """An oracle in which some constants hold other numbers."""

    def __init__(self, session: Session, constants: Arrays) -> None:
        self.session, self._constants = session, constants
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """As the session itself."""
        return self.session.run({**self._constants, **feeds}, fetch, noise=noise)

    def close(self) -> None:
        """Let go of what the session holds."""
        self.session.close()


def underflow(reference: Comparand, candidate: Comparand) -> Underflow | None:
    """The reference with its constants as the candidate's type stores them; None where it can."""
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
    """The outputs as judged with the constants as they are stored, and what to say of it."""
    meant, stored = plain.oracle_outputs(), found.reference.oracle_outputs()
    if isinstance(meant, IsomorphError) or isinstance(stored, IsomorphError):
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
        endless = _turned_infinite(meant.get(str(name)), stored.get(str(name)))
        first = found.constants[0]
        judged.append(
            replace(old, reason=f"constant {first.candidate!r} underflows: values become infinite")
            if endless
            else replace(
                old,
                verdict=Verdict.DEGRADED,
                intended_loss=new.intended_loss or old.intended_loss,
                reason="loses what its lower precision intends, constants that underflow included",
            )
        )
    if not outputs:
        return tuple(before), None
    marked = replace(found, outputs=frozenset(outputs))
    return tuple(judged), replace(marked, findings=tuple(_findings(marked, plain)))


def _lost(
    reference: EvaluatedModel, candidate: EvaluatedModel, ref: Session, cand: Session
) -> Iterator[StoredConstant]:
    """Constants with numbers that the candidate's type cannot tell from zero."""
    here, there = reference.model.graph.constants, candidate.model.graph.constants
    narrow = [
        name
        for name in narrow_constants(candidate.model.graph)
        if float_info(there[name].dtype).smallest_normal > np.finfo(np.float32).smallest_normal
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
            held = widen(np.asarray(cand.run({}, [rival])[rival]))
            found = _as_stored(exact, held.reshape(exact.shape), there[rival].dtype)
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
    """The smallest number above zero of a type."""
    return float(float_info(dtype).smallest_subnormal)


def _as_stored(exact: Array, held: Array, dtype: str) -> Array | None:
    """The numbers with those that underflow as they are held; None where these are others.

    Every other number has to be what one rounding makes of it.
    """
    least = _smallest(dtype)
    tiny = (exact != 0) & (np.abs(exact) < least)
    with np.errstate(invalid="ignore"):
        near = np.abs(held - exact) <= np.maximum(2 * unit_roundoff(dtype) * np.abs(exact), least)
        gone = (np.abs(held) <= _CLAMPED * least) & (held * np.sign(exact) >= 0)
    same = (held == exact) | near
    if not np.all(np.where(tiny, gone, same)) or not np.any(tiny & (held != exact)):
        return None
    return np.asarray(np.where(tiny, held, exact))


def _holding(reference: EvaluatedModel, constants: Sequence[StoredConstant]) -> EvaluatedModel:
    """The reference with these constants as they are stored; its run is the one it had."""
    put = {each.reference: each.stored for each in constants}
    return reference.evaluated_by(_StoredConstants(reference.oracle(), put))


def _turned_infinite(meant: Array | None, stored: Array | None) -> bool:
    if meant is None or stored is None or meant.dtype.kind != "f":
        return False
    return bool(np.any(np.isfinite(meant) & ~np.isfinite(stored)))


def _findings(found: Underflow, plain: EvaluatedModel) -> Iterator[Finding]:
    """One for each constant that is felt at an output, the worst first."""
    meant = plain.oracle_outputs()
    if isinstance(meant, IsomorphError):
        return
    felt: list[tuple[float, StoredConstant]] = []
    for each in found.constants:
        alone = _holding(plain, [each]).oracle_outputs()
        if not isinstance(alone, IsomorphError):
            felt.append((_moved(meant, alone), each))
    most = max((size for size, _ in felt), default=0.0)
    felt = [(s, e) for s, e in felt if s > 0 and (math.isinf(s) or s >= _FELT * most)]
    for size, constant in sorted(felt, key=lambda each: -each[0])[:_MOST_TOLD]:
        yield _finding(constant, size, found)


def _moved(meant: Mapping[str, Array], stored: Mapping[str, Array]) -> float:
    """How far outputs move, as a share of their size; infinite where a number is none any more."""
    most = 0.0
    for name, right in meant.items():
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
    reads = f", which node {node.name!r} ({node.op}) reads" if node is not None else ""
    moves = "makes outputs infinite" if math.isinf(size) else f"moves outputs by {100 * size:.2g}%"
    return Finding(
        rank=0,
        code=CODE,
        cause="precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        node=node.name if node is not None else None,
        nodes=tuple(each.name for each in readers),
        tensors=(constant.candidate,),
        source=node.source if node is not None else None,
        summary=f"constant {constant.candidate!r}{reads}, is too small for {constant.dtype}: "
        f"{constant.words}, and that {moves}",
        evidence={
            "constant": constant.candidate,
            "reference_constant": constant.reference,
            "type": constant.dtype,
            "smallest": _smallest(constant.dtype),
        },
        experiments=(
            Experiment(
                question=f"Is {constant.candidate!r} what moves the outputs?",
                change="the reference gets the number that the candidate stores",
                predicts="the outputs differ by no more than lower precision costs",
                seen=", ".join(sorted(found.outputs)) + " agree then",
                agrees=True,
            ),
        ),
        fix=f"keep {constant.candidate!r} and the nodes that read it in float32, or train with a "
        f"constant that {constant.dtype} can hold",
    )


def _readers(found: Underflow, constant: StoredConstant) -> list[Node]:
    """The nodes of the candidate that read a constant."""
    nodes = found.candidate.model.graph.nodes
    return [node for node in nodes if constant.candidate in node.inputs]
