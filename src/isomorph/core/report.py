"""The report: everything that a check found; reporters render it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from isomorph.core.alignment import Alignment
from isomorph.core.baseline import Baseline, BaselineState
from isomorph.core.constraints import Count, PositiveCount, Probability
from isomorph.core.cost import Cost
from isomorph.core.coverage import Coverage, InputKind
from isomorph.core.dataset_summary import OverSamples
from isomorph.core.decoding import Decoding
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import BUG
from isomorph.core.messages.statement import Statement
from isomorph.core.model import Model, Source
from isomorph.core.presentation import PresentableReport, short
from isomorph.core.profile import ErrorProfile
from isomorph.core.proof import Proof
from isomorph.core.quantized_tensor import QuantizedTensor
from isomorph.core.request import CheckRequest
from isomorph.core.trace import Environment

SCHEMA = "isomorph.report/1"
"""The family of documents, which other programs compare as a whole."""
REVISION = 2
"""Raised where a field or a key is renamed; earlier revisions are translated when they are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Exactly one change, with the prediction written down before it ran, and what was seen."""

    question: str
    change: str
    predicts: str
    seen: str
    agrees: bool


class FindingStatus(StrEnum):
    """How well a finding is established."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"


class FindingEffect(StrEnum):
    """What a finding does to the outputs."""

    REACHES_OUTPUT = "reaches_output"
    BELOW_ROUNDING = "below_rounding"
    LATENT = "latent"
    """No given input shows it."""
    NONE = "none"
    """A fact that changes no number."""


class Fact(StrEnum):
    """The evidence of a finding that something else depends on; the rest is for people."""

    CONSTANT = "constant"
    FIXED_AXES = "fixed_axes"
    """The axes of an input that the reference leaves free."""
    INPUTS = "inputs"
    """Inputs that show the difference, encoded."""
    MEMBER = "member"
    """The node of a group whose change restored all of it."""
    NUMBERS = "numbers"
    """A digest of the values that a constant or an attribute has on both sides."""
    OPERATORS = "operators"
    OPTIMIZER = "optimizer"
    PATCHABLE = "patchable"
    """False where the format of the candidate takes no edit that would repair it."""
    OUTPUT = "output"
    """The output that differs on an input that was searched for."""
    REACHED_BY = "reached_by"
    """How an input that shows the difference was found."""
    REFERENCE_OUTPUT = "reference_output"
    REFERENCE_TIES = "reference_ties"
    """How the reference rounds halves."""
    SATURATED_SUMS = "saturated_sums"
    SETTINGS = "settings"
    """Of the runtime, under which the run is right."""
    SIZES = "sizes"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """A located fault by names, so that its values can be computed again without a search.

    ``tensor`` of the candidate is wrong; its right value is ``counterpart`` of the reference with
    its axes permuted and reshaped. ``place`` is its index among the ``count`` faults of the model,
    in the order in which they are corrected.
    """

    node: str
    nodes: tuple[str, ...]
    tensor: str
    counterpart: str
    reference_nodes: tuple[str, ...]
    permutation: tuple[int, ...]
    shape: tuple[int, ...]
    permuted: bool
    place: Count
    count: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a user should know, with its evidence."""

    rank: int = 0
    """1 matters most."""
    code: str
    cause: str | None = None
    status: FindingStatus
    effect: FindingEffect
    summary: str
    node: str | None = None
    nodes: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    reference_nodes: tuple[str, ...] = ()
    source: Source | None = None
    local_error: float | None = None
    inherited_error: float | None = None
    share: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    experiments: tuple[Experiment, ...] = ()
    fix: str | None = None
    statement: Statement | None = None
    """The summary in parts, where it is about one place."""
    causes: tuple[str, ...] = ()
    """The likeliest causes, best first."""
    faults: tuple[FaultRecord, ...] = ()
    """The located faults of the node; empty where it was not found by localization."""

    def __repr__(self) -> str:
        """The code, the node and the cause; the rest is in the fields."""
        where = f"at {self.node}" if self.node else ""
        cause = f"(cause {self.cause}, {self.status})" if self.cause else f"({self.status})"
        return short("Finding", str(self.rank), self.code, where, cause)

    def fact(self, key: Fact) -> Any:  # noqa: ANN401
        """One piece of the evidence; None where the finding has none."""
        return self.evidence.get(key)


class ModelForm(StrEnum):
    """What a model was given as."""

    FILE = "file"
    LIVE = "live object"
    """An object of the caller's, ``<Sequential>``, which no path leads to."""
    TRACE = "trace"
    """A recorded run in the place of the model, which cannot be edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """What the report keeps of a model."""

    role: str
    location: str
    framework: str
    digest: str
    nodes: Count
    constants: Count
    producer: str = ""
    opset: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    form: ModelForm = ModelForm.FILE


def summarize(
    model: Model, *, role: str, location: str | None = None, form: ModelForm = ModelForm.FILE
) -> ModelSummary:
    """The summary of a model; ``location`` is what it is called, where that is not its path."""
    return ModelSummary(
        role=role,
        location=location or model.location,
        framework=model.framework,
        digest=model.digest,
        nodes=len(model.graph.nodes),
        constants=len(model.graph.constants),
        producer=model.producer,
        opset=model.opset,
        notes=model.notes,
        form=form,
    )


class BoundBy(StrEnum):
    """How two names were paired."""

    NAME = "name"
    SIMILAR_NAME = "similar name"
    NUMBER = "its number in the signature"
    POSITION = "position"
    ONLY_FIT = "only pair of this type and shape"
    ONLY_ONE_LEFT = "the only one left"
    VALUES = "shape and value"
    DECODING = "role in decoding"
    USER = "stated by the user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Which name on one side belongs to which on the other, and how that is known."""

    reference: str
    candidate: str
    how: BoundBy


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSummary:
    """One input as it was fed: where it came from and what it looked like."""

    name: str
    dtype: str
    shape: tuple[Count, ...]
    origin: str
    """Where it came from, for people."""
    digest: str
    kind: InputKind = InputKind.GIVEN


class ReportSection(StrEnum):
    """Sections of a report that may be missing in part."""

    PROFILE = "profile"
    QUANTIZATION = "quantization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """What was not done, and why."""

    what: str
    why: str
    section: ReportSection | None = None
    """The section of the report in which this is missing, where it is one section alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """A model that this machine cannot run, so that its graph alone was judged."""

    role: str
    runtime: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(PresentableReport):
    """The verdict of a check and everything that it is based on."""

    verdict: Verdict
    reason: str
    command: str
    seed: Count
    draws: Count
    false_alarm: Probability
    """The probability per output that sets the thresholds."""
    strict: bool = False
    only_given: bool = False
    """Whether the question was restricted to the given inputs."""
    quick: bool = False
    """Whether only outputs were compared, on few inputs, and nothing was searched for."""
    translation_only: bool = False
    """Whether the graphs alone were asked about, where this machine cannot run a model."""
    not_run: tuple[NotRun, ...] = ()
    """Models that this machine cannot run."""
    translation: Verdict | None = None
    """What the graphs amount to where a model was not run; null where every model was run."""
    models: tuple[ModelSummary, ...] = ()
    environments: Mapping[str, Environment] = field(default_factory=dict)
    inputs: tuple[InputSummary, ...] = ()
    input_bindings: tuple[Binding, ...] = ()
    output_bindings: tuple[Binding, ...] = ()
    outputs: tuple[Divergence, ...] = ()
    coverage: Coverage | None = None
    """What the verdict covers; equivalent and degraded come with a complete one only."""
    findings: tuple[Finding, ...] = ()
    alignment: Alignment | None = None
    """Null where the two graphs were not looked at tensor by tensor."""
    quantization: tuple[QuantizedTensor, ...] = ()
    """Worst first."""
    test_set: OverSamples | None = None
    decoding: Decoding | None = None
    """Token by token; null where it was not asked for."""
    profile: ErrorProfile | None = None
    """The error node by node; null where it was not asked for."""
    proof: Proof | None = None
    """What is proven for every input of these shapes; null where no proof was asked for."""
    pair: str = ""
    """The pair's name in the project file, or the two locations."""
    baseline: Baseline | None = None
    skipped: tuple[Skipped, ...] = ()
    trusted: tuple[str, ...] = ()
    request: CheckRequest | None = None
    """What the check was asked, so that a repair can repeat it."""
    elapsed: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase, without the loading of the models."""
    cost: Cost | None = None
    """The time of the whole command."""
    version: str = ""
    schema: str = SCHEMA
    revision: PositiveCount = REVISION
    """Of the names of fields; a report without it is of revision 1."""

    def __repr__(self) -> str:
        """The headline, the models and the first finding."""
        models = " → ".join(model.location for model in self.models)
        first = f"; {self.findings[0]!r}" if self.findings else ""
        return short("Report", f"{self.headline}: {models}{first}" if models else self.headline)

    def __post_init__(self) -> None:
        """Refuse a passing verdict whose coverage is not complete."""
        fine = self.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}
        covered = self.coverage is not None and self.coverage.complete and not self.coverage.beyond
        if fine and not covered:
            raise ValueError(f"a verdict of {self.verdict} needs a complete coverage")

    @property
    def headline(self) -> str:
        """The verdict and what it covers: ``EQUIVALENT on 1 given and 2 generated inputs``.

        ``EQUIVALENT for every input of these shapes`` takes both: a measured verdict of equivalent,
        and a proof of every output.
        """
        if self.translation is not None:
            return self._headline_in_translation
        word = str(self.verdict).upper()
        fine = self.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}
        text = f"{word} {self.coverage.words}" if fine and self.coverage is not None else word
        if self.verdict is Verdict.EQUIVALENT and self.proven and self.coverage is not None:
            text = f"{word} for every input of these shapes, measured {self.coverage.words}"
        if self.only_given:
            text = f"{text} only" if fine else f"{text} on the given inputs only"
        return f"{text} (quick: outputs only)" if self.quick else text

    @property
    def _headline_in_translation(self) -> str:
        """``EQUIVALENT in translation on 1 given input; not run: X needs macOS``.

        Unknown comes first where the graphs alone were not asked about.
        """
        word = f"{str(self.translation).upper()} in translation"
        if self.verdict is not self.translation:
            word = f"{str(self.verdict).upper()}: {word}"
        covered = self.coverage.words if self.coverage is not None else ""
        only = "the given inputs only" if self.only_given else ""
        quick = "(quick: outputs only)" if self.quick else ""
        text = " ".join(filter(None, (word, covered, only and f"({only})", quick)))
        return f"{text}; not run: {', '.join(dict.fromkeys(each.why for each in self.not_run))}"

    @property
    def proven(self) -> bool:
        """Whether every output is proven equal, and nothing that was measured contradicts that."""
        return self.proof is not None and self.proof.whole and not self.proof.contradicted

    @property
    def accepted(self) -> bool:
        """Whether a baseline knows every divergence, and nothing was left uncompared."""
        return (
            self.baseline is not None
            and self.coverage is not None
            and not self.coverage.not_compared
            and any(status.state == BaselineState.UNCHANGED for status in self.baseline.statuses)
            and self.baseline.accepts
        )

    @property
    def exit_code(self) -> int:
        """The verdict's; 0 where a baseline accepts it; 1 if strict and rounding hides a fault.

        70 where a proof contradicts what was measured: then one of them is wrong.
        """
        if self.proof is not None and self.proof.contradicted:
            return BUG
        if self.verdict is Verdict.DIVERGENT and self.accepted:
            return 0
        hidden = any(finding.effect == FindingEffect.BELOW_ROUNDING for finding in self.findings)
        if self.strict and hidden and self.verdict is Verdict.EQUIVALENT:
            return 1
        return self.verdict.exit_code
