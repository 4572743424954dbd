"""A reference that is only values: recorded outputs, or a model's own meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.model import Graph, Model, TensorSpec
from isomorph.core.report import ModelSummary
from isomorph.match.binding import PATH
from isomorph.measure.spread import Spread

if TYPE_CHECKING:
    from isomorph.core.errors import IsomorphError
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Outputs that somebody kept, with the file they are from."""

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

    def beside(self, graph: Graph) -> tuple[TensorSpec, ...]:
        """The same beside a model: elements of a sequence or a map are its one output.

        An array under the name of an input is that input, kept with what was computed from it.
        """
        known = {spec.name for spec in graph.outputs}
        inputs = {spec.name for spec in graph.inputs} - known
        found = []
        for spec in self.specs:
            if spec.name in inputs:
                continue
            holder = PATH.sub("", spec.name)
            # Beside an array of the holder's own name it is no element of it, but left over.
            whole = holder in known and spec.name not in known and holder not in self.arrays
            found.append(replace(spec, name=holder, kind="sequence") if whole else spec)
        return tuple({spec.name: spec for spec in found}.values())

    @property
    def summary(self) -> ModelSummary:
        """What the report says of it."""
        return ModelSummary(
            role="reference",
            location=self.location,
            framework="recorded outputs",
            digest=self.digest,
            nodes=0,
            constants=0,
        )

    def subject(self, candidate: EvaluatedModel) -> Values:
        """A stand-in for a model: it has been run, and there is nothing to evaluate."""
        return Values(model=_empty(candidate.model.framework), runs=self.arrays, recorded=True)

    @staticmethod
    def of_meaning(subject: EvaluatedModel) -> Values:
        """A model's own oracle as the reference it is held against."""
        return Values(model=subject.model, runs=None, twin=subject)


@dataclass(slots=True, kw_only=True)
class Values:
    """Answers like a subject, from values that are already there."""

    model: Model
    runs: Mapping[str, Array] | None
    twin: EvaluatedModel | None = None
    role: str = "reference"
    recorded: bool = False
    isolated: bool = False

    def runtime_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """The recorded values; of a model on its own, its meaning."""
        if self.runs is not None:
            return self.runs
        return self.twin.oracle_outputs() if self.twin is not None else {}

    def oracle_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """Nothing but values is known of a recording."""
        return self.twin.oracle_outputs() if self.twin is not None else {}

    def meaning_toward(self, target: Mapping[str, Array]) -> Mapping[str, Array] | IsomorphError:
        """There is only one meaning here."""
        return self.oracle_outputs()

    def rounding(self) -> Mapping[str, Spread] | IsomorphError:
        """Of a recording, nothing; the candidate's own rounding stands in for it."""
        return self.twin.rounding() if self.twin is not None else {}

    def unoptimized_outputs(self) -> Mapping[str, Array] | IsomorphError:
        """The same as run."""
        return self.runtime_outputs()

    def intended_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """As of the model itself."""
        return self.twin.intended_loss() if self.twin is not None else {}

    def execution_loss(self) -> Mapping[str, Spread] | IsomorphError:
        """As of the model itself."""
        return self.twin.execution_loss() if self.twin is not None else {}

    def allowance(self, constants: tuple[str, ...]) -> Mapping[str, Spread] | IsomorphError:
        """A model has the same constants as itself; a recording has none."""
        return self.twin.rounding() if self.twin is not None else {}

    def look_closer(self, draws: int) -> bool:
        """As of the model itself; nobody can draw from a recording."""
        return self.twin.look_closer(draws) if self.twin is not None else False

    def look_wider(self) -> bool:
        """As of the model itself."""
        return self.twin.look_wider() if self.twin is not None else False


def _empty(framework: str) -> Model:
    nothing = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
    return Model(framework=framework, location="", digest="", graph=nothing)
