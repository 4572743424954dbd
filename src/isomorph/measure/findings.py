"""The findings of a comparison of outputs, ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.core.divergence import Divergence, DivergenceKind, ErrorTerm, Verdict
from isomorph.core.execution import provider_fallback
from isomorph.core.messages import message
from isomorph.core.report import Binding, BoundBy, Fact, Finding, FindingEffect, FindingStatus
from isomorph.sessions.in_process import can_free_axes
from isomorph.sessions.memory_estimate import largest, readable

if TYPE_CHECKING:
    from isomorph.core.errors import IsomorphError
    from isomorph.core.model import Model, TensorSpec
    from isomorph.core.trace import Arrays
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.sessions.model_handle import ModelHandle

_MOST_WORDS = 4
_SYMPTOMS = frozenset({"TRANSLATION", "EXECUTION"})
_OF_INTERFACE = frozenset({"SHAPE_MISMATCH", "OUTPUT_MISSING"})
_ORDER = {
    FindingEffect.REACHES_OUTPUT: 0,
    FindingEffect.BELOW_ROUNDING: 1,
    FindingEffect.LATENT: 2,
    FindingEffect.NONE: 3,
}


def ranked(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Numbered from 1, what reaches an output first; equal ones only once."""
    unique = list({(f.code, f.node, f.tensors, f.summary): f for f in findings}.values())
    # A finding that names a node comes before one that only names a wrong output.
    unique.sort(key=lambda finding: (_ORDER[finding.effect], finding.code in _SYMPTOMS))
    return tuple(replace(finding, rank=place) for place, finding in enumerate(unique, 1))


def of_outputs(
    divergences: Sequence[Divergence], explained: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield one finding for each output that is not equivalent.

    Outputs in ``explained`` are wrong because of proven faults, and are reported with them.
    """
    for divergence in divergences:
        text = divergence.candidate_output in explained
        yield from (f for f in _of_output(divergence) if not (text and f.code in _SYMPTOMS))


def _of_output(divergence: Divergence) -> Iterator[Finding]:
    name = divergence.candidate_output or divergence.reference_output or ""
    yield from _of_verdict(name, divergence)
    yield from _below_rounding(name, divergence)
    yield from _in_passing(name, divergence)


def _of_verdict(name: str, divergence: Divergence) -> Iterator[Finding]:
    """Yield why the output is wrong or unknown."""
    translated, executed = divergence.rounding, divergence.execution_candidate
    if divergence.verdict is Verdict.DIVERGENT:
        wrong_graph = not (translated is not None and translated.within) or executed is None
        shown = translated if wrong_graph else executed
        if misshapen(divergence):
            code = "SHAPE_MISMATCH"
        elif divergence.kind is DivergenceKind.MISSING:
            code = "OUTPUT_MISSING"
        else:
            code = "TRANSLATION" if wrong_graph else "EXECUTION"
        yield _finding(
            code,
            message("OUTPUT.is", output=name, reason=divergence.reason),
            effect=FindingEffect.REACHES_OUTPUT,
            tensors=(name,),
            cause="interface" if code in _OF_INTERFACE else None,
            evidence=_numbers(shown or divergence.observed),
        )
    elif divergence.verdict is Verdict.UNKNOWN:
        reference_off = not (
            divergence.execution_reference is not None and divergence.execution_reference.within
        )
        both_missing = divergence.observed is None
        code = "UNJUDGED" if both_missing else "REFERENCE_EXECUTION" if reference_off else "ORACLE"
        yield _finding(
            code,
            message("OUTPUT.is", output=name, reason=divergence.reason),
            effect=FindingEffect.REACHES_OUTPUT,
            tensors=(name,),
            evidence=_numbers(divergence.execution_reference or divergence.observed),
        )


def _below_rounding(name: str, divergence: Divergence) -> Iterator[Finding]:
    """Yield a finding if the graphs differ by less than a run shows."""
    allowed = divergence.translation
    hidden = divergence.verdict is not Verdict.DIVERGENT
    if hidden and allowed is not None and allowed.beyond:
        yield _finding(
            "BELOW_ROUNDING",
            message("BELOW_ROUNDING.output", output=name),
            effect=FindingEffect.BELOW_ROUNDING,
            tensors=(name,),
            evidence=_numbers(allowed),
        )


def _in_passing(name: str, divergence: Divergence) -> Iterator[Finding]:
    """Yield notes that do not change the verdict."""
    runs = divergence.execution_reference, divergence.execution_candidate
    if divergence.verdict is Verdict.EQUIVALENT and all(
        (run is not None and run.beyond) for run in runs
    ):
        yield _finding(
            "BOTH_RUNS_OFF",
            message("BOTH_RUNS_OFF.output", output=name),
            effect=FindingEffect.NONE,
            tensors=(name,),
            evidence=_numbers(divergence.execution_candidate),
            fix=message("FIX.candidate_alone"),
        )
    observed = divergence.observed
    if observed is not None and observed.distance.signed_zero_mismatch:
        count = observed.distance.signed_zero_mismatch
        yield _finding(
            "SIGNED_ZERO",
            message("SIGNED_ZERO.output", output=name, count=count),
            effect=FindingEffect.NONE,
            tensors=(name,),
        )


def misshapen(divergence: Divergence) -> bool:
    """Whether an output has another shape, so that nothing could be compared."""
    return divergence.kind is DivergenceKind.SHAPE


def of_order(declared: Sequence[Binding], fitting: Sequence[Binding]) -> Finding:
    """Report outputs that agree with the reference in another order."""
    moved = [
        pair for pair, was in zip(fitting, declared, strict=True) if pair.candidate != was.candidate
    ]
    text = ", ".join(f"{pair.reference!r} is {pair.candidate!r}" for pair in moved)
    flags = " ".join(f"--bind-output {pair.reference}={pair.candidate}" for pair in moved)
    return _another_order(
        message("OUTPUT_ORDER.values", pairs=text), [pair.candidate for pair in moved], flags
    )


def of_named_order(
    reference: Sequence[TensorSpec], candidate: Sequence[TensorSpec], bound: Sequence[Binding]
) -> Finding | None:
    """Report outputs with the same names in another order, wrong for positional callers."""
    by_name = {pair.reference: pair.candidate for pair in bound if pair.how == BoundBy.NAME}
    expected = [by_name[spec.name] for spec in reference if spec.name in by_name]
    got = [spec.name for spec in candidate if spec.name in expected]
    if got == expected:
        return None
    moved = [name for name, other in zip(got, expected, strict=True) if name != other]
    flags = " ".join(f"--bind-output {name}={name}" for name in sorted(moved))
    text = message("OUTPUT_ORDER.names", now=", ".join(got), expected=", ".join(expected))
    return _another_order(text, moved, flags)


def _another_order(text: str, moved: Sequence[str], flags: str) -> Finding:
    return _finding(
        "OUTPUT_ORDER",
        text,
        effect=FindingEffect.REACHES_OUTPUT,
        cause="interface",
        status=FindingStatus.CONFIRMED,
        tensors=tuple(moved),
        fix=message("FIX.order_or_flags", flags=flags),
    )


def of_rearranged(
    rearranged: Mapping[str, Rearrangement], divergences: Sequence[Divergence]
) -> Iterator[Finding]:
    """Yield a finding for each output that was compared in another shape."""
    wrong = {d.candidate_output for d in divergences if d.verdict is Verdict.DIVERGENT}
    for name, moved in rearranged.items():
        if name in wrong:
            yield _finding(
                "SHAPE_MISMATCH",
                message("SHAPE_MISMATCH.values", output=name, arrangement=moved.text),
                effect=FindingEffect.REACHES_OUTPUT,
                cause="interface",
                tensors=(name,),
            )
            continue
        yield _finding(
            "OUTPUT_SHAPE",
            message("OUTPUT_SHAPE.values", output=name, arrangement=moved.text),
            effect=FindingEffect.NONE,
            cause="interface",
            status=FindingStatus.CONFIRMED,
            tensors=(name,),
        )


def of_inputs(reference: Model, candidate: Model, bound: Sequence[Binding]) -> Iterator[Finding]:
    """Yield changes of the inputs; of a fixed axis, also whether the format can free it again."""
    inputs = reference.graph.inputs, candidate.graph.inputs
    freed = can_free_axes(candidate)
    for finding in of_signature("input", *inputs, bound):
        if freed or finding.fact(Fact.FIXED_AXES) is None:
            yield finding
        else:
            yield replace(
                finding,
                evidence={**finding.evidence, Fact.PATCHABLE: False},
                fix=message("FIX.free_axis_by_hand"),
            )


def of_signature(
    kind: str,
    reference: Sequence[TensorSpec],
    candidate: Sequence[TensorSpec],
    bound: Sequence[Binding],
) -> Iterator[Finding]:
    """Yield changes of the types and counts of inputs or outputs; new names are notes."""
    left, right = ({spec.name: spec for spec in side} for side in (reference, candidate))
    for pair in bound:
        ref, cand = left[pair.reference], right[pair.candidate]
        if ref.dtype and cand.dtype and ref.dtype != cand.dtype:
            text = message(
                "INTERFACE.type", kind=kind, name=cand.name, was=ref.dtype, now=cand.dtype
            )
            yield _interface(text, cand)
        if kind == "input":
            yield from _fixed_axes(ref, cand)
    for spec in reference:
        if spec.name not in {pair.reference for pair in bound}:
            text = message("INTERFACE.no_candidate", kind=kind, name=spec.name)
            yield _interface(text, spec)
    for spec in candidate:
        if spec.name not in {pair.candidate for pair in bound}:
            text = message("INTERFACE.no_reference", kind=kind, name=spec.name)
            yield _interface(text, spec)


def _fixed_axes(ref: TensorSpec, cand: TensorSpec) -> Iterator[Finding]:
    """Yield a finding if the candidate fixes axes that the reference leaves free."""
    fixed = fixed_axes(ref, cand)
    if fixed:
        axes = ", ".join(
            message("INTERFACE.fixed_axis", place=place, now=now) for place, now in fixed.items()
        )
        text = message("INTERFACE.fixed_axes", name=cand.name, axes=axes)
        yield replace(
            _interface(text, cand),
            evidence={Fact.FIXED_AXES: sorted(fixed)},
            fix=message("FIX.free_axis"),
        )


def fixed_axes(ref: TensorSpec, cand: TensorSpec) -> dict[int, int]:
    """Return the axes that only the candidate fixes, with their sizes."""
    if ref.shape is None or cand.shape is None or len(ref.shape) != len(cand.shape):
        return {}
    return {
        place: now
        for place, (was, now) in enumerate(zip(ref.shape, cand.shape, strict=True))
        if isinstance(now, int) and not isinstance(was, int)
    }


def of_words(reference: Model, candidate: Model) -> Iterator[Finding]:
    """Metadata and doc strings that the conversion lost, where both sides can keep them."""
    sides = (registry.framework(each.framework) for each in (reference, candidate))
    if not all(side.keeps_metadata for side in sides):
        return
    lost = [repr(key) for key in reference.metadata if key not in candidate.metadata]
    if lost:
        more = f" and {len(lost) - _MOST_WORDS} more" if len(lost) > _MOST_WORDS else ""
        yield _finding(
            "INTERFACE",
            message("INTERFACE.metadata", keys=", ".join(lost[:_MOST_WORDS]) + more),
            effect=FindingEffect.NONE,
            cause="interface",
            status=FindingStatus.CONFIRMED,
            fix=message("FIX.metadata"),
        )


def _interface(summary: str, spec: TensorSpec) -> Finding:
    return _finding(
        "INTERFACE",
        summary,
        effect=FindingEffect.NONE,
        cause="interface",
        status=FindingStatus.CONFIRMED,
        tensors=(spec.name,),
    )


def of_failure(role: str, what: str, error: IsomorphError) -> Finding:
    """Report a crash, a hang or a refusal of a runtime."""
    text = message("RUN.failed", role=role, what=error.sentence)
    if error.why:
        why = error.why.splitlines()[0]
        text = message("RUN.failed_why", role=role, what=error.sentence, why=why)
    return _finding(
        error.code,
        text,
        effect=FindingEffect.REACHES_OUTPUT,
        status=FindingStatus.CONFIRMED,
        node=error.node,
        evidence={"phase": what, "why": error.why or ""},
        fix=error.fix,
    )


def of_forecast(handle: ModelHandle, feeds: Arrays) -> Iterator[Finding]:
    """Yield a finding if a tensor cannot fit into memory by its declared shape."""
    limit, load = handle.host.memory_bytes, largest(handle.model.graph, feeds)
    if limit is None or load is None or load.bytes <= limit:
        return
    yield _finding(
        "MEMORY_FORECAST",
        message(
            "MEMORY_FORECAST.tensor",
            role=handle.role,
            tensor=load.tensor,
            size=readable(load.bytes),
            limit=readable(limit),
        ),
        effect=FindingEffect.NONE,
        status=FindingStatus.CONFIRMED,
        node=load.node,
        tensors=(load.tensor,),
        fix=message("FIX.memory"),
    )


def of_fallback(role: str, facts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding if another provider is in use than the one asked for."""
    fallback = provider_fallback(facts)
    if fallback is not None:
        yield _finding(
            "PROVIDER_FALLBACK",
            message(
                "PROVIDER_FALLBACK.used",
                role=role,
                asked=", ".join(fallback.asked),
                used=", ".join(fallback.used),
            ),
            effect=FindingEffect.NONE,
            cause="precision",
            status=FindingStatus.CONFIRMED,
        )


def _finding(
    code: str,
    summary: str,
    *,
    effect: FindingEffect,
    cause: str | None = None,
    status: FindingStatus = FindingStatus.SUSPECTED,
    **fields: Any,  # noqa: ANN401
) -> Finding:
    return Finding(code=code, summary=summary, effect=effect, cause=cause, status=status, **fields)


def _numbers(part: ErrorTerm | None) -> Mapping[str, Any]:
    if part is None:
        return {}
    return {
        "max_abs": part.distance.max_abs,
        "relative_l2": part.distance.relative_l2,
        "times_over_budget": part.budget.ratio,
        "differing": part.distance.differing,
        "nonfinite_mismatch": part.distance.nonfinite_mismatch,
        "worst_index": part.distance.worst_index,
    }
