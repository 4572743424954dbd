"""A conversion as data: what is asked of a converter, the route, each hop and its proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from isomorph.core.cpu import CpuScope
from isomorph.core.divergence import Verdict
from isomorph.core.model import TensorSpec
from isomorph.core.presentation import short
from isomorph.core.report import ModelSummary, Report, Skipped

SCHEMA = "isomorph.conversion/2"

AS_IS = ""
"""The width of a conversion that narrows nothing."""

KEEP_FLOAT32 = "keep_float32"
"""The option that names nodes which stay in float32, one in each line."""

PRECISIONS = ("float16", "bfloat16")
"""The words of ``--precision``."""

WIDTHS = ("float16", "dynamic", "int8", "int16x8", "palettized")
"""The words of ``--quantize``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a converter is asked to do; every path is absolute and a copy that it may change.

    ``source`` is a copy of the model, or a ``package.module:factory`` word. ``target`` is to be
    written. ``example`` is an .npz file with one array per input; ``samples`` are more of them, for
    calibration. ``options`` are what the user or a workaround states, as ``opset`` or ``batch``.
    """

    source: str
    target: str
    example: str
    samples: tuple[str, ...] = ()
    width: str = AS_IS
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workaround:
    """Options that are known to help where a converter fails.

    ``for_divergent`` also helps where a model came out that is not the same function.
    """

    name: str
    description: str
    options: Mapping[str, str]
    for_divergent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One possible conversion; ``missing`` is the command that installs its converter."""

    converter: str
    source: str
    target: str
    width: str = AS_IS
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way from the source to the target."""

    steps: tuple[Step, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The commands that install what it lacks; empty where nothing does."""
        return tuple(dict.fromkeys(step.missing for step in self.steps if step.missing))

    @property
    def words(self) -> str:
        """``pytorch → onnx → tflite (pytorch_to_onnx, onnx_to_tflite)``."""
        formats = [self.steps[0].source, *(step.target for step in self.steps)]
        return f"{' → '.join(formats)} ({', '.join(step.converter for step in self.steps)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a hop failed: one of our errors as data, and the end of the converter's log."""

    code: str
    sentence: str
    why: str | None = None
    fix: str | None = None
    log: str = ""


class HopStatus(StrEnum):
    """The result of one conversion."""

    PROVEN = "proven"
    """Equivalent, or degraded within its budget."""
    REPAIRED = "repaired"
    DIVERGENT = "divergent"
    UNPROVEN = "unproven"
    """It could not be judged."""
    FAILED = "failed"
    """No model came out."""


@runtime_checkable
class KeepsNodesWide(Protocol):
    """The ability of a converter to leave the nodes in float32 that ``KEEP_FLOAT32`` names."""

    keeps_nodes: frozenset[str]
    """The widths in which it can."""


class KeptReason(StrEnum):
    """Why a node of a narrow model stays in float32."""

    OVERFLOW = "overflow"
    """It makes a number beyond the type."""
    READS_OVERFLOW = "reads_overflow"
    """It reads a tensor with a number beyond the type."""
    NEAR_OVERFLOW = "near_overflow"
    """It makes or reads a number that further inputs like those measured may take beyond it."""
    CONSTANT = "constant"
    """It reads a stored number beyond the type."""
    ROUNDING = "rounding"
    """Its rounding is a large share of the loss."""
    OPERATOR = "operator"
    """The converter keeps every node of this operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNode:
    """A node of a narrow model that stays in float32.

    ``value`` is the number of ``tensor`` that is farthest from zero on the inputs tried, and for
    ``NEAR_OVERFLOW`` the one that a further input exceeds with a small chance. ``share``
    is the part of the squared loss that the rounding of this node alone causes.
    """

    node: str
    op: str
    reason: KeptReason
    tensor: str | None = None
    value: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One conversion that was tried.

    ``report`` is the check of its result against the *first* model. ``lost`` is what did not
    survive. ``cpus`` states on which CPUs products of bytes in the result are exact; None where
    it has none. ``kept`` are the nodes that a search for the narrowest model left in float32, of
    ``narrowable`` ones; None where nothing was searched for.
    """

    step: Step
    status: HopStatus
    seconds: float
    workarounds: tuple[Workaround, ...] = ()
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    trouble: Trouble | None = None
    report: Report | None = None
    patches: tuple[str, ...] = ()
    cpus: CpuScope | None = None
    kept: tuple[KeptNode, ...] = ()
    narrowable: int | None = None
    skipped: tuple[Skipped, ...] = ()
    """What the search for nodes to keep left out."""

    @property
    def usable(self) -> bool:
        """Whether the next hop may build on it."""
        return self.status in {HopStatus.PROVEN, HopStatus.REPAIRED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The answer: what was made by which route, what else was tried, and how to repeat it.

    ``chosen`` are the hops of the route that won, or of the one that came farthest; ``tried``
    are the hops of all others. ``output`` is None where nothing was written.
    """

    verdict: Verdict
    reason: str
    source: ModelSummary
    target: str
    width: str
    chosen: tuple[Hop, ...]
    tried: tuple[Hop, ...] = ()
    alternatives: tuple[Route, ...] = ()
    output: str | None = None
    report_file: str | None = None
    repeat: str = ""
    seed: int = 0
    skipped: tuple[Skipped, ...] = ()
    elapsed: float = 0.0
    version: str = ""
    schema: str = SCHEMA

    def __repr__(self) -> str:
        """The verdict of the last hop, and what was written."""
        made = self.output or f"{self.target} (nothing written)"
        route = f"{self.source.location} → {made}"
        return short("Conversion", f"{self.verdict}: {route}; {self.reason}")

    @property
    def exit_code(self) -> int:
        """That of the check of the last hop."""
        return self.verdict.exit_code
