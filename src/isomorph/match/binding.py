"""Pair the inputs and outputs of two models by evidence; an ambiguous pairing is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from isomorph.core.errors import UsageError
from isomorph.core.model import Dimension, TensorSpec
from isomorph.core.report import Binding, BoundBy

PATH = re.compile(r"(\[\d+\]|\.keys|\.values)+$")
"""Behind the name of a sequence or a map, the path of one of its elements."""


def bind_inputs(
    reference: Sequence[TensorSpec],
    candidate: Sequence[TensorSpec],
    stated: Mapping[str, str],
) -> tuple[Binding, ...]:
    """Pair the inputs as the user states, by name, or by a type and shape that fit only once.

    An input of the candidate without a counterpart is an error. An input of the reference that the
    candidate does not take stays unbound (a conversion may remove an unused one), and the caller
    reports it.
    """
    bound = _stated(reference, candidate, stated, "input")
    bound += _by_name(_unbound(reference, bound, 0), _unbound(candidate, bound, 1))
    open_reference, open_candidate = _unbound(reference, bound, 0), _unbound(candidate, bound, 1)
    numbered = _by_number(open_reference, open_candidate)
    if numbered:
        return tuple(bound + numbered)
    for spec in open_candidate:
        fits = [other for other in open_reference if _compatible(other, spec)]
        rivals = [other for other in open_candidate if fits and _compatible(fits[0], other)]
        if len(fits) == 1 and len(rivals) == 1:
            how = f"only pair of this type and shape ({spec.dtype}, {_shape(spec)})"
            bound.append(Binding(reference=fits[0].name, candidate=spec.name, how=how))
        elif len(open_reference) == len(open_candidate) == 1:
            # Only one is left on each side; whether its shape fits shows when it is fed.
            how = "the only one left"
            bound.append(Binding(reference=open_reference[0].name, candidate=spec.name, how=how))
        else:
            raise _ambiguous(spec, fits or open_reference, "input")
    return tuple(bound)


def bind_outputs(
    reference: Sequence[TensorSpec],
    candidate: Sequence[TensorSpec],
    stated: Mapping[str, str],
) -> tuple[Binding, ...]:
    """Pair the outputs as the user states, by name, or else by their position in the signature.

    Callers rely on the position. Whether the values agree is measured later, where swapped outputs
    become a finding.
    """
    bound = _stated(reference, candidate, stated, "output")
    open_reference, open_candidate = _unbound(reference, bound, 0), _unbound(candidate, bound, 1)
    named = _by_name(open_reference, open_candidate)
    if named and len(named) == min(len(open_reference), len(open_candidate)):
        return tuple(bound + named)
    ref, cand = (
        _in_order(open_reference, counterparts=open_candidate),
        _in_order(open_candidate, counterparts=open_reference),
    )
    # What is left over on a side has no counterpart; the ledger of the check records it.
    both = min(len(ref), len(cand))
    for left, right in zip(ref[:both], cand[:both], strict=True):
        how = BoundBy.NAME if left.name == right.name else BoundBy.POSITION
        bound.append(Binding(reference=left.name, candidate=right.name, how=how))
    return tuple(bound)


def check_budget_names(budgets: Mapping[str, float], bound: Sequence[Binding]) -> None:
    """Raise a ``UsageError`` for a budget that names an output neither model has."""
    names = {name for pair in bound for name in (pair.reference, pair.candidate)}
    for name in budgets:
        # An element of a sequence or a map is named by its path: ``y[0]``, ``y.values``.
        holder = PATH.sub("", name)
        if name and name not in names and holder not in names:
            raise UsageError(
                "UNKNOWN_NAME",
                f"--budget names an output {name!r}, and there is none",
                why=f"the outputs: {', '.join(pair.reference for pair in bound)}",
            )


def check_layout_names(layouts: Mapping[str, tuple[int, ...]], specs: Sequence[TensorSpec]) -> None:
    """Raise a ``UsageError`` for a layout of an unknown tensor, or one that repeats an axis."""
    names = {spec.name for spec in specs}
    for name, axes in layouts.items():
        if name not in names:
            raise UsageError(
                "UNKNOWN_NAME",
                f"--layout names {name!r}, which the candidate has not",
                why=f"its inputs and outputs: {', '.join(spec.name for spec in specs)}",
            )
        if len(set(axes)) != len(axes):
            raise UsageError(
                "BAD_OPTION",
                f"--layout {name}={','.join(map(str, axes))} is no order of axes",
                why="it names an axis of the reference twice",
            )


_NUMBERED = re.compile(r"(?:serving_default_)?(?:output|args)_(\d+)(?::\d+)?")


_RESULT = re.compile(r"StatefulPartitionedCall(?:_\d+)?:(\d+)")
"""The results of a signature's function, which TensorFlow numbers as it does the outputs."""


def _in_order(
    specs: Sequence[TensorSpec], counterparts: Sequence[TensorSpec] = ()
) -> list[TensorSpec]:
    """Sort by the number in the name: TensorFlow numbers tensors and stores them in any order.

    The results of a function are sorted by their number where the ``counterparts`` are numbered.
    """
    pattern = _NUMBERED
    if counterparts and all(_NUMBERED.fullmatch(spec.name) for spec in counterparts):
        pattern = _RESULT if all(_RESULT.fullmatch(spec.name) for spec in specs) else pattern
    found = [pattern.fullmatch(spec.name) for spec in specs]
    numbers = [int(each[1]) for each in found if each is not None]
    if len(set(numbers)) < len(specs) or not specs:
        return list(specs)
    return [spec for _, spec in sorted(zip(numbers, specs, strict=True), key=lambda pair: pair[0])]


def _by_number(reference: Sequence[TensorSpec], candidate: Sequence[TensorSpec]) -> list[Binding]:
    """Pair by number where an exporter replaced every name by one, and all signatures fit."""
    ref, cand = _in_order(reference), _in_order(candidate)
    numbered = all(_NUMBERED.fullmatch(spec.name) for spec in candidate)
    if len(ref) != len(cand) or len(ref) < 2 or not numbered:
        return []
    if not all(_compatible(left, right) for left, right in zip(ref, cand, strict=True)):
        return []
    return [
        Binding(reference=left.name, candidate=right.name, how="its number in the signature")
        for left, right in zip(ref, cand, strict=True)
    ]


def plain_name(name: str) -> str:
    """Remove what exporters add: ``serving_default_x:0``, ``x.1`` and ``X`` become ``x``."""
    name = name.removeprefix("serving_default_").removeprefix("args_0_")
    return re.sub(r"(:\d+|\.\d+)$", "", name).lower()


def _stated(
    reference: Sequence[TensorSpec],
    candidate: Sequence[TensorSpec],
    stated: Mapping[str, str],
    kind: str,
) -> list[Binding]:
    bound: list[Binding] = []
    for left, right in stated.items():
        for name, specs, side in ((left, reference, "reference"), (right, candidate, "candidate")):
            if name not in {spec.name for spec in specs}:
                raise UsageError(
                    "UNKNOWN_NAME",
                    f"the {side} has no {kind} {name!r}",
                    why=f"its {kind}s: {', '.join(spec.name for spec in specs)}",
                )
        twice = next((pair for pair in bound if pair.candidate == right), None)
        if twice is not None:
            raise UsageError(
                "BAD_OPTION",
                f"{kind} {right!r} of the candidate is bound twice",
                why=f"to {twice.reference!r} and to {left!r} of the reference",
                fix=f"bind it once: --bind-{kind} {left}=ANOTHER",
            )
        bound.append(Binding(reference=left, candidate=right, how="stated by the user"))
    return bound


def _unbound(specs: Sequence[TensorSpec], bound: Sequence[Binding], side: int) -> list[TensorSpec]:
    taken = {(pair.reference, pair.candidate)[side] for pair in bound}
    return [spec for spec in specs if spec.name not in taken]


def _by_name(reference: Sequence[TensorSpec], candidate: Sequence[TensorSpec]) -> list[Binding]:
    names = {spec.name for spec in reference}
    bound = [
        Binding(reference=spec.name, candidate=spec.name, how=BoundBy.NAME)
        for spec in candidate
        if spec.name in names
    ]
    open_reference, open_candidate = _unbound(reference, bound, 0), _unbound(candidate, bound, 1)
    for spec in open_candidate:
        similar = [
            other for other in open_reference if plain_name(other.name) == plain_name(spec.name)
        ]
        rivals = [
            other for other in open_candidate if plain_name(other.name) == plain_name(spec.name)
        ]
        if len(similar) == 1 and len(rivals) == 1:
            bound.append(
                Binding(reference=similar[0].name, candidate=spec.name, how="similar name")
            )
    return bound


def _compatible(left: TensorSpec, right: TensorSpec) -> bool:
    """Whether one array could be fed to both."""
    if left.kind != right.kind or not _same_kind_of_number(left.dtype, right.dtype):
        return False
    if left.shape is None or right.shape is None:
        return True
    return _axes_agree(left.shape, right.shape)


def _axes_agree(left: Sequence[Dimension], right: Sequence[Dimension]) -> bool:
    """Whether the sizes are the same in some order, dynamic axes fitting any and ones none."""
    ref, cand = (sorted(s for s in side if isinstance(s, int) and s != 1) for side in (left, right))
    spare = [sum(1 for s in side if not isinstance(s, int)) for side in (left, right)]
    for size in list(ref):
        if size in cand:
            ref.remove(size)
            cand.remove(size)
    return len(ref) <= spare[1] and len(cand) <= spare[0]


def _same_kind_of_number(left: str | None, right: str | None) -> bool:
    if left is None or right is None:
        return True

    def kind(dtype: str) -> str:
        return "float" if "float" in dtype else "int" if "int" in dtype else dtype

    return kind(left) == kind(right)


def _ambiguous(spec: TensorSpec, fits: Sequence[TensorSpec], kind: str) -> UsageError:
    choices = ", ".join(other.name for other in fits) or "none is left"
    example = f"{fits[0].name}={spec.name}" if fits else f"REFERENCE={spec.name}"
    return UsageError(
        "AMBIGUOUS_BINDING",
        f"it is ambiguous which {kind} of the reference feeds {spec.name!r} of the candidate",
        why=f"names differ, and type and shape do not decide it; it could be: {choices}",
        fix=f"state which: --bind-{kind} {example}",
    )


def _shape(spec: TensorSpec) -> str:
    return "any rank" if spec.shape is None else "×".join(str(d) for d in spec.shape) or "scalar"
