"""The configuration of a check: the options of the API, with data sets and metrics loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.inputs.data_sets import DataSet
    from isomorph.measure.user_metric import UserMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfig:
    """How two models are to be checked."""

    dims: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, Sequence[int]] | None = None
    """Sizes of dynamic axes to try besides; None tries the usual ones on generated inputs."""
    budgets: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    strict: bool = False
    only_given: bool = False
    """Whether the question is about the given inputs alone, and not about the whole function."""
    bind_inputs: Mapping[str, str] = field(default_factory=dict)
    bind_outputs: Mapping[str, str] = field(default_factory=dict)
    layouts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Which axes of the reference an input or output of the candidate has, in its order."""
    any_arrangement: bool = False
    """Whether outputs may have their axes in any order: those of a part of a graph have none."""
    translation_only: bool = False
    """Whether the graphs alone are asked about where this machine cannot run a model."""
    quick: bool = False
    """Whether only the outputs are compared, on the given inputs or one generated input."""
    prove: bool = False
    """Whether to prove as well, for every input of the shapes of the first sample."""
    locate: bool = True
    look_into_loss: bool = True
    """Whether a loss within its budget is followed to its nodes: a fault may hide in it."""
    hidden_overflow: bool = False
    """Whether to look for overflow that a wider run hides even where nothing is located."""
    align: bool | None = None
    """Pair all tensors: always, never, or (None) where faults were searched."""
    quantization: bool | None = None
    """Measure every quantized tensor, none, or as many as are measured quickly."""
    profile: bool | None = False
    """Keep the error of every node: always, never, or (None) where faults were searched."""
    data: DataSet | None = None
    metric: UserMetric | None = None
    trusted: tuple[str, ...] = ()
    on_progress: Callable[[str, str], None] | None = None
