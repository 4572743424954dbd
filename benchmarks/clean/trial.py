"""One case on all its routes: make both sides, ask isomorph, keep what it measured."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from clean import numbers, sequences, traps, vision
from clean.case import Case, Feeds
from clean.conversions import NotMadeError, Source, source
from clean.routes import ROUTES, Route

CASES = {
    case.name: case for case in (*vision.CASES, *sequences.CASES, *numbers.CASES, *traps.CASES)
}
SIDES = ("execution_reference", "execution_candidate", "rounding", "observed")


def case_names() -> list[str]:
    """Every case, by name."""
    return list(CASES)


def try_case(
    name: str, seeds: int, candidate: str, folder: str, *, brief: bool = False
) -> list[dict[str, Any]]:
    """One model with its conversions, on inputs drawn anew for each seed."""
    import torch
    from networks.torch_networks import quiet

    torch.set_num_threads(1)
    place = Path(folder)
    place.mkdir(parents=True)
    with quiet(), torch.no_grad():
        made = source(CASES[name], place)
        return [
            _try(made, route, seed)
            for seed in range(seeds)
            for route in ROUTES
            if candidate in route.candidate and (route.often or (seed == 0 and not brief))
        ]


def _try(made: Source, route: Route, seed: int) -> dict[str, Any]:
    row = {
        "case": made.case.name,
        "reference": route.reference,
        "candidate": route.candidate,
        "seed": seed,
        "alarm": False,
        "narrow": route.narrow,
        "outputs": [],
    }
    if route.candidate in made.case.lies:
        return {**row, "verdict": "not made", "reason": "the exporter gets it wrong"}
    try:
        reference, candidate = made.file(route.reference), made.file(route.candidate)
    except NotMadeError as error:
        return {**row, "verdict": "not made", "reason": str(error)}
    feeds = _feeds(made.case, route, seed)
    try:
        report = _checked(reference, candidate, feeds, seed)
    except Exception as error:
        # A crash on a clean pair is as bad as a wrong answer, and must not end the others.
        reason = f"{type(error).__name__}: {error}"
        return {**row, "verdict": "error", "reason": reason, "alarm": True}
    verdict = str(report.verdict)
    return {
        **row,
        "verdict": verdict,
        "reason": report.reason,
        "alarm": verdict not in route.right,
        "outputs": [_output(divergence) for divergence in report.outputs],
    }


def _checked(reference: Path, candidate: Path, feeds: Feeds, seed: int) -> Any:
    import isomorph

    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, **feeds)
        return isomorph.check(reference, candidate, inputs=inputs, seed=seed, in_process=True)


def _feeds(case: Case, route: Route, seed: int) -> Feeds:
    feeds = case.inputs(np.random.default_rng(seed))
    if not route.narrow_inputs:
        return feeds
    return {
        name: value.astype(np.float16) if value.dtype.kind == "f" else value
        for name, value in feeds.items()
    }


def _output(divergence: Any) -> dict[str, Any]:
    return {
        "name": divergence.candidate_output,
        "dtype": divergence.dtype,
        "verdict": str(divergence.verdict),
        **{side: _part(getattr(divergence, side)) for side in SIDES},
    }


def _part(part: Any) -> dict[str, Any] | None:
    """How much of the budget was used: by the worst element, and by the whole tensor."""
    if part is None:
        return None
    budget, rms = part.budget, part.distance.rms
    deviation = (budget.allowed_rms or 0.0) / (budget.threshold or 1.0)
    return {
        "ratio": budget.ratio,
        "max_abs": part.distance.max_abs,
        "rms_in_deviations": rms / deviation if rms is not None and deviation > 0 else None,
    }
