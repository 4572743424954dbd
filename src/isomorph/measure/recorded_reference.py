"""A reference that consists of values only: recorded outputs, or a model's own oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.model import Graph, Model, TensorSpec
from isomorph.core.report import ModelForm, ModelSummary
from isomorph.match.binding import PATH
from isomorph.measure.spread import Spread

if TYPE_CHECKING:
    from isomorph.core.errors import IsomorphError
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Recorded outputs and the file that they are from."""

    location: str
    digest: str
    arrays: Mapping[str, Array]

    @property
    def specs(self) -> tuple[TensorSpec, ...]:
        """The recorded outputs as a signature."""
        return tuple(
            TensorSpec(name=name, dtype=str(array.dtype), shape=tuple(array.shape))
            for name, array in self.arrays.items()
        )

    def specs_for(self, graph: Graph) -> tuple[TensorSpec, ...]:
        """Return the recorded outputs as those of a model: elements of a sequence are one output.

        An array with the name of an input is that input, recorded with the outputs.
        """
        known = {spec.name for spec in graph.outputs}
        inputs = {spec.name for spec in graph.inputs} - known
        found = []
        for spec in self.specs:
            if spec.name in inputs:
                continue
            holder = PATH.sub("", spec.name)
            # If there is an array of the holder's own name, this is no element of it.
            whole = holder in known and spec.name not in known and holder not in self.arrays
            found.append(replace(spec, name=holder, kind="sequence") if whole else spec)
        return tuple({spec.name: spec for spec in found}.values())

    @property
    def summary(self) -> ModelSummary:
        """The summary for the report."""
        return ModelSummary(
            role="reference",
            location=self.location,
            framework="recorded outputs",
            digest=self.digest,
            nodes=0,
            constants=0,
            form=ModelForm.TRACE,
        )

    def comparand(self, candidate: EvaluatedModel) -> RecordedValues:
        """Return the recorded outputs as a side of a comparison; nothing is evaluated."""
        return RecordedValues(
            model=_empty(candidate.model.framework), runs=self.arrays, recorded=True
        )

    @staticmethod
    def of_oracle(evaluated: EvaluatedModel) -> RecordedValues:
        """Return a model's own oracle as the reference of its run."""
        return RecordedValues(model=evaluated.model, runs=None, evaluated=evaluated)


@dataclass(slots=True, kw_only=True)
class RecordedValues:
    """A side of a comparison whose values are already known."""

    model: Model
    runs: Mapping[str, Array] | None
    evaluated: EvaluatedModel | None = None
    recorded: bool = False
    isolated: bool = False

    def pending(self, *, rounding: bool = True) -> bool:
        """As of the model itself; a recording has nothing to compute."""
        return self.evaluated is not None and self.evaluated.pending(rounding=rounding)

    @property
    def run_dtype(self) -> str:
        """Nothing: neither a recording nor an oracle was set to a narrower type."""
        return ""

    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the recorded values; of a single model, its oracle outputs."""
        if self.runs is not None:
            return self.runs
        return self.evaluated.oracle_outputs() if self.evaluated is not None else {}

    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the oracle outputs of a single model; a recording has none."""
        return self.evaluated.oracle_outputs() if self.evaluated is not None else {}

    def oracle_outputs_toward(
        self, target: Mapping[str, Array]
    ) -> Mapping[str, Array] | IsomorphError:
        """Return the oracle outputs; no decision is open here."""
        return self.oracle_outputs()

    def rounding(self) -> Mapping[str, Spread] | IsomorphError:
        """Return the rounding of a single model; a recording has none of its own."""
        return self.evaluated.rounding() if self.evaluated is not None else {}

    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Return the runtime outputs."""
        return self.runtime_outputs()

    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """As of the model itself."""
        return self.evaluated.intended_loss() if self.evaluated is not None else {}

    def execution_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """As of the model itself."""
        return self.evaluated.execution_loss() if self.evaluated is not None else {}

    def allowance(self, constants: tuple[str, ...]) -> Mapping[str, Spread] | IsomorphError:
        """Return the rounding of a single model, whose constants are its own."""
        return self.evaluated.rounding() if self.evaluated is not None else {}

    def draw_more(self, draws: int, *, allowance: bool = True) -> bool:
        """Draw more of a single model; a recording has no draws."""
        if self.evaluated is None:
            return False
        return self.evaluated.draw_more(draws, allowance=allowance)

    def draw_wider(self) -> bool:
        """As of the model itself."""
        return self.evaluated.draw_wider() if self.evaluated is not None else False


def _empty(framework: str) -> Model:
    nothing = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
    return Model(framework=framework, location="", digest="", graph=nothing)
