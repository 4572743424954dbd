"""Later steps of decoding, evaluated several at a time.

Every step has sizes of its own, and all of them read the same weights. Of a large model these are
lifted to float64 for every evaluation, which costs far more than one token does. So the runs, the
oracles and the draws of some steps are computed side by side, and each step is then judged from
them as if it had been evaluated alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.evaluate import evaluate, evaluate_candidate
from isomorph.core.decoding_limits import FULL_STEPS, STEP_BYTES, STEPS_TOGETHER
from isomorph.core.errors import IsomorphError
from isomorph.core.memory import share_of_memory
from isomorph.core.stated_numbers import FIRST_DRAWS
from isomorph.measure.evaluated_batch import draw_noise, draw_tails, run_deployed, run_oracles
from isomorph.measure.parallel import run_parallel

if TYPE_CHECKING:
    from isomorph.checking.evaluate import Evaluation
    from isomorph.checking.prepare import PreparedPair
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.noise_draws import DrawnNoise

Pair = tuple["Evaluation", "Evaluation"]

_COPIES = 8
"""Arrays of the size of the outputs that a step holds: runs, oracles, and sums of draws."""


@dataclass(slots=True, kw_only=True)
class StepsTogether:
    """Both models on the steps of decoding that were evaluated before they are asked for."""

    prepared: PreparedPair
    samples: Sequence[Sample]
    unrounded: Callable[[Sequence[EvaluatedModel]], Sequence[EvaluatedModel]]
    """The candidates of some steps with the reference's weights, kept for their comparison."""
    _ready: dict[str, Pair] = field(default_factory=dict)
    _bytes: int = 0
    """Of the outputs of the last step that was compared, of both models."""
    _drawn: tuple[Sequence[DrawnNoise], Sequence[DrawnNoise]] = ((), ())
    """What was drawn for the last step, of each model."""
    _same_weights: bool = False
    """Whether the last step was compared with the reference's weights as well."""

    def pair(self, sample: Sample) -> Pair | None:
        """Both models on this step, if it is a later one; it is evaluated with those after it."""
        place = self.samples.index(sample)
        if place < FULL_STEPS or not self._bytes:
            return None
        if sample.origin not in self._ready:
            self._evaluate(self.samples[place : place + self._at_once()])
        return self._ready.pop(sample.origin, None)

    def note(
        self, sides: tuple[EvaluatedModel, EvaluatedModel], *, same_weights: bool = False
    ) -> None:
        """What a step needed that was compared: the next ones probably need as much.

        What the rounding of weights loses decides nothing where the same weights are compared.
        """
        reference, candidate = [_repeated(each) for each in sides]
        if same_weights:
            candidate = [replace(e, draws=min(e.draws, FIRST_DRAWS)) for e in candidate]
        self._drawn, self._same_weights = (reference, candidate), same_weights
        self._bytes = sum(map(_output_bytes, sides))

    def _at_once(self) -> int:
        room = share_of_memory(STEP_BYTES) // (_COPIES * self._bytes)
        return max(1, min(STEPS_TOGETHER, room))

    def _evaluate(self, samples: Sequence[Sample]) -> None:
        """Run both models and their oracles on these, and draw as often as the last step needed."""
        self._ready = {each.origin: self._begin(each) for each in samples}
        sides = [[pair[side].model for pair in self._ready.values()] for side in (0, 1)]
        apart = all(each.isolated for side in sides for each in side)
        work = [partial(_together, *each) for each in zip(sides, self._drawn, strict=True)]
        run_parallel(*work, apart=apart)
        if self._same_weights and (wide := self.unrounded(sides[1])):
            run_oracles(wide)
            draw_noise(wide, _of_wider(self._drawn[0]))

    def _begin(self, sample: Sample) -> Pair:
        prepared = self.prepared
        given = prepared.reference.real(sample.feeds)
        reference = evaluate(prepared.reference, given, prepared.options)
        return reference, evaluate_candidate(prepared, reference.model)


def _repeated(model: EvaluatedModel) -> list[DrawnNoise]:
    """What is drawn again on another step: that of rounding, and what a lower precision loses."""
    return [each for each in model.draws_made() if each.draws and not each.noise.attributes]


def _of_wider(drawn: Sequence[DrawnNoise]) -> list[DrawnNoise]:
    """The rounding of a candidate with the reference's weights: as often as the reference's."""
    return [each for each in drawn if each.of_rounding_alone]


def _together(models: Sequence[EvaluatedModel], drawn: Sequence[DrawnNoise]) -> None:
    run_deployed(models)
    handle = models[0].handle
    if handle is not None:
        handle.release()
    run_oracles(models)
    if drawn:
        draw_noise(models, drawn)
    else:
        draw_tails(models)


def _output_bytes(model: EvaluatedModel) -> int:
    outputs = model.oracle_outputs()
    if isinstance(outputs, IsomorphError):
        return 0
    return sum(np.asarray(value).nbytes for value in outputs.values())
