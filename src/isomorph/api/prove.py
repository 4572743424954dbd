"""``isomorph.prove``: are two models the same function for every input of these shapes?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_models
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions

if TYPE_CHECKING:
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress
    from isomorph.core.proof import Proof


def prove(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    seed: int | None = None,
    trust: bool = False,
    in_process: bool = False,
    options: PairOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[PairKeywords],
) -> Proof:
    """What can be proven of two models, for every input of the shapes of ``inputs`` or ``dims``.

    ``seed`` repeats an earlier proof; without it the random numbers of a proof are unpredictable.
    """
    from isomorph.checking.prove import prove_pair

    options = with_keywords(options or PairOptions(), keywords)
    with open_models(
        reference,
        candidate,
        options,
        runs=False,
        inputs=inputs,
        dims=dims,
        trust=trust,
        in_process=in_process,
        progress=progress,
    ) as pair:
        return prove_pair(pair.reference, pair.candidate, pair.given, pair.config, seed=seed)
