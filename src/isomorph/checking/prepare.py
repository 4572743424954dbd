"""The first phase of a check: two models, ready to be evaluated on the same samples.

Quantized inputs and outputs that differ are seen as real numbers, inputs and outputs are bound,
and the candidate's feeds are derived from the reference's: its names, types and order of axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.io_dequantize import DequantizedPair, dequantize_pair
from isomorph.checking.paired_by_value import decided_by_value
from isomorph.core.report import BoundBy
from isomorph.inputs import feeds as feeding
from isomorph.match.axis_layout import moves_channels
from isomorph.match.binding import bind_inputs, bind_model_outputs
from isomorph.measure import input_layout
from isomorph.measure.evaluated_model import EvaluatedModel

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.input_layout import Layout
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrangedFeeds:
    """The candidate's feeds, and the inputs whose axes were reordered for it."""

    feeds: Mapping[str, Array]
    layouts: tuple[Layout, ...]

    @property
    def moves_channels(self) -> bool:
        """Whether the channel axis of an input has moved."""
        return any(moves_channels(each.rearrangement) for each in self.layouts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPair:
    """A reference and a candidate whose inputs and outputs are bound."""

    interface: DequantizedPair
    inputs: tuple[Binding, ...]
    outputs: tuple[Binding, ...]
    options: CheckConfig

    @property
    def reference(self) -> ModelHandle:
        """The reference; differently quantized inputs and outputs are real numbers."""
        return self.interface.reference

    @property
    def candidate(self) -> ModelHandle:
        """The candidate, likewise."""
        return self.interface.candidate

    @property
    def output_names(self) -> list[tuple[str, str]]:
        """The names of each bound pair of outputs."""
        return [(pair.reference, pair.candidate) for pair in self.outputs]

    def generated_samples(self) -> list[Sample]:
        """Samples from the signatures, for models that come without inputs."""
        return self.interface.generated_samples(self.inputs, self.options.dims, self.options.seed)

    def samples_of_other_sizes(self) -> list[Sample]:
        """Samples with other sizes of the axes that are dynamic on both sides."""
        options = self.options
        return self.interface.samples_of_other_sizes(
            self.inputs, options.dims, options.seed, options.sizes
        )

    def evaluated(self, handle: ModelHandle, feeds: Mapping[str, Array]) -> EvaluatedModel:
        """One of the two models on these feeds."""
        options = self.options
        return EvaluatedModel.of(handle, feeds, seed=options.seed, on_progress=options.on_progress)

    def evaluate(self, sample: Sample) -> tuple[EvaluatedModel, EvaluatedModel]:
        """Both models on one sample."""
        ref = self.evaluated(self.reference, self.reference.real(sample.feeds))
        return ref, self.evaluated(self.candidate, self.arrange(ref).feeds)

    def layouts(self, reference: EvaluatedModel) -> tuple[Layout, ...]:
        """The order of axes of each input that the candidate takes in another one."""
        graph = self.candidate.model.graph
        taker = input_layout.CandidateInputs(
            inputs=graph.inputs,
            outputs=list(dict.fromkeys(spec.name for spec in graph.outputs)),
            oracle=self.candidate.oracle,
        )
        return input_layout.choose_layouts(reference, taker, self.inputs, self.options.layouts)

    def arrange(
        self, reference: EvaluatedModel, layouts: Sequence[Layout] | None = None
    ) -> ArrangedFeeds:
        """The reference's feeds under the candidate's names, types and order of axes."""
        layouts = self.layouts(reference) if layouts is None else layouts
        arrays = {name: np.asarray(value) for name, value in reference.feeds.items()}
        carried = feeding.carried_over(arrays, self.inputs, self.candidate.model.graph.inputs)
        return ArrangedFeeds(
            feeds=input_layout.rearranged(carried, layouts), layouts=tuple(layouts)
        )


def prepare_pair(
    reference: ModelHandle, candidate: ModelHandle, options: CheckConfig
) -> PreparedPair:
    """Bind the inputs and outputs of two models, by what the user stated first."""
    sides = reference.in_translation(), candidate.in_translation()
    decided = decided_by_value(*sides, options)
    stated = {**options.bind_inputs, **decided}
    pair = dequantize_pair(*sides, stated, options.bind_outputs)
    left, right = pair.reference.model.graph, pair.candidate.model.graph
    return PreparedPair(
        interface=pair,
        inputs=tuple(
            replace(each, how=BoundBy.VALUES) if each.reference in decided else each
            for each in bind_inputs(left.inputs, right.inputs, stated)
        ),
        outputs=bind_model_outputs(
            pair.reference.model, pair.candidate.model, options.bind_outputs
        ),
        options=options,
    )
