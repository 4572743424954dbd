"""Reports of revision 1, translated to the fields and keys of the present revision.

Revision 2 renamed fields of baselines and keys of settings and evidence, and states what revision 1
left to text or did not state: what a model was given as, where an input came from, what was
compared at an output, and what the verdict covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isomorph.core.coverage import Coverage, InputKind, OutputCoverage, concluded
from isomorph.core.divergence import DivergenceKind, Verdict
from isomorph.core.report import ModelForm
from isomorph.store.codec import to_document

_SPELLED = "optimis", "optimiz"
"""The beginning of keys of settings, facts and evidence, as revision 1 spelled it and as it is."""

_KIND_BY_TYPE = {"": DivergenceKind.SHAPE, "unknown": DivergenceKind.MISSING}
"""Revision 1 gave an output that could not be compared no type: of another shape, or missing."""

_PASSING = {Verdict.EQUIVALENT, Verdict.DEGRADED}


def in_present_terms(data: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a document of revision 1; fields that it already has keep their values."""
    report = {
        **data,
        "baseline": _baseline(data.get("baseline")),
        "environments": {
            name: _environment(each) for name, each in data.get("environments", {}).items()
        },
        "models": [{"form": _form(each), **each} for each in data.get("models", ())],
        "inputs": [{"kind": _input_kind(each), **each} for each in data.get("inputs", ())],
        "outputs": [{"kind": _output_kind(each), **each} for each in data.get("outputs", ())],
        "findings": [_finding(each) for each in data.get("findings", ())],
        "input_bindings": [_binding(each) for each in data.get("input_bindings", ())],
        "output_bindings": [_binding(each) for each in data.get("output_bindings", ())],
    }
    if report.get("coverage") is None and "verdict" in report:
        coverage = _coverage(report)
        verdict, reason = concluded(Verdict(report["verdict"]), report["reason"], coverage)
        report |= {"coverage": to_document(coverage), "verdict": str(verdict), "reason": reason}
    return report


def _baseline(baseline: Any) -> Any:  # noqa: ANN401
    if not isinstance(baseline, dict) or "standings" not in baseline:
        return baseline
    statuses = [
        {("message" if key == "told" else key): value for key, value in each.items()}
        for each in baseline["standings"]
    ]
    return {**baseline, "statuses": statuses}


def _environment(environment: dict[str, Any]) -> dict[str, Any]:
    keyed = ("settings", "facts")
    return {**environment, **{name: _renamed(environment.get(name, {})) for name in keyed}}


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    evidence = _renamed(finding.get("evidence", {}))
    if isinstance(evidence.get("settings"), dict):
        evidence["settings"] = _renamed(evidence["settings"])
    return {**finding, "evidence": evidence}


def _renamed(named: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "candidate" if key == "mine" else key.replace(*_SPELLED): value
        for key, value in named.items()
    }


def _form(model: dict[str, Any]) -> ModelForm:
    if any(each.startswith("a trace of ") for each in model.get("notes", ())):
        return ModelForm.TRACE
    return ModelForm.LIVE if model.get("location", "").startswith("<") else ModelForm.FILE


def _input_kind(given: dict[str, Any]) -> InputKind:
    generated = given.get("origin", "").startswith("generated: ")
    return InputKind.GENERATED if generated else InputKind.GIVEN


def _output_kind(output: dict[str, Any]) -> DivergenceKind:
    return _KIND_BY_TYPE.get(output.get("dtype", ""), DivergenceKind.VALUES)


def _binding(binding: dict[str, Any]) -> dict[str, Any]:
    """The type and shape of an only pair stood in brackets behind the way it was bound."""
    return {**binding, "how": str(binding.get("how", "")).partition(" (")[0]}


def _coverage(report: Mapping[str, Any]) -> Coverage:
    """What a report covers, by the inputs and outputs that it lists.

    An output that passed was within its budget on every input. Of one that differs only the worst
    input is known, and all count as beyond. Samples of a test set that were not examined in full
    were not judged.
    """
    test_set = report.get("test_set") or {}
    examined = set(test_set.get("examined", ()))
    kinds = {each["origin"]: each["kind"] for each in report["inputs"]}
    alone = {origin: kind for origin, kind in kinds.items() if origin not in examined}
    tried = len(alone) + len(examined)
    values = sum(_elements(each) for each in report["outputs"])
    return Coverage(
        given=sum(kind == InputKind.GIVEN for kind in alone.values()),
        generated=sum(kind == InputKind.GENERATED for kind in alone.values()),
        from_set=len(examined),
        in_set=test_set.get("samples", 0),
        set_name=test_set.get("location"),
        inputs=tried,
        values=values * tried,
        outputs=_covered_outputs(report["outputs"], report["output_bindings"], tried),
    )


def _covered_outputs(
    outputs: Sequence[dict[str, Any]], bindings: Sequence[dict[str, Any]], tried: int
) -> tuple[OutputCoverage, ...]:
    judged = {each["reference_output"]: each for each in outputs}
    names = dict.fromkeys([*(each["reference"] for each in bindings), *judged])
    return tuple(_covered(name, judged.get(name), tried) for name in names if name is not None)


def _covered(name: str, judged: Mapping[str, Any] | None, tried: int) -> OutputCoverage:
    if judged is None:
        reasons = ("nothing compared it",)
        return OutputCoverage(output=name, not_compared=tried, reasons=reasons)
    if judged["verdict"] in _PASSING:
        return OutputCoverage(output=name, within=tried)
    if judged["verdict"] == Verdict.DIVERGENT:
        return OutputCoverage(output=name, beyond=tried)
    return OutputCoverage(output=name, not_compared=tried, reasons=(judged["reason"],))


def _elements(output: Mapping[str, Any]) -> int:
    for term in ("observed", "rounding", "execution_candidate"):
        if output.get(term):
            return int(output[term]["distance"]["elements"])
    return 0
