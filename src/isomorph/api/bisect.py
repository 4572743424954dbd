"""``isomorph.bisect``: the release, optimizer, operator set or pass that changed a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from isomorph.api.bisect_question import Question, judging
from isomorph.api.bisect_runs import Releases, over_optimizers, over_releases
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions
from isomorph.core.bisection import Bisection, PointKind, Trial
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.api.bisect_conversions import Target
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress


def bisect(
    reference: str | Path,
    candidate: str | Path | None = None,
    *,
    convert: str | None = None,
    package: str = "",
    versions: str = "..",
    over: PointKind | str = PointKind.RELEASES,
    side: str | None = None,
    via: Sequence[str] = (),
    quantize: str | None = None,
    opset: int | None = None,
    python: str | None = None,
    extra: Sequence[str] = (),
    cache: str | Path | None = None,
    reproducer: str | Path | None = None,
    inputs: str | Path | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    trust: bool = False,
    options: PairOptions | None = None,
    progress: Progress | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    **keywords: Unpack[PairKeywords],
) -> Bisection:
    """Find the first release of ``package`` under which a check has another verdict.

    ``versions`` is a range as in ``1.17..1.31``. One model is checked against its own oracle, two
    against each other; ``side`` is the one that runs in the release, the candidate if it can.
    Environments are made in ``cache`` (a folder of the user's cache) with ``python`` and with
    ``extra`` requirements. ``reproducer`` is a folder that will show the change without isomorph.

    With ``over="optimizers"`` the points are the optimizers that run on the model in one release,
    switched off one after the other.

    With ``convert``, a format or a file name, the model is converted in each release, by the
    converter of that package, and the result is checked against it. ``via``, ``quantize`` and
    ``opset`` are those of ``isomorph.convert``; workarounds are not tried. ``over="opsets"``
    converts to each operator set that ``versions`` names, ``over="passes"`` leaves out one pass
    of the converter after the other. The others are options of ``isomorph.check``.
    """
    started = time.monotonic()
    question = Question(
        sources=(reference, candidate), options=with_keywords(options or PairOptions(), keywords),
        inputs=inputs, dims=dims or {}, seed=seed, trust=trust, progress=progress,
    )  # fmt: skip
    judge, points = judging(on_trial), PointKind(over)
    releases = Releases(
        package=package, versions=versions, python=python, extra=extra,
        cache=None if cache is None else Path(cache),
        reproducer=None if reproducer is None else Path(reproducer),
    )  # fmt: skip
    target = _target(
        convert, points, via=via, quantize=quantize, opset=opset, candidate=candidate, side=side
    )
    if target is not None:
        from isomorph.api import bisect_conversions as conversions

        if points is PointKind.RELEASES:
            found = conversions.releases_of_conversions(question, releases, target, judge)
        elif points is PointKind.OPSETS:
            found = conversions.over_opsets(question, versions, target, judge)
        else:
            found = conversions.over_passes(question, releases, target, judge)
    elif points is PointKind.OPTIMIZERS:
        found = over_optimizers(question, side or "candidate", judge)
    else:
        found = over_releases(question, releases, side, judge)
    return replace(
        found,
        reference=str(reference),
        candidate="" if candidate is None else str(candidate),
        seconds=time.monotonic() - started,
        version=VERSION,
    )


def _target(
    word: str | None,
    over: PointKind,
    *,
    via: Sequence[str],
    quantize: str | None,
    opset: int | None,
    candidate: object,
    side: str | None,
) -> Target | None:
    """What to convert to; None where nothing is converted. Options that contradict are refused."""
    converts = over in (PointKind.OPSETS, PointKind.PASSES)
    if word is None:
        stated = {"--via": via, "--quantize": quantize, "--opset": opset}
        idle = [name for name, value in stated.items() if value]
        if converts or idle:
            option = idle[0] if idle else f"--over {over}"
            raise error_of(UsageError, "BAD_OPTION.no_conversion", option=option)
        return None
    if candidate is not None:
        raise error_of(UsageError, "BAD_OPTION.candidate_and_conversion")
    if side is not None:
        raise error_of(UsageError, "BAD_OPTION.side_and_conversion")
    if over is PointKind.OPTIMIZERS:
        raise error_of(UsageError, "BAD_OPTION.optimizers_of_conversion")
    from isomorph.api.bisect_conversions import Target

    return Target(word=word, width=quantize or "", via=tuple(via), opset=opset)
