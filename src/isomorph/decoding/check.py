"""The check of two decoders: every step of decoding is a sample of the check of a pair.

The reference decodes alone. Then the candidate gets the reference's caches and tokens at every
step, and the check compares the two as on any other inputs. Beside it, the candidate decodes on
its own caches and tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.checking.check import check_pair
from isomorph.checking.verdict import Outcome
from isomorph.core.coverage import InputKind
from isomorph.core.decoding import Decoding, Start
from isomorph.core.errors import FATAL, RuntimeFailedError
from isomorph.core.messages import message
from isomorph.decoding.beginning import Given, first_state, given_arrays, usual_start
from isomorph.decoding.bindings import bound_names, labeled
from isomorph.decoding.caches import refuse_unknown_names
from isomorph.decoding.narrow_caches import in_narrower
from isomorph.decoding.own_decoding import OwnComparison, OwnRun, own_outcome, own_run
from isomorph.decoding.rollout import StepRun, decode, runner
from isomorph.decoding.signature import DecoderSignature, decoder_signature
from isomorph.decoding.step_collector import StepCollector, first_wrong
from isomorph.inputs.feeds import Sample

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.loader import Loader
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.decoding import OwnDecoding
    from isomorph.core.report import Report
    from isomorph.core.trace import Array
    from isomorph.decoding.step_feeds import State
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle


def check_decoding(
    loader: Loader,
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    options: CheckConfig,
    *,
    steps: int,
    caches: Mapping[str, str],
) -> Report:
    """Whether two decoders are the same function at every step of decoding."""
    from isomorph.checking.dispatch import open_pair

    left, right = open_pair(loader, reference, candidate)
    refuse_unknown_names(caches, left.model, right.model)
    signatures = (
        decoder_signature(left.model, "reference", caches),
        decoder_signature(right.model, "candidate", caches),
    )
    inputs, outputs = bound_names(*signatures, options.bind_inputs)
    options = replace(
        options,
        bind_inputs={**inputs, **options.bind_inputs},
        bind_outputs={**outputs, **options.bind_outputs},
    )
    given = Given(
        arrays=given_arrays(signatures[0], loader.arrays or {}),
        dims=options.dims,
        seed=options.seed,
    )
    plan = _DecodingPlan(signatures=signatures, given=given, steps=steps, names=(inputs, outputs))
    report = check_pair(left, right, None, replace(options, dims={}), plan)
    return replace(report, decoding=plan.decoding())


@dataclass(slots=True, kw_only=True)
class _DecodingPlan:
    """The samples of a check, one for each step, and what they showed."""

    signatures: tuple[DecoderSignature, DecoderSignature]
    given: Given
    steps: int
    names: tuple[Mapping[str, str], Mapping[str, str]]
    """The inputs and the outputs of the candidate for those of the reference, by their roles."""
    start: Start = Start.NONE
    runs: dict[str, StepRun] = field(default_factory=dict)
    """Of the reference, by the origin of the sample."""
    own: OwnRun | None = None
    compared: OwnDecoding | None = None
    collector: StepCollector | None = None
    pending: list[str] = field(default_factory=list)

    def bound(self, prepared: PreparedPair) -> PreparedPair:
        """The pair, with what was bound by its role in decoding marked as such."""
        inputs, outputs = self.names
        return replace(
            prepared,
            inputs=labeled(prepared.inputs, inputs),
            outputs=labeled(prepared.outputs, outputs),
        )

    def samples(self, prepared: PreparedPair) -> list[Sample]:
        """Decode with both models; the steps of the reference, as samples."""
        self.collector = StepCollector(signature=self.signatures[0])
        self._report(prepared, "reference")
        runs = self._reference_runs(prepared)
        self.runs = {_origin(run): run for run in runs}
        self._report(prepared, "candidate")
        self.own = own_run(
            prepared, self.signatures[1], runs, steps=self.steps, at_once=self._at_once()
        )
        self.pending = list(self.runs)
        return [
            Sample(origin=origin, feeds=self._common(run.feeds), kind=InputKind.DECODED)
            for origin, run in self.runs.items()
        ]

    def _common(self, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        """The feeds of a step, with caches as a candidate of a narrower type takes them.

        Both models get the same numbers: what is lost between two steps is no loss of one.
        """
        left, right = self.signatures
        narrow = {
            pair.input: right.spec(self.names[0].get(pair.input, pair.input)).dtype
            for pair in left.caches
        }
        return {name: in_narrower(value, narrow.get(name)) for name, value in feeds.items()}

    def add(
        self,
        sample: Sample,
        comparison: Comparison,
        sides: tuple[EvaluatedModel, EvaluatedModel],
    ) -> None:
        """Take one compared step."""
        assert self.collector is not None, "samples are made before they are compared"
        self._add_uncompared(before=sample.origin)
        self.pending.remove(sample.origin)
        self.collector.add(self.runs[sample.origin], comparison, sides)

    def outcome(self, prepared: PreparedPair) -> Outcome:
        """What decoding on its own caches adds to the steps on the reference's."""
        assert self.collector is not None, "samples are made before they are compared"
        assert self.own is not None, "the candidate decodes before steps are compared"
        self._add_uncompared()
        runs = list(self.runs.values())
        self.compared = OwnComparison(
            prepared=prepared,
            signatures=self.signatures,
            reference=runs,
            own=self.own,
            collector=self.collector,
            at_once=self._at_once() is None,
        ).compared()
        return own_outcome(self.compared, self.collector)

    def decoding(self) -> Decoding:
        """The section of the report."""
        assert self.collector is not None, "a plan has samples"
        assert self.compared is not None, "a plan has an outcome"
        caches = self.collector.caches()
        runs = list(self.runs.values())
        prompt = np.concatenate([run.state.tokens for run in runs if run.number == 0], axis=1)
        return Decoding(
            prompt=tuple(tuple(int(token) for token in row) for row in prompt),
            start=self.start,
            reference_caches=self.signatures[0].caches,
            candidate_caches=self.signatures[1].caches,
            steps=tuple(self.collector.steps),
            caches=caches,
            own=self.compared,
            first_wrong_cache=first_wrong(caches),
        )

    def _add_uncompared(self, before: str | None = None) -> None:
        """Steps that were passed over: a runtime failed on them."""
        assert self.collector is not None, "samples are made before they are compared"
        while self.pending and self.pending[0] != before:
            self.collector.add_uncompared(self.runs[self.pending.pop(0)])

    def _at_once(self) -> int | None:
        return next((each for side in self.signatures if (each := side.fixed_tokens)), None)

    def _reference_runs(self, prepared: PreparedPair) -> list[StepRun]:
        """The reference on its own caches; generated ones, where it does not run on empty ones."""
        signature, handle = self.signatures[0], prepared.reference
        self.start = usual_start(signature, self.given)
        try:
            return self._decoded(signature, handle)
        except RuntimeFailedError as error:
            if self.start is not Start.EMPTY or error.code in FATAL:
                raise
            self.start = Start.GENERATED
            try:
                return self._decoded(signature, handle)
            except RuntimeFailedError:
                raise error from None

    def _decoded(self, signature: DecoderSignature, handle: ModelHandle) -> list[StepRun]:
        first: State = first_state(signature, self.given, self.start)
        return list(decode(runner(handle), signature, first, self.steps, at_once=self._at_once()))

    def _report(self, prepared: PreparedPair, role: str) -> None:
        if prepared.options.on_progress is not None:
            prepared.options.on_progress(f"{role}: decode", f"{self.steps} tokens")


def _origin(run: StepRun) -> str:
    tokens = f"{run.state.length} token{'s' if run.state.length > 1 else ''}"
    if run.number == 0:
        return message("DECODING.prompt_input", tokens=tokens, position=run.state.cached)
    return message(
        "DECODING.step_input", number=run.number, tokens=tokens, positions=run.state.cached
    )
