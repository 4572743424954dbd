"""``isomorph.stress``: the input on which two models differ most."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_models, sample_set
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions
from isomorph.api.ranges import stated_ranges

if TYPE_CHECKING:
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress
    from isomorph.core.stress import Stress

_FILE = "worst.npz"


def stress(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    ranges: Mapping[str, Sequence[float]] | None = None,
    inputs: Any = None,  # noqa: ANN401
    data: str | Path | None = None,
    dims: Mapping[str, int] | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    options: PairOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[PairKeywords],
) -> Stress:
    """Search for the input on which two models differ most relative to the budget of a check.

    The search starts from given inputs, samples of ``data``, or generated ones, and stays within
    ``ranges``; an input without a range stays within the numbers of the samples. The input that is
    found is written to ``output`` (.npz) if that is given, and the pair is checked on it.
    """
    from isomorph.checking.prepare import prepare_pair
    from isomorph.store.input_files import write_arrays
    from isomorph.stressing.stress import StressSearch

    options = with_keywords(options or PairOptions(), keywords)
    stated = stated_ranges(ranges)
    samples = sample_set(data, inputs, memory=options.runtime.limits.memory)
    place = Path(output) if output is not None else None
    with open_models(
        reference,
        candidate,
        options,
        seed=seed,
        inputs=inputs,
        dims=dims,
        trust=trust,
        in_process=in_process,
        progress=progress,
    ) as pair:
        prepared = prepare_pair(pair.reference, pair.candidate, pair.config)
        starts = [pair.given] if pair.given is not None else []
        if samples is not None:
            inputs_of = pair.reference.model.graph.inputs
            starts += [each.sample for each in samples.samples(inputs_of, dims or {})]
        search = StressSearch(
            prepared=prepared,
            samples=starts or prepared.generated_samples(),
            stated=stated,
            given_name=place.name if place is not None else _FILE,
            on_progress=progress,
        )
        found = search.stress()
    if place is not None:
        write_arrays(place, found.inputs)
        found = replace(found, file=str(place))
    words = ["isomorph", "check", str(reference), str(candidate), "--inputs", str(place or _FILE)]
    words += ["--seed", str(seed)] if seed else []
    words += ["--trust"] if trust else []
    files = all(isinstance(each, (str, Path)) for each in (reference, candidate))
    return replace(found, command=shlex.join(words) if files else "")
